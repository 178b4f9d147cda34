"""What classes tell about a secret, judged by harm: one value, a rare one made likely, one kind, close numbers.

A reader who knows a person's quasi-identifiers and that the person is in the file believes what the rows that look
alike show; where blocks hide the link, the mean over the groups in which the person's cells stand. That is all that is
counted here: no learning, no chains. So these are lower bounds, at the cost of one histogram a class.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, Role
from unveil.data.draft.words import KNOWN_WORDS, hinted
from unveil.data.release import row_numbers
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.people import people_who_fit
from unveil.risk.published_file.statistics import narrowed_sets

__all__ = ["few_values", "harmful_classes", "likely_members"]

_LIKELY, _GAIN = 0.5, 0.3  # a belief of a half or more, grown by 30 points or more
_RARE_GAIN, _TIMES = 0.2, 5  # or by 20 points and to five times what it is among all
_NARROW = 0.2  # of the width that holds nine tenths of all people
_MOST_VALUES = 1_000
_BINS = 20  # of a number of many values
_SMALL = 0.05  # of the rows: what holds of more people is what is known of people in general
_PAIRED = 6  # quasi-identifiers that are taken by twos
_LEAST = 60  # rows
_PRIOR = 10.0  # rows, that what all have weighs against those of one cell
_CODE = re.compile(r"[A-Za-z]\d{1,3}(?:[.]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class _Beliefs:
    """Kinds of people by their quasi-identifiers; rows of the secret that each may have, with weights."""

    people: NDArray[np.float64]  # (kinds,) how many there are
    kind: Ids  # (pairs,)
    value: Ids  # (pairs,) the secret's text
    weight: NDArray[np.float64]  # (pairs,) sums to 1 a kind


def harmful_classes(file: PublishedFile) -> list[Leak]:
    """Every sensitive column: of how many people a harmful value, kind of values or narrow range becomes likely."""
    found = []
    for name in _secrets(file):
        texts, beliefs = _beliefs(file, name)
        if beliefs is None or name in file.sidecar.masked:
            continue
        leaks = [_one_for_all(file, name, texts, beliefs)]
        if leaks[0] is None:
            for group, what in _groupings(file, name, texts):
                leak = _likely(file, name, beliefs, group, what)
                if leak is not None:
                    leaks.append(leak)
                    break
            leaks.append(_narrow(file, name, texts, beliefs))
        found += [leak for leak in leaks if leak is not None]
    return found


def _secrets(file: PublishedFile) -> list[str]:
    second = [] if file.second is None else [n for n in file.second.columns if file.role(n) is Role.SENSITIVE]
    return [*file.secrets, *second]


def _beliefs(file: PublishedFile, name: str) -> tuple[Sequence[str], _Beliefs | None]:
    times = file.times.astype(np.float64)
    if name in file.columns and all(file.together(k, name) for k in file.keys):
        texts = file.columns[name].texts
        shown = ~file.absent(name)[file.codes(name)]
        # Perturbed values make no classes: how far they can be linked is for the attackers to try.
        classes = file.joint([k for k in file.keys if k not in file.sidecar.masked])[shown]
        kind, value, weight = _counted(classes, file.codes(name)[shown], times[shown])
        people = _sums(classes, times[shown])
        return texts, _normal(people, kind, value, weight)
    label = file.sidecar.group
    if label is None or label not in file.columns:
        return (), None
    if name in file.columns:
        texts, group, value, count = file.columns[name].texts, file.codes(label), file.codes(name), times
    else:
        assert file.second is not None
        table = file.second.columns
        place = {t: i for i, t in enumerate(file.columns[label].texts)}
        group = np.array([place.get(t, -1) for t in table[label].texts])[np.asarray(table[label].text_of_row)]
        number = [float(t) if t.strip().isdigit() else 1.0 for t in table["count"].texts]
        texts, value = table[name].texts, np.asarray(table[name].text_of_row, dtype=np.int64)
        count = np.array(number)[np.asarray(table["count"].text_of_row)]
    from scipy.sparse import coo_matrix

    groups, kinds = len(file.columns[label].texts), int(file.classes.max()) + 1
    here = coo_matrix((times, (file.classes, file.codes(label))), shape=(kinds, groups)).tocsr()
    there = coo_matrix((count, (group, value)), shape=(groups, len(texts))).tocsr()
    size = np.asarray(there.sum(axis=1)).ravel()
    there = there.multiply(1 / np.maximum(size, 1e-12)[:, None]).tocsr()
    both = (here @ there).tocoo()
    people = _sums(file.classes, times)
    return texts, _normal(people, both.row.astype(np.int64), both.col.astype(np.int64), both.data)


def _counted(kind: Ids, value: Ids, times: NDArray[np.float64]) -> tuple[Ids, Ids, NDArray[np.float64]]:
    width = int(value.max(initial=0)) + 1
    pair, where = np.unique(kind * width + value, return_inverse=True)
    return pair // width, pair % width, _sums(where, times)


def _sums(ids: NDArray[np.integer], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.bincount(ids, weights=weight), dtype=np.float64)


def _normal(people: NDArray[np.float64], kind: Ids, value: Ids, weight: NDArray[np.float64]) -> _Beliefs | None:
    if not len(kind):
        return None
    total = np.bincount(kind, weights=weight)
    return _Beliefs(people, kind, value, weight / total[kind])


# --- values and kinds of values ---------------------------------------------------------------------------------------


def _groupings(file: PublishedFile, name: str, texts: Sequence[str]) -> Iterable[tuple[list[str | None], str]]:
    """Which values count as one: each by itself, then kinds of them; None for harmless ones."""
    declared = file.schema.declaration(name)
    harmless = {str(v).strip() for v in declared.harmless}

    def kinds(of: Callable[[str], str | None]) -> list[str | None]:
        return [None if t.strip() in harmless else of(t.strip()) for t in texts]

    if len(texts) <= _MOST_VALUES:
        yield kinds(lambda t: t), "value"
    if declared.classes:
        member = {str(v).strip(): label for label, values in declared.classes.items() for v in values}
        yield kinds(member.get), "kind"
        return
    ladder = file.schema.hierarchies.get(name)
    if ladder is not None:
        for level in range(1, min(len(row) for row in ladder.rows) - 1):
            label = {row[0].strip(): row[level] for row in ladder.rows}
            yield kinds(label.get), "kind"
        return
    codes = sum(_CODE.fullmatch(t.strip()) is not None for t in texts)
    if declared.kind is Kind.CATEGORICAL and codes > 0.8 * len(texts):
        yield kinds(lambda t: t[:3]), "kind"  # ICD's categories, and its chapters
        yield kinds(lambda t: t[:1]), "kind"


def _likely(file: PublishedFile, name: str, beliefs: _Beliefs, group: Sequence[str | None], what: str) -> Leak | None:
    labels = sorted({g for g in group if g is not None})
    if not labels or (len(labels) == 1 and None not in group):
        return None
    number = {g: i for i, g in enumerate(labels)}
    of_value = np.array([-1 if g is None else number[g] for g in group], dtype=np.int64)[beliefs.value]
    good = of_value >= 0
    kind, label, weight = _counted(beliefs.kind[good], of_value[good], beliefs.weight[good])
    people = beliefs.people[kind]
    total = float(beliefs.people.sum())
    usual = np.bincount(label, weights=people * weight, minlength=len(labels)) / total
    gain = weight - usual[label]
    harmed = ((weight >= _LIKELY) & (gain >= _GAIN)) | ((gain >= _RARE_GAIN) & (weight >= _TIMES * usual[label]))
    if not harmed.any():
        return None
    touched = round(float(beliefs.people[np.unique(kind[harmed])].sum()))
    certain = round(float(people[harmed & (weight > 1 - 1e-9)].sum()))
    worst = int(np.flatnonzero(harmed)[np.argmax(gain[harmed] * np.sqrt(people[harmed]))])
    sure = f", and certain for {file.count(certain)}" if certain else ""
    noun = f"one {name}" if what == "value" else f"one kind of {name}"
    return Leak(
        "harmful_classes",
        "inference",
        "exceeded",
        f"Anyone who knows a person's quasi-identifiers learns {noun} of {file.persons(touched)}: it becomes "
        f"likely{sure}. At worst {labels[label[worst]]} goes from {percent(float(usual[label[worst]]))} to "
        f"{percent(float(weight[worst]))}.",
        f"merge these classes with others until no {name} stands out (t_closeness:t={_GAIN:g})",
        (name,),
        touched,
        float(weight[worst]),
    )


def _one_for_all(file: PublishedFile, name: str, texts: Sequence[str], beliefs: _Beliefs) -> Leak | None:
    used = np.unique(beliefs.value)
    harmless = {str(v).strip() for v in file.schema.declaration(name).harmless}
    if len(used) != 1 or texts[used[0]].strip() in harmless:
        return None
    people = int(beliefs.people.sum())
    return Leak(
        "harmful_classes",
        "membership",
        "exceeded",
        f"Everybody in the file has the same {name}: to know that someone is in the file is to know it, for all "
        f"{file.persons(people)}.",
        "say in the schema that being in the table is sensitive, and drop the column",
        (name,),
        people,
        1.0,
    )


def _narrow(file: PublishedFile, name: str, texts: Sequence[str], beliefs: _Beliefs) -> Leak | None:
    """Classes in which a number lies within a fifth of the range that holds nine tenths of everybody's."""
    if not file.schema.declaration(name).kind.measured or name not in file.columns:
        return None
    number = file.numbers(name)
    if np.isfinite(number).mean() < 0.9 or len(np.unique(number[np.isfinite(number)])) < 10:
        return None
    good = np.isfinite(number[beliefs.value])
    kind, place, weight = beliefs.kind[good], number[beliefs.value[good]], beliefs.weight[good]
    everyone = _ends(np.zeros(len(kind), dtype=np.int64), place, weight * beliefs.people[kind])
    width = float(everyone[1][0] - everyone[0][0])
    low, high = _ends(kind, place, weight)
    narrow = (high - low <= _NARROW * width) & (beliefs.people[: len(low)] > 0) & np.isfinite(low)
    touched = round(float(beliefs.people[: len(low)][narrow].sum()))
    if width <= 0 or not touched:
        return None
    best = float((high - low)[narrow].min())
    return Leak(
        "harmful_classes",
        "inference",
        "exceeded",
        f"Anyone who knows a person's quasi-identifiers learns the {name} of {file.persons(touched)} to within a fifth "
        f"of the range that covers nine tenths of all people ({width:g}); at worst to within {best:g}.",
        f"merge these classes with others until {name} varies in each",
        (name,),
        touched,
        1 - best / width,
    )


