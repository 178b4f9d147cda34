"""What an audit says in words: sentences for the officer, what was not tested, what is to be borne in mind."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.audit.asking import Answers
from unveil.audit.document import Finding, Number
from unveil.data.belief import Belief

__all__ = ["NOT_TESTED", "main_attacker", "not_tested", "percent", "sentence", "wp29"]

BACKGROUND = "Readers who know other people's sensitive values, or negative and background rules, were not tested."
TOGETHER = "Several releases of one table were not read together."
WIDE = 0.2  # an interval whose middle says little
NOT_TESTED = (
    "The attacker counts every table that fits the published cells, whatever made them. Someone who knows how the "
    "release was made can rule tables out, and may learn more than these.",
    "The learner takes attributes as independent given the sensitive value (naive Bayes). A richer model may learn "
    "more.",
    BACKGROUND,
    "Differential inference was not tested: how much one person's record changes what is learned of them.",
    "A reader who knows how values were perturbed (noise, swapping, microaggregation) and inverts it was not tested.",
    TOGETHER,
)


def main_attacker(attackers: Mapping[str, Any]) -> str | None:
    """The attacker that sentences and people files speak of: bayesian if it ran."""
    return "bayesian" if "bayesian" in attackers else next(iter(attackers), None)


def sentence(found: Answers, *, least: int = 0, sampled: bool = False) -> str:
    """Learner and attacker in plain words; `least`: a smaller number of people is not said."""
    name = main_attacker(found.attackers)
    attribute = found.attribute.name
    if name is None:
        return f"No attacker could be asked about {attribute}."
    people = len(found.learner.probability)
    learner, attacker = found.learner.probability, found.attackers[name].probability
    if found.truth is None:
        harmful = [c for c in range(found.attribute.codes) if c not in found.attribute.harmless]
        sure = [float((p[:, harmful].max(axis=1, initial=0.0) >= 0.8).mean()) for p in (learner, attacker)]
        return (
            f"Without the original nobody's {attribute} is known here, so how often a reader is right is unknown. "
            f"What this file teaches about people in general makes a reader at least 80% sure of "
            f"{percent(sure[0])} of them; knowing that they are in it, of {percent(sure[1])}."
        )
    rows = np.arange(people)
    right = [_right(belief, found.truth) for belief in (found.learner, found.attackers[name])]
    own, base = attacker[rows, found.truth], learner[rows, found.truth]
    threatened = own >= attacker.max(axis=1) * (1 - 1e-12)
    twice = int((threatened & (own >= 2 * base * (1 - 1e-12))).sum())
    many = f"fewer than {least}" if twice < least else f"{twice:,}" if twice else "no"
    noun = "person" if twice == 1 and least < 2 else "people"
    of = f" of the {people:,} sampled" if sampled else ""
    assert found.held is not None
    mode = float(found.held.max() / found.held.sum())
    return (
        f"Naming the most frequent {attribute} is right for {percent(mode)}. What this file teaches about people in "
        f"general lets somebody who is not told who is in it guess {right[0]} right. Knowing that a person "
        f"is in it makes that {right[1]}; for {many} {noun}{of} the true value becomes at least twice as "
        "likely."
    )


def _right(belief: Belief, truth: NDArray[np.integer]) -> str:
    """How many are guessed right; the ends of the interval where it is wide, as where readings tie."""
    found = risk.global_threat(belief, truth)
    if found.high - found.low <= WIDE:
        return percent(found.value)
    return f"{percent(found.low)} to {percent(found.high)}"


def percent(share: float) -> str:
    """Of people, in a sentence: a decimal where it is near nobody or everybody."""
    return f"{share:.0%}" if share in (0.0, 1.0) or 0.01 <= share <= 0.99 else f"{share:.1%}"


def not_tested(
    *,
    has_sensitive: bool,
    original: bool,
    control: bool,
    assignment: bool,
    linked: bool = False,
    refused: Sequence[tuple[str, str, str, str]],
    membership: bool = False,
    background: Sequence[Mapping[str, Any]] = (),
    composed: bool = False,
) -> list[str]:
    """What this audit does not speak of. `refused`: release, attribute, attacker, reason."""
    found = [text for text in NOT_TESTED if not (composed and text == TOGETHER)]
    if any(row["measured"] for row in background):
        place = found.index(BACKGROUND)
        found[place : place + 1] = ["Readers who know other people's sensitive values were not tested."] + [
            f"Background knowledge was not tried on {row['release']} ({row['attribute']}): {row['reason']}."
            for row in background
            if not row["measured"]
        ]
    elif background:
        found[found.index(BACKGROUND)] = f"{BACKGROUND[:-1]}: {background[0]['reason']}."
    if not has_sensitive:
        found.insert(0, "The schema names no sensitive attribute: no attacker was asked about anything.")
    if not original:
        found.insert(0, "There was no original: whether a reader would be right is unknown.")
    if not linked:
        found.append("Linkability was not tested: whether a person's record elsewhere can be linked with the one here.")
    found.append(
        "Membership was tested by how many groups a person matches, of a masked release by its nearest row. A reader "
        "who knows how the release was made, who else is in the table, or what the population is like in detail may "
        "find out more."
        if membership
        else "Membership was not tested: whether a reader can find out who is in the table."
    )
    if not control:
        found.append("No control people were given: success on members was not compared with success on others.")
    if not assignment:
        found.append(
            "A reader who knows which group a person is in was not tested; give --assignment or --key for that."
        )
    found += [
        f"{attacker} was not run on {release} ({attribute}): {why}." for release, attribute, attacker, why in refused
    ]
    return found


def wp29(findings: Sequence[Finding], release: str, attackers: Sequence[str]) -> dict[str, Any]:
    """The three risks of Opinion 05/2014 of the Article 29 Working Party, as far as they were measured."""
    mine = [f for f in findings if f.release == release]
    alone = next((f for f in mine if f.id == "singled_out"), None)
    found = {
        "singling_out": _claimed(mine)
        if alone is None
        else _row(alone, f"{_number(alone.value)} of the rows stand alone in their published cells{_before(alone)}."),
        "linkability": _linkability(mine),
    }
    threats = [f for f in mine if f.id in {f"{a}.global_threat" for a in attackers}]
    known = [f for f in threats if isinstance(f.value, float) and isinstance(f.baseline, float)]
    if known:
        worst = max(known, key=lambda f: float(f.value or 0) - float(f.baseline or 0))
        found["inference"] = _row(
            worst,
            f"The worst attacker guesses {_number(worst.value)} of {worst.attribute} right; what the file teaches "
            f"about people in general gives {_number(worst.baseline)}.",
        )
    elif learned := [f for f in mine if f.id == "model_disclosure" and isinstance(f.value, float)]:
        worst = max(learned, key=lambda f: float(f.value or 0) - float(f.baseline or 0))
        found["inference"] = _row(
            worst,
            f"A model that learned from the file guesses {_number(worst.value)} of {worst.attribute} right, "
            f"one that did not learn from the person's row {_number(worst.baseline)}.",
        )
    elif threats:
        found["inference"] = _row(threats[0], "Success unknown: there was no original to compare guesses with.")
    else:
        found["inference"] = _not_tested("No attacker could be asked about a sensitive attribute.")
    return found


def _before(alone: Finding) -> str:
    return "" if alone.baseline is None else f" (in the original {_number(alone.baseline)})"


def _claimed(findings: Sequence[Finding]) -> dict[str, Any]:
    """Of a masked release: whom somebody would point at one row for."""
    found = next((f for f in findings if f.id == "claimed" and f.value is not None), None)
    if found is None:
        return _not_tested("Values were perturbed, and there was no original: whether people stand out is not known.")
    right = next((f.value for f in findings if f.id == "claim_precision"), None)
    sure = "; whether it is theirs is unknown" if right is None else f", rightly for {_number(right)} of them"
    return _row(found, f"For {_number(found.value)} of the people one published row alone is nearest{sure}.")


def _linkability(findings: Sequence[Finding]) -> dict[str, Any]:
    found = next((f for f in findings if f.id == "reid" and f.value is not None), None)
    if found is None:
        return _not_tested("Whether records of one person can be linked was not tested.")
    guess = f" (a guess: one in {1 / found.baseline:,.0f})" if isinstance(found.baseline, float) else ""
    claims = next((f.value for f in findings if f.id == "claimed"), None)
    sure = "" if claims is None else f"; for {_number(claims)} one row alone is nearest"
    return _row(
        found,
        f"Someone who holds everybody's quasi-identifiers links {_number(found.value)} with their own "
        f"row{guess}{sure}.",
    )


def _row(finding: Finding, words: str) -> dict[str, Any]:
    return {
        "value": finding.value,
        "low": finding.low,
        "high": finding.high,
        "baseline": finding.baseline,
        "status": "measured",
        "finding": finding.id,
        "words": words,
    }


def _not_tested(words: str) -> dict[str, Any]:
    empty = dict.fromkeys(("value", "low", "high", "baseline"))
    return {**empty, "status": "not tested", "finding": None, "words": words}


def _number(value: Number) -> str:
    return "unknown" if value is None else "∞" if isinstance(value, str) else percent(value)
