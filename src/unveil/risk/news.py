"""Certainty that is news: what a reader is sure of about a person, and could not have said of anybody.

A value that nine people in ten have is believed of everyone without any release. So a belief counts here only if its
odds are several times those of the value's share among all people.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind
from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError
from unveil.risk._checks import checked_truth
from unveil.risk._compare import Floats, estimated, estimated_share
from unveil.risk.numeric import interval_width
from unveil.risk.similarity import coarse_codes

__all__ = [
    "disclosed",
    "disclosed_people",
    "halves",
    "in_kinds",
    "kinds_of",
    "misled",
    "misled_people",
    "narrowed",
    "narrowed_people",
    "raised",
    "raised_of_value",
    "raised_people",
    "sure",
]

CODE = re.compile(r"[A-Za-z]\d\d(\.?\w{1,4})?")
LIST = re.compile(r"[;|+]|, ")
FIGURES = re.compile(r"\d{3}(\.?\w{1,3})?")
_CHAPTERS = (139, 239, 279, 289, 319, 389, 459, 519, 579, 629, 679, 709, 739, 759, 779, 799, 999)  # ICD-9: their ends
_BEGINNINGS: tuple[tuple[re.Pattern[str], tuple[Callable[[str], str], ...]], ...] = (
    (CODE, (lambda code: code[:1], lambda code: code[:3])),
    (
        FIGURES,
        (
            lambda code: code[:1],
            lambda code: code[:2],
            lambda code: f"chapter {1 + bisect_left(_CHAPTERS, int(code[:3]))}",
        ),
    ),
)
_SIGNS = (slice(1), slice(2), slice(3), slice(4), slice(-1, None), slice(-2, None))
_OF_A_KIND, _MOST_KINDS = 5, 40  # values, on average, and kinds, from which signs are taken for kinds
TIMES = 4.0  # from one in two to four in five, from one in ten to three in ten
ROUNDING = 1e-9


def disclosed_people(
    p: Floats, truth: NDArray[np.integer], share: Floats, *, at_least: float = 0.8, harmless: Sequence[int] = ()
) -> NDArray[np.bool_]:
    """(people,) whose own value, if it is not harmless, is believed at least this much, and that is news."""
    own = p[np.arange(len(p)), truth]
    told = sure(own, share[truth], at_least)
    return np.asarray(told & ~np.isin(truth, list(harmless)))


def disclosed(belief: Belief, truth: NDArray[np.integer], share: Floats, **how: Any) -> Estimate:
    """Share of people whose own value is believed at least this much, with odds several times its overall share's.

    `share`: (values,) how common each value is among all people. `how`: as in `disclosed_people`.
    """
    codes = _checked(belief, truth, share)
    return estimated_share(lambda p: disclosed_people(p, codes, share, **how), belief)


def misled(belief: Belief, truth: NDArray[np.integer], share: Floats, **how: Any) -> Estimate:
    """Share of people of whom a wrong value is believed so: a wrong certainty harms a person, too."""
    codes = _checked(belief, truth, share)
    return estimated_share(lambda p: misled_people(p, codes, share, **how), belief)


def misled_people(
    p: Floats, truth: NDArray[np.integer], share: Floats, *, at_least: float = 0.8, harmless: Sequence[int] = ()
) -> NDArray[np.bool_]:
    """(people,) of whom a wrong value that is not harmless is believed at least this much, and that is news."""
    believed = sure(p, share, at_least)
    believed[:, list(harmless)] = False
    believed[np.arange(len(p)), truth] = False
    return np.asarray(believed.any(axis=1))


def narrowed(belief: Belief, truth: NDArray[np.integer], share: Floats, attribute: Attribute, **how: float) -> Estimate:
    """Share of people whose true number lies in an interval that holds `mass` of the belief, and is narrow.

    Narrow: at most `width` of the shortest interval that holds as much of all people. Missing numbers do not count.
    Ordinal values lie one apart.
    """
    codes = _checked(belief, truth, share)
    return estimated_share(lambda p: narrowed_people(p, codes, share, attribute, **how), belief)


def narrowed_people(
    p: Floats,
    truth: NDArray[np.integer],
    share: Floats,
    attribute: Attribute,
    *,
    mass: float = 0.8,
    width: float = 0.1,
) -> NDArray[np.bool_]:
    """(people,) whose number is told so."""
    if not attribute.kind.measured:
        steps = np.arange(attribute.real, dtype=np.float64)
        attribute = replace(attribute, kind=Kind.NUMERIC, low=steps, high=steps)
    everybody = float(interval_width(Belief(np.asarray(share, dtype=np.float64)[None, :]), attribute, mass=mass)[0])
    place, real = attribute.positions(), truth < attribute.real
    narrow = interval_width(Belief(np.ascontiguousarray(p)), attribute, mass=mass) <= width * everybody + ROUNDING
    mean = p[:, : attribute.real] @ place[: attribute.real]
    at = np.where(real, place[np.minimum(truth, attribute.real - 1)], np.inf)
    return np.asarray(narrow & real & (np.abs(mean - at) <= width * everybody))


def raised(attacker: Belief, learner: Belief, truth: NDArray[np.integer], share: Floats, **how: Any) -> Estimate:
    """Share of people whose own value is believed at one in four or more, at `times` the odds of its overall share.

    The attacker's odds must be twice the learner's: what anybody may learn in general raises nobody in particular.
    """
    codes = _checked(attacker, truth, share)
    return estimated_share(partial(_raised, truth=codes, share=share, **how), attacker, learner)


def raised_people(
    attacker: Floats, learner: Floats, truth: NDArray[np.integer], share: Floats, **how: Any
) -> NDArray[np.bool_]:
    """(people,) whose own value is believed so."""
    return np.asarray(_raised(attacker, learner, truth, share, **how).all(axis=0))


def _raised(
    attacker: Floats,
    learner: Floats,
    truth: NDArray[np.integer],
    share: Floats,
    *,
    times: float = 10.0,
    harmless: Sequence[int] = (),
) -> NDArray[np.bool_]:
    """(2, people) whether the belief is high enough, and whether it is beyond the learner's."""
    rows, own_share = np.arange(len(attacker)), share[truth]
    own, before = attacker[rows, truth], learner[rows, truth]
    news = own * (1 - own_share) >= times * own_share * (1 - own) - ROUNDING
    gained = own * (1 - before) >= 2 * before * (1 - own) - ROUNDING
    counts = ~np.isin(truth, list(harmless)) & (own_share < 1)
    return np.stack([(own >= 0.25 - ROUNDING) & news & counts, gained])