def few_values(file: PublishedFile) -> list[Leak]:
    """Small sets of people, by one, two or all quasi-identifiers, in whom few values of a secret occur.

    It does not matter what these values have in common: whatever it is, it is told. What other rows with one of the
    same cells tell holds of people in general, and is no news about those of a set (naive Bayes over the cells).
    A file with perturbed columns is not asked: its classes are not what people look like.
    """
    found = []
    keys = [] if file.sidecar.masked else list(file.keys)
    for name in [*file.secrets, *_perhaps_secret(file)] if file.linked and keys else []:
        shown = ~file.absent(name)[file.codes(name)]
        if shown.sum() < _LEAST:
            continue
        secret = _in_bins(file.codes(name)[shown], file.numbers(name))
        worst: tuple[int, float, tuple[str, ...]] | None = None
        for chosen in dict.fromkeys([*((k,) for k in keys), *combinations(keys[:_PAIRED], 2), tuple(keys)]):
            sets = file.joint(chosen)[shown]
            cells = [file.codes(k)[shown] for k in chosen]
            told = narrowed_sets(sets, secret, _in_general(sets, cells, secret), most=_SMALL * len(secret))
            if told is not None and (worst is None or told.rows > worst[0]):
                worst = told.rows, told.times, chosen
        if worst is not None:
            people, times, chosen = worst
            secret_too = name in file.secrets
            found.append(
                Leak(
                    "few_values",
                    "inference",
                    "exceeded" if secret_too else "suspicious",
                    f"{_listed(chosen)} {'narrow' if len(chosen) > 1 else 'narrows'} {name} down to a few values for "
                    f"{file.persons(people)}: anyone who knows {'them' if len(chosen) > 1 else 'it'} is {times:.1f} "
                    f"times as likely to name the right one."
                    + ("" if secret_too else f" If {name} is a secret, nothing else here judges it."),
                    f"merge these classes with others until each has many values of {name}"
                    + ("" if secret_too else f', or set role = "sensitive" for {name} and audit again'),
                    (*chosen, name),
                    people,
                    1 - 1 / times,
                )
            )
    return found


