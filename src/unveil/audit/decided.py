"""Whether what was drawn so far decides: a kind that is surely exceeded needs no more digits."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.contract import ENDED
from unveil.audit.belief_measures import measures_of
from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.audit.findings import measure_of
from unveil.audit.limits import parse_limit
from unveil.audit.measures import measure, stands_for
from unveil.audit.part import Part
from unveil.audit.people import People
from unveil.audit.verdict import DEFAULT_LIMITS
from unveil.data.attribute import Attribute
from unveil.data.belief import Belief

__all__ = ["ended_readers", "surely_exceeded"]

TIMES = 2.0  # the interval, as wide: that of a first round is itself an estimate


def surely_exceeded(
    case: Case, attribute: Attribute, truth: NDArray[np.integer] | None
) -> Callable[[Mapping[str, Belief]], bool] | None:
    """Of beliefs by attacker (the learner's is ""): whether inference of the attribute is surely exceeded.

    None where more digits are asked for: by the case, by a limit on what readers believe, or by a waiver.
    """
    waived = {"inference", f"inference:{attribute.name}"} & set(case.waive)
    stated = [part for part in case.limited() if measure(part.measure).of_readers]
    if case.digits or truth is None or waived or stated:
        return None
    counts = np.bincount(truth, minlength=attribute.codes)
    measures = {m.name: m for m in measures_of(attribute, (), counts)}
    limits = [limit for limit in map(parse_limit, DEFAULT_LIMITS["inference"]) if limit.left.name in measures]

    def enough(beliefs: Mapping[str, Belief]) -> bool:
        learner = beliefs[""]
        for name, belief in beliefs.items():
            if name not in case.readers.attackers or len(belief.probability) != len(truth):
                continue  # controls, or people who fit no row, are among them: they are judged at the end
            if not (belief.diagnostics.converged and learner.diagnostics.converged):
                continue
            for limit in limits:
                asked = Finding.of(limit.left.name, "", attribute.name, None, reader=name)
                if not stands_for(limit.left, asked, case.attacker_names):
                    continue
                found = measure_of(measures[limit.left.name], People(belief, learner, truth), None)
                if found is None:
                    continue
                low, high = (found.value + TIMES * (end - found.value) for end in (found.low, found.high))
                if limit.judge(low, high) == "exceeded":
                    return True
        return False

    return enough


def ended_readers(part: Part) -> set[tuple[str | None, str | None]]:
    """Attributes and readers whose chains ended because a limit was surely exceeded: their findings are at least so."""
    return {
        (attribute, name)
        for attribute, found in part.answers.items()
        for name, belief in found.attackers.items()
        if ENDED in belief.diagnostics.facts
    }