def raised_of_value(
    belief: Belief,
    truth: NDArray[np.integer],
    share: Floats,
    *,
    times: float = 10.0,
    least: int = 10,
    harmless: Sequence[int] = (),
) -> Estimate:
    """The same share among the people of one value, at worst: a rare value may be told of all who have it, and of few.

    Whoever taught it, the learner included. Values of fewer than `least` people are left out.
    """
    codes = _checked(belief, truth, share)
    own_share = share[codes]
    people = np.bincount(codes, minlength=len(share)).astype(np.float64)
    counts = people >= least
    counts[list(harmless)] = False

    def at_worst(p: Floats) -> float:
        own = p[np.arange(len(p)), codes]
        news = own * (1 - own_share) >= times * own_share * (1 - own) - ROUNDING
        told = np.bincount(codes, weights=(own >= 0.25 - ROUNDING) & news & (own_share < 1), minlength=len(share))
        return float((told[counts] / people[counts]).max(initial=0.0))

    return estimated(at_worst, belief, least=0.0, most=1.0)


def halves(attribute: Attribute, share: Floats) -> NDArray[np.int64]:
    """(values,) 0 for the lower half of all people, 1 for the upper, 2 for missing."""
    half = (np.cumsum(share) - share / 2 >= share[: attribute.real].sum() / 2).astype(np.int64)
    half[attribute.real :] = 2
    return np.asarray(half, dtype=np.int64)