def _listed(names: Sequence[str]) -> str:
    """`age`; `age and sex`; `age, sex and region`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _unperturbed(file: PublishedFile, names: Iterable[str]) -> list[str]:
    """Those that are said to show true values, if perhaps in wide cells."""
    masked = file.sidecar.masked
    return [] if "*" in masked else [name for name in names if name not in masked]


def _perhaps_secret(file: PublishedFile) -> list[str]:
    """Insensitive columns that are about people: not known by their name, nor worked out of what is shown."""
    found = []
    for name in file.others if file.keys else []:
        if file.role(name) is not Role.INSENSITIVE or hinted(name, KNOWN_WORDS) or name in file.sidecar.masked:
            continue
        codes = file.codes(name)
        kinds = len(np.unique(codes))
        if 1 < kinds <= file.rows // 8 and len(np.unique(row_numbers([file.classes, codes]))) > file.classes.max() + 1:
            found.append(name)
    return found


def _in_bins(codes: Ids, number: NDArray[np.float64]) -> Ids:
    """Values as they are, or a number of many values in bins of about as many rows each."""
    secret = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    place = number[codes]
    if int(secret.max()) < 2 * _BINS or not np.isfinite(place).all():
        return secret
    _, rank, size = np.unique(place, return_inverse=True, return_counts=True)
    return ((np.cumsum(size) - 1) * _BINS // len(place))[rank].astype(np.int64)


def _in_general(sets: Ids, cells: list[Ids], secret: Ids) -> Callable[[int], NDArray[np.float64]]:
    """(values,) what is expected of a set by what its cells tell of people outside it."""
    values = int(secret.max()) + 1
    usual = np.bincount(secret, minlength=values) / len(secret)

    def expected(one: int) -> NDArray[np.float64]:
        inside = sets == one
        told = np.log(np.maximum(usual, 1e-300))
        for codes in cells:
            elsewhere = (codes == codes[inside][0]) & ~inside
            counted = np.bincount(secret[elsewhere], minlength=values)
            likelier = (counted + _PRIOR * usual) / (counted.sum() + _PRIOR) / np.maximum(usual, 1e-300)
            told += np.log(np.maximum(likelier, 1e-300))
        likely = np.exp(told - told.max())
        return np.asarray(likely / likely.sum())

    return expected


def _ends(
    kind: Ids, place: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(kinds,) the 5% and 95% quantiles of each kind's weights."""
    order = np.lexsort((place, kind))
    k, p, w = kind[order], place[order], weight[order]
    kinds = int(kind.max()) + 1
    total = np.bincount(k, weights=w, minlength=kinds)
    before = np.cumsum(w) - w
    first = np.searchsorted(k, np.arange(kinds))
    start = np.append(before, 0.0)[np.minimum(first, len(before))]
    share_before, share_after = (before - start[k]) / total[k], (before + w - start[k]) / total[k]
    low, high = np.full(kinds, np.nan), np.full(kinds, np.nan)
    reached = share_after >= 0.05 - 1e-9
    low[k[reached][::-1]] = p[reached][::-1]  # the first that reaches it is written last
    below = share_before <= 0.95 + 1e-9
    high[k[below]] = p[below]
    return low, high


