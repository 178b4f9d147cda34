"""Audit documents as an audit writes them, made of seeded beliefs: plain, hostile, external, without an original."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.document import Document
from unveil.audit.measures import parse_id

__all__ = ["CANARY", "HOSTILE", "document", "external", "hostile", "many_subgroups", "without_original"]

Beliefs = NDArray[np.float64]

EDGES = [round(0.05 * i, 2) for i in range(21)]
DISEASES = ("flu", "gastritis", "HIV", "ulcer")
CANARY = "unveilCanary"
HOSTILE = (
    f"<script>window.{CANARY}=1</script>",
    f"</script><img src=x onerror=window.{CANARY}=2>",
    "=cmd()|' /C calc'!A0",
    "user\u202egnp.exe",
    f"<!--<script>window.{CANARY}=3//",
    f"${{window.{CANARY}=4}}",
    f"datum.x; window.{CANARY}=5",
    f'"onmouseover="window.{CANARY}=6',
    f"{{{{ window.{CANARY} }}}}{{% raw %}}",
    "line\u2028break\u2029and\nnewline",
    f"datum['x'] || alert('{CANARY}')",
    f"<svg onload=alert('{CANARY}')>",
    f"javascript:alert('{CANARY}')",
    "\ud800 half a pair",
    "https://example.org/beacon.png",
    "A" * 1_000_000,
)


def document(
    *,
    releases: Sequence[str] = ("mondrian-k5.csv", "anatomy-l4.csv"),
    attributes: Sequence[str] = ("disease",),
    attackers: Sequence[str] = ("bayesian", "random_worlds"),
    values: Sequence[str] = DISEASES,
    quasi_identifiers: Sequence[str] = ("age", "sex", "zip"),
    labels: Sequence[str] = ("[20,29]", "[30,39]", "[40,49]", "[50,59]", "other"),
    verdict: str = "exceeded",
    disagree: bool = True,
) -> dict[str, Any]:
    """Two releases of one table read by a learner and two attackers, with limits of which one is exceeded."""
    random = np.random.default_rng(7)
    findings: list[dict[str, Any]] = []
    charts: dict[str, Any] = {}
    readers: list[dict[str, Any]] = []
    for place, release in enumerate(releases):
        findings += _identity(release, place)
        findings += _membership(release)
        charts[release] = {"": {"group_sizes": _sizes(random), "membership": _membership_charts()}}
        for attribute in attributes:
            learner = random.beta(2, 4, 2_000)
            beliefs = {
                name: np.clip(learner + random.exponential(0.08 + 0.1 * place + 0.05 * i, 2_000) - 0.05, 0.01, 1.0)
                for i, name in enumerate(attackers)
            }
            findings += _levels(release, attribute)
            findings += _beliefs(release, attribute, learner, beliefs, values)
            charts[release][attribute] = _charts(random, learner, beliefs, quasi_identifiers, labels)
            readers += _readers(release, attribute, attackers, disagree=disagree and place == 1)
        readers.append(
            {
                "release": release,
                "attribute": attributes[0],
                "reader": "fixed_prior",
                "applicable": False,
                "reason": "no prior was given: use --prior FILE",
                "threat": None,
                "method": "",
                "converged": True,
                "precise": True,
                "facts": {},
                "modes": [],
            }
        )
    sentence = (
        "What this file teaches about people in general lets somebody who is not told who is in it guess 41% right. "
        "Knowing that a person is in it makes that 58%; for 212 people the true value becomes at least twice as likely."
    )
    for finding in findings:
        if finding["limit"] and verdict in ("within", "no limit"):
            finding |= {"verdict": verdict} if verdict == "within" else {"verdict": verdict, "limit": None}
    return {
        "document": "audit",
        "version": 2,
        "settings": {
            "releases": [*releases],
            "original": "hospital.csv",
            "release_type": "controlled",
            "recipient": "Regional health statistics office",
            "attackers": [*attackers],
            "known": None,
            "wrong": 0.0,
            "alpha": 1.0,
            "beta": 1.0,
            "prior": None,
            "chains": 4,
            "sweeps": 2000,
            "most_sweeps": 16000,
            "precision": 0.003,
            "seed": 0,
            "sample": None,
            "control": None,
            "population": None,
            "joint": False,
            "preset": "ema_0070",
            "limits": ["prosecutor_risk.max <= 0.09", "bayesian.relative_threat.max <= 10"],
            "variant": "internal",
            "least_count": 10,
        },
        "inputs": [{"name": n, "sha256": f"{i:064x}"} for i, n in enumerate([*releases, "hospital.csv"], 0xABCDEF)],
        "run": {
            "date": "2026-11-15T09:30:00+00:00",
            "python": "3.11.7",
            "versions": {"unveil": "0.1.0", "numpy": "2.2.0", "polars": "2.0.0"},
        },
        "findings": findings,
        "diagnostics": {
            "verdict": verdict,
            "verdicts": dict(
                zip(releases, [verdict, "inconclusive" if disagree else verdict] * len(releases), strict=False)
            ),
            "exit_code": {"within": 0, "no limit": 0, "exceeded": 1, "inconclusive": 3}[verdict],
            "sentence": {r: dict.fromkeys(attributes, sentence) for r in releases},
            "releases": {r: _reading(attributes, quasi_identifiers) for r in releases},
            "readers": readers,
            "people": 2_000,
            "sampled_people": None,
            "roles": {"quasi-identifier": [*quasi_identifiers], "sensitive": [*attributes]},
            "controls": None,
            "worst_attribute": {r: {a: 2_000 // len(attributes) for a in attributes} for r in releases},
            "dominance": [{"better": releases[0], "worse": releases[-1]}],
            "dominance_text": (
                f"{releases[0]} dominates {releases[-1]}: no risk and no utility is worse, and some is better."[:200]
            ),
            "wp29": {r: _wp29() for r in releases},
            "not_tested": [
                "Several releases of one table were not read together.",
                "The attacker counts every table that fits the published cells, whatever made them. Someone who knows "
                "how the release was made can rule tables out, and may learn more than these.",
                "The learner takes attributes as independent given the sensitive value (naive Bayes). A richer model "
                "may learn more.",
            ],
            "membership": {r: {"words": "Being in the table is sensitive."} for r in releases},
            "remarks": ["anatomy-l4.csv does not publish ward."],
            "definitions": _definitions(findings),
        },
        "charts": charts,
    }


def external(found: dict[str, Any]) -> dict[str, Any]:
    """The same with every count below ten withheld, none at all among them."""
    counts = ("counts", "people", "groups", "rows", "threatened", "twice", "below", "infinite")

    def withhold(part: Any, key: str = "") -> Any:
        if isinstance(part, dict):
            return {k: withhold(v, k) for k, v in part.items()}
        if isinstance(part, list):
            return [withhold(p, key) for p in part]
        return None if key in counts and part < 10 else part

    settings = {**found["settings"], "variant": "external"}
    return {**found, "settings": settings, "charts": withhold(found["charts"])}


def without_original(found: dict[str, Any]) -> dict[str, Any]:
    """The same with success unknown: nulls, never zeros."""
    unknown = ("global_threat", "accuracy", "relative_threat", "absolute_error", "confident_right")
    findings = [
        {**f, "value": None, "low": None, "high": None, "baseline": None, "verdict": "no limit", "limit": None}
        if any(part in f["id"] for part in unknown)
        else f
        for f in found["findings"]
    ]
    charts = {
        release: {
            attribute: part
            if not attribute
            else {
                **part,
                "calibration": {
                    r: {**c, "people": None, "mean_belief": None, "right": None} for r, c in part["calibration"].items()
                },
                "relative_threat": {},
                "subgroups": {},
            }
            for attribute, part in parts.items()
        }
        for release, parts in found["charts"].items()
    }
    settings = {**found["settings"], "original": None}
    return {**found, "settings": settings, "findings": findings, "charts": charts}


def hostile() -> dict[str, Any]:
    """Every string that comes from the data or a file name is hostile."""
    found = document(
        releases=(HOSTILE[0] + ".csv", HOSTILE[-1]),
        attributes=HOSTILE[1:2],
        values=[*HOSTILE, "plain"],
        quasi_identifiers=HOSTILE[3:7],
        labels=HOSTILE,
    )
    attacked = found["settings"]
    attacked |= {"recipient": HOSTILE[4], "original": HOSTILE[7], "release_type": HOSTILE[5], "preset": HOSTILE[6]}
    facts = found["diagnostics"]
    facts["remarks"] = facts["not_tested"] = [*HOSTILE]
    facts["membership"] = {r: {"words": HOSTILE[0]} for r in attacked["releases"]}
    for reader in facts["readers"]:
        reader["reason"], reader["method"] = HOSTILE[8], HOSTILE[11]
        reader["facts"] = {HOSTILE[12]: HOSTILE[13], HOSTILE[6]: 2.5}
        if reader["threat"]:
            reader["threat"]["target"] = HOSTILE[4]
    return found


def many_subgroups() -> dict[str, Any]:
    """A table of 200 columns: every quasi-identifier with 20 labels."""
    return document(
        releases=("wide.csv",),
        quasi_identifiers=[f"column {i}" for i in range(200)],
        labels=[f"a rather long label of a subgroup, number {i}" for i in range(20)],
        disagree=False,
    )


def validated(found: dict[str, Any]) -> Document:
    return Document.model_validate(found)


def _finding(
    id: str, release: str, attribute: str | None, value: Any, spread: float = 0.0, **rest: Any
) -> dict[str, Any]:
    low, high = (value, value) if not spread else (value - spread, value + spread)
    part = parse_id(id).model_dump()
    base = {**part, "release": release, "attribute": attribute, "value": value, "low": low, "high": high}
    return {**base, "baseline": None, "limit": None, "verdict": "no limit", **rest}


def _identity(release: str, place: int) -> list[dict[str, Any]]:
    worst = 0.2 if place == 0 else 1.0
    limit = {"limit": "prosecutor_risk.max <= 0.09", "verdict": "exceeded"}
    return [
        _finding("prosecutor_risk.max", release, None, worst, **limit),
        _finding("prosecutor_risk.mean", release, None, 0.083),
        _finding("marketer_risk", release, None, 0.0417),
        _finding("journalist_risk.max", release, None, worst),
        _finding("singled_out", release, None, 0.0 if place == 0 else 0.0004),
        _finding("discernibility", release, None, 123_456.0),
        _finding("certainty_penalty", release, None, 0.0204),
        _finding("suppressed_share", release, None, 0.0125),
        _finding("faithfulness", release, None, 0.7072, 0.004),
        _finding("groups.mean_size", release, None, 9.2),
        _finding("k_anonymity", release, None, 5.0 if place == 0 else 1.0),
    ]


def _membership(release: str) -> list[dict[str, Any]]:
    return [
        _finding("membership_posterior.max", release, None, 0.56, 0.01, baseline=0.5),
        _finding("membership_odds.max", release, None, 1.27, 0.05, baseline=1.0),
        _finding("membership_auc.degree", release, None, None),
        _finding("fake_tuples", release, None, 1.3e10),
    ]


def _membership_charts() -> dict[str, Any]:
    at = [0.0, 0.5, 1.0]
    return {
        "bands": {"labels": ["at most 10", "11 to 20", "over 20"], "rows": [1_995, 5, 0], "fake": [1.3e10, 12.0, 0.0]},
        "degrees": {
            "labels": ["0", "1", "2", "3"],
            "people": [0, 1_995, 5, 0],
            "others": [0.2, 0.7, 0.1, 0.0],
            "posterior": [0.0, 0.56, 0.4, None],
        },
        "roc": {"false_positive": at, "degree": [0.0, 0.55, 1.0], "frequency": [0.0, 0.6, 1.0]},
    }


def _levels(release: str, attribute: str) -> list[dict[str, Any]]:
    levels = {
        "distinct_l": 2.0,
        "entropy_l": 1.7551,
        "t_closeness": 0.41234,
        "t_closeness.js": 0.1,
        "beta_likeness": "inf",
    }
    return [_finding(id, release, attribute, value) for id, value in levels.items()]


def _beliefs(
    release: str, attribute: str, learner: Beliefs, beliefs: dict[str, Beliefs], values: Sequence[str]
) -> list[dict[str, Any]]:
    found = [
        _finding("baseline_accuracy", release, attribute, 0.301),
        _finding("ideal.global_threat", release, attribute, 0.462),
        _finding("learner.global_threat", release, attribute, 0.41),
        _finding("learner.confident.80", release, attribute, 0.0035),
    ]
    for name, belief in beliefs.items():
        times = belief / learner
        found += [
            _finding(f"{name}.global_threat", release, attribute, 0.583, 0.0042, baseline=0.41),
            _finding(f"{name}.relative_global_threat", release, attribute, 0.173, 0.004),
            _finding(
                f"{name}.relative_threat.max",
                release,
                attribute,
                "inf" if name == "random_worlds" else float(times.max()),
                **(
                    {"limit": "bayesian.relative_threat.max <= 10", "verdict": "inconclusive"}
                    if name == "bayesian"
                    else {}
                ),
            ),
            _finding(f"{name}.relative_threat.share_2x", release, attribute, float((times >= 2).mean()), 0.002),
            _finding(f"{name}.belief_gain", release, attribute, float((belief - learner).max()), 0.01),
            _finding(f"{name}.confident.80", release, attribute, float((belief >= 0.8).mean())),
            _finding(f"{name}.absolute_error", release, attribute, 0.912, 0.003, baseline=1.2),
        ]
        found += [_finding(f"{name}.belief_gain.value:{v[:80]}", release, attribute, 0.2312, 0.01) for v in values]
    return found


def _charts(
    random: np.random.Generator,
    learner: Beliefs,
    beliefs: dict[str, Beliefs],
    quasi_identifiers: Sequence[str],
    labels: Sequence[str],
) -> dict[str, Any]:
    steps = [round(-1 + 0.25 * i, 2) for i in range(25)]
    found: dict[str, Any] = {
        "beliefs": {},
        "relative_threat": {},
        "calibration": {},
        "subgroups": {},
        "convergence": {},
    }
    for name, belief in beliefs.items():
        counts, _, _ = np.histogram2d(learner, belief, bins=[EDGES, EDGES])
        times = np.log2(belief / learner)[belief > 0.3]
        found["beliefs"][name] = {"edges": EDGES, "counts": counts.astype(int).tolist()}
        found["relative_threat"][name] = {
            "edges": steps,
            "counts": np.histogram(times, bins=steps)[0].tolist(),
            "skewness": 1.234,
            "below": 0,
            "infinite": 3 if name == "random_worlds" else 0,
        }
        found["subgroups"][name] = {
            attribute: [
                {
                    "label": label[:80],
                    "people": (people := int(random.integers(3, 400))),
                    "threatened": (hit := int(people * random.uniform(0.3, 0.7))),
                    "twice": int(hit * random.uniform(0.0, 0.5)),
                }
                for label in labels
            ]
            for attribute in quasi_identifiers
        }
    for name, belief in {"learner": learner, **beliefs}.items():
        people, _ = np.histogram(belief, bins=EDGES)
        middle = [(a + b) / 2 for a, b in pairwise(EDGES)]
        found["calibration"][name] = {
            "edges": EDGES,
            "people": people.tolist(),
            "mean_belief": [m if n else None for m, n in zip(middle, people.tolist(), strict=True)],
            "right": [
                float(np.clip(m + random.normal(0, 0.03), 0, 1)) if n else None
                for m, n in zip(middle, people.tolist(), strict=True)
            ],
        }
        exact = name == "random_worlds"
        hat, error = 1 + random.exponential(0.01, 2_000), random.exponential(0.001, 2_000)
        found["convergence"][name] = {
            "r_hat": None if exact else _histogram(hat),
            "error": None if exact else _histogram(error),
            "chains": [] if exact else random.normal(0.58, 0.01, 4).tolist(),
        }
    return found


def _histogram(values: Beliefs) -> dict[str, Any]:
    counts, edges = np.histogram(values, bins=20)
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def _sizes(random: np.random.Generator) -> dict[str, Any]:
    edges = [1, 2, 3, 5, 10, 20, 50, 100]
    groups = [0, 2, 3, 120, 60, 4, 1]
    return {"edges": edges, "groups": groups, "rows": [g * e for g, e in zip(groups, edges, strict=False)]}


def _readers(release: str, attribute: str, attackers: Sequence[str], *, disagree: bool) -> list[dict[str, Any]]:
    found = []
    for name in ("learner", *attackers):
        apart = disagree and name == "bayesian"
        found.append(
            {
                "release": release,
                "attribute": attribute,
                "reader": name,
                "applicable": True,
                "reason": None,
                "threat": {
                    "target": "all quasi-identifiers",
                    "membership": "not known" if name == "learner" else "known",
                    "group": "not known",
                    "others": "nothing",
                    "population": "nothing is learned" if name == "random_worlds" else "learned from the release",
                    "mechanism": "ignored",
                },
                "method": "exact" if name == "random_worlds" else "sampled, 4 chains of 2000 sweeps",
                "converged": not apart,
                "precise": not disagree,
                "facts": {} if name == "random_worlds" else {"r_hat_max": 1.0834, "error_max": 0.0123, "draws": 4000.0},
                "modes": [{"chain": i, "global_threat": 0.2 + 0.04 * i} for i in range(1, 5)] if apart else [],
            }
        )
    return found


def _reading(attributes: Sequence[str], quasi_identifiers: Sequence[str]) -> dict[str, Any]:
    return {
        "rows": 2_000,
        "groups": 190,
        "blocks": [[*quasi_identifiers], [*attributes]],
        "suppressed_rows": 25,
        "withheld_values": {attributes[0]: 12},
        "widened_sensitive": [],
        "domains": dict.fromkeys(attributes, "declared"),
        "distances": dict.fromkeys(attributes, "equal"),
        "repeated_identifiers": None,
    }


def _wp29() -> dict[str, Any]:
    return {
        "singling_out": {
            "value": 0.0004,
            "low": 0.0004,
            "high": 0.0004,
            "baseline": None,
            "status": "measured",
            "finding": "singled_out",
            "words": "0.04% of the rows stand alone in their published cells.",
        },
        "linkability": {
            "value": None,
            "low": None,
            "high": None,
            "baseline": None,
            "status": "not tested",
            "words": "",
        },
        "inference": {
            "value": 0.583,
            "low": 0.5788,
            "high": 0.5872,
            "baseline": 0.41,
            "status": "measured",
            "finding": "bayesian.global_threat",
            "words": "The worst attacker guesses 58% of disease right; what the file teaches about people in general "
            "gives 41%.",
        },
    }


def _definitions(findings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    parts = {f["measure"] for f in findings}
    return {
        part: {
            "words": "Share of people whose true value is the most believed value; with a value: among those who have "
            "it.",
            "source": "Boreale, Corradi and Viscardi 2020, eq. 17",
            "page": f"docs/risk.md#{part}",
        }
        for part in parts
        if ":" not in part
    }