def kinds_of(attribute: Attribute) -> list[tuple[NDArray[np.int64], tuple[str, ...]]]:
    """Every way of taking values as kinds: (values,) the kind of each, and the kinds' labels.

    The schema's classes, else every level of the hierarchy that joins values, else what codes such as F32.1 or 290.4
    begin with (the letter and the category; one figure, two, and ICD-9's chapter), else what several lists ("asthma;
    gout") have in common, else the first word, and the last, of values of several words, if half of the values share
    theirs, else the first or last signs of many values, as codes of any other system have them.
    """
    if any(members for _, members in attribute.classes):
        return [coarse_codes(attribute)]
    if attribute.hierarchy is not None:
        levels = range(1, attribute.hierarchy.height)
        held = [n for n in levels if 1 < len(attribute.hierarchy.labels[n]) < attribute.codes]
        if held:
            return [coarse_codes(attribute, level=level) for level in held]
    if attribute.kind.measured:
        return []
    for pattern, parts in _BEGINNINGS:
        codes = [value.upper() if pattern.fullmatch(value) else "" for value in attribute.values]
        if codes.count("") <= 0.1 * len(codes):
            cut = [[part(code) if code else "" for code in codes] for part in parts]
            return [kinds for names in cut for kinds in _labelled(names, attribute.codes)]
    lists = [{part.strip().casefold() for part in LIST.split(value)} - {""} for value in attribute.values]
    if sum(len(parts) > 1 for parts in lists) >= 0.5 * len(lists):
        often = [part for part, number in Counter(p for parts in lists for p in parts).most_common(20) if number > 1]
        named = ([p if p in own else v for own, v in zip(lists, attribute.values, strict=True)] for p in often)
        return [kinds for names in named for kinds in _labelled(names, attribute.codes)]
    words = [value.casefold().split() or [""] for value in attribute.values]
    if sum(len(w) > 1 for w in words) < 0.5 * len(words):
        cut = [[value.strip().casefold()[part] for value in attribute.values] for part in _SIGNS]
        good = [names for names in cut if len(set(names)) <= min(len(names) // _OF_A_KIND, _MOST_KINDS)]
        made = {tuple(node.tolist()): (node, labels) for n in good for node, labels in _labelled(n, attribute.codes)}
        return list(made.values())
    ends = [[w[end] for w in words] for end in (0, -1)]
    joined = [names for names in ends if sum(n for n in Counter(names).values() if n > 1) >= 0.5 * len(names)]
    return [kinds for names in joined for kinds in _labelled(names, attribute.codes)]


def _labelled(names: Sequence[str], below: int) -> list[tuple[NDArray[np.int64], tuple[str, ...]]]:
    labels = tuple(sorted(set(names)))
    if not 1 < len(labels) < below:
        return []
    return [(np.array([labels.index(name) for name in names], dtype=np.int64), labels)]


def in_kinds(belief: Belief, node: NDArray[np.int64], kinds: int) -> Belief:
    """The belief in kinds of values."""
    member = np.zeros((len(node), kinds))
    member[np.arange(len(node)), node] = 1.0
    chains = None if belief.chains is None else belief.chains @ member
    return replace(belief, probability=_normal(belief.probability @ member), chains=chains)


def _normal(p: Floats) -> Floats:
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def sure(p: Floats, share: Floats, at_least: float) -> NDArray[np.bool_]:
    """Beliefs of at least this, with odds TIMES those of the share: p (1 - f) >= TIMES f (1 - p)."""
    return np.asarray(
        (p >= at_least - ROUNDING) & (p * (1 - share) >= TIMES * share * (1 - p) - ROUNDING) & (share < 1)
    )


def _checked(belief: Belief, truth: NDArray[np.integer], share: Floats) -> NDArray[np.integer]:
    if len(share) != belief.probability.shape[1]:
        raise UsageError(f"{len(share)} overall shares for {belief.probability.shape[1]} values; give one for each")
    return checked_truth(belief, truth)