# --- being in the file -----------------------------------------------------------------------------------------------


def likely_members(file: PublishedFile) -> list[Leak]:
    """Classes that most of the population who fit them are in; `file.original` is then the population's register.

    The chance that somebody of a class is in the table is rows / people who fit (Nergiz et al. 2007, delta-presence).
    """
    keys = [n for n in _unperturbed(file, file.keys) if n in file.shared]
    if not keys or file.original is None:
        return []
    fits, _, kind_of_row, times = people_who_fit(file, keys)
    held = (fits * times[:, None]).sum(axis=0) * (file.people / max(int(times.sum()), 1))
    rows = np.bincount(kind_of_row, weights=file.times)
    chance = np.minimum(rows / np.maximum(held, 1e-12), 1.0)
    likely = chance > _LIKELY
    if not likely.any():
        return []
    people = round(float(rows[likely].sum()))
    certain = round(float(rows[chance > 1 - 1e-9].sum()))
    return [
        Leak(
            "likely_members",
            "membership",
            "exceeded",
            f"Anyone who holds a register of the population knows that {file.persons(people)} are probably in the "
            f"file; it is certain for {file.count(certain)}.",
            "coarsen until every class fits at least twice as many people as it has rows, or publish a sample",
            tuple(keys),
            people,
            float(chance.max()),
        )
    ]
