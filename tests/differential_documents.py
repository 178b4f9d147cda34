"""A differential document for the tests of its report: made up, but of the published shape; and a hostile one."""

from typing import Any

from documents import check_document
from unveil.audit.measures import parse_id

__all__ = ["differential_document", "hostile_differential"]

EDGES = [0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0]


def differential_document(names: tuple[str, ...] = ("mondrian:k=2", "mondrian:k=4", "mondrian:k=8")) -> dict[str, Any]:
    """A sweep of three, with a failure, a removal and a limit."""
    deltas = [0.4, 0.2, 0.25]
    findings, tests, points = [], [], []
    for place, (name, delta) in enumerate(zip(names, deltas, strict=True)):
        values = {"delta": delta, "distance.mean": delta / 10, "distance.median": delta / 20}
        for id, value in values.items():
            findings.append(
                {
                    **parse_id(id).model_dump(),
                    "release": name,
                    "attribute": "disease",
                    "value": value,
                    "low": value / 2 if place == 1 else value,
                    "high": "inf" if place == 2 and id == "delta" else value * 1.5 if place == 1 else value,
                    "baseline": None,
                    "limit": "delta <= 0.3" if id == "delta" else None,
                    "verdict": ("exceeded" if delta > 0.3 else "within") if id == "delta" else "no limit",
                }
            )
        tests.append(
            {
                "name": name,
                "parameter": "k",
                "value": float(2 ** (place + 1)),
                "rows": 1000,
                "records": 1000,
                "tested": 999 if place == 2 else 1000,
                "failed": 1 if place == 2 else 0,
                "path": "replay" if place != 1 else "every record run again",
                "samples": 1 if place != 1 else 20,
                "noise_floor": None if place != 1 else 0.03,
                "worst_row": 17 + place,
                "sentence": f"Leaving one record out changes it by {delta:g} at most (row {17 + place}).",
            }
        )
        points.append(
            {
                "name": name,
                "parameter": "k",
                "value": float(2 ** (place + 1)),
                "delta": delta,
                "median": delta / 20,
                "mean": delta / 10,
            }
        )
    made = {
        "document": "differential",
        "version": 2,
        "settings": {
            "original": "patients.csv",
            "sanitizers": list(names),
            "model": "bernoulli_nb",
            "distance": "emd",
            "reading": "coordinates",
            "attribute": "disease",
            "prior": None,
            "samples": 1,
            "records": None,
            "until": 0.3,
            "seed": 0,
            "limits": ["delta <= 0.3"],
        },
        "inputs": [{"name": "patients.csv", "sha256": "0" * 64}],
        "run": {"date": "2026-01-01T00:00:00+00:00", "python": "3.11", "versions": {}},
        "findings": findings,
        "diagnostics": {
            "verdict": "exceeded",
            "exit_code": 1,
            "tests": tests,
            "failures": [{"sanitizer": names[2], "row": 5, "message": "the command ended with exit code 1: 'no'"}],
            "removals": [
                {
                    "sanitizer": names[0],
                    "until": 0.3,
                    "ended": "reached",
                    "rounds": [
                        {"delta": 0.4, "records": 1000, "removed": 2},
                        {"delta": 0.28, "records": 998, "removed": 0},
                    ],
                    "rows": [17, 400],
                }
            ],
            "remarks": ["A distance says how much one record moves this model's prediction."],
        },
        "charts": {
            "delta": points,
            "cumulative": {
                name: {
                    "edges": EDGES,
                    "counts": [0, 10, 100, 400, 700 + 50 * i, 950, 1000, 1000, 1000],
                    "records": 1000,
                }
                for i, name in enumerate(names)
            },
        },
    }
    check_document(made)
    return made


def hostile_differential() -> dict[str, Any]:
    """Names and messages that would like to be script."""
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    made = differential_document((attack, f"{attack}2", "{{ 7 * 7 }}\u202e"))
    made["diagnostics"]["failures"][0]["message"] = attack
    made["settings"]["attribute"] = attack
    made["diagnostics"]["remarks"].append(attack)
    return made
