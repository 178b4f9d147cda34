"""What all published columns of a person say together of anything that the original knows, beyond the shown cells.

Whatever a reader computes from columns, by whatever recipe, is a function of all of them together. So if people who
agree in all of them agree in something else no more than people who agree in the quasi-identifiers alone do, no recipe
tells it, up to what so few pairs of people can show; and if hardly anybody agrees with anybody in all of them, they
single people out. Who is published at all is held against the same.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import row_numbers
from unveil.risk.published_file.classes import ALIKE, Matrix, SharedClasses, all_common
from unveil.risk.published_file.file import Disclosure, Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.marks import traits_of
from unveil.risk.published_file.statistics import narrowed_sets

__all__ = ["chosen_people", "told_by_all_columns"]

_LEAST = 60  # people
_VALUES = 40  # of a target that are told apart; of more, by their order
_BINS = 20
_WAVES = 4
_SURE = 8.0  # standard deviations, of pairs of people
_STRONG = 0.15  # of the variance that the cells leave
_PARTNERS = 0.5  # of the people who agree with somebody in all columns
_SMALL = 0.1  # of the people: what a set of more shows is known of people in general
_PAIRED = 6  # columns that are taken by twos
_DIVISORS = 100
_PUBLISHED = 0.98  # of the people, from which nobody was chosen
_TELLS = 0.3  # the least correlation of who is published with what people are


def told_by_all_columns(file: PublishedFile) -> list[Leak]:
    """Hidden values, and those that cells leave open, that all further columns together tell."""
    extra = _further(file)
    if file.original is None or not file.linked or file.people < _LEAST:
        return []
    found = [
        _leak(
            file,
            other,
            kind,
            (name,),
            "",
            file.people,
            ALIKE,
            f"Whether {name} is a multiple of {by} goes with {other}",
        )
        for name, by, other, kind in _multiples(file)
    ]
    if not extra:
        return found[:3]
    ids = {n: np.asarray(file.original[n].text_of_row, dtype=np.int64) for n in extra}
    base = _base(file)
    known = _joint(base, [ids[n] for n in extra])
    for name, kind in _targets(file, extra):
        target = _numbers(file, name)
        told = _explained(base, known, target)
        if told >= _STRONG:
            found.append(_leak(file, name, kind, tuple(extra), percent(told), file.people, told))
            continue
        if file.role(name) in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            found += _narrowed(file, name, kind, ids, base)
    return found[:3]


def _multiples(file: PublishedFile) -> Iterator[tuple[str, int, str, Disclosure]]:
    """Numbers of many values that are multiples of something for some people only, by what nobody sees of them."""
    assert file.original is not None
    targets = [(n, kind) for n, kind in _targets(file, []) if file.role(n) is not Role.SENSITIVE]
    base = _base(file)
    for name in (n for n in file.shared if targets and (file.cells(n).exact[file.codes(n)] >= 0).all()):
        column = file.original[name]
        value = file.original_numbers(name)
        if len(value) <= _BINS**2 or not (np.isfinite(value) & (value == np.round(value))).all():
            continue
        flags = (value[:, None].astype(np.int64) % np.arange(2, _DIVISORS) == 0)[np.asarray(column.text_of_row)]
        inside = _within(base, flags.astype(np.float64))
        for other, kind in (t for t in targets if t[0] != name):
            target = _within(base, _numbers(file, other))
            length = np.sqrt((inside**2).sum(axis=0)[:, None] * (target**2).sum(axis=0)[None, :])
            alike = (np.abs(inside.T @ target) / np.maximum(length, 1e-9)).max(axis=1)
            if alike.max() >= max(ALIKE, _SURE / np.sqrt(file.people)):
                yield name, int(alike.argmax()) + 2, other, kind


def _within(base: Ids, numbers: Matrix) -> Matrix:
    """Less the mean of everybody's class."""
    size = np.bincount(base).astype(np.float64)
    return np.asarray(numbers - np.stack([np.bincount(base, weights=c) / size for c in numbers.T], axis=1)[base])


def _further(file: PublishedFile) -> list[str]:
    """Published columns beside quasi-identifiers and secrets, as they are in the original."""
    if file.original is None or not file.linked:
        return []
    return [
        n
        for n in file.others
        if n in file.original and file.role(n) is Role.INSENSITIVE and n not in file.sidecar.masked and n != file.key
    ]


def _base(file: PublishedFile) -> Ids:
    """(people,) the class that their quasi-identifiers are shown as."""
    common = {n: c for n, c in all_common(file).items() if n not in file.secrets and n not in _further(file)}
    return row_numbers([people for _, people in common.values()]) if common else np.zeros(file.people, dtype=np.int64)


def _joint(base: Ids, columns: list[Ids]) -> Ids:
    """All columns together; without the widest ones, until half of the people agree with somebody."""
    left = sorted(columns, key=lambda c: len(np.unique(c)))
    while left:
        known = row_numbers([base, *left])
        if (np.bincount(known)[known] > 1).mean() >= _PARTNERS:
            return known
        left.pop()
    return base


def _targets(file: PublishedFile, extra: list[str]) -> Iterator[tuple[str, Disclosure]]:
    """Columns of the original that no reader sees exactly, and secrets."""
    assert file.original is not None
    for name in file.original:
        role = file.role(name)
        if name in extra or role is Role.IDENTIFIER or name == file.key or name in file.sidecar.masked:
            continue
        if role is not Role.SENSITIVE and name in file.shared:
            cells = file.cells(name)
            if (cells.exact[cells.text_of_row] >= 0).all():
                continue
        yield name, "singling out" if role is Role.QUASI_IDENTIFIER else "inference"


def _codes(file: PublishedFile, name: str) -> Ids:
    """(people,) values; of many, by their order in bins of about as many people."""
    assert file.original is not None
    column = file.original[name]
    ids = np.asarray(column.text_of_row, dtype=np.int64)
    if len(np.unique(ids)) <= _VALUES:
        return np.unique(ids, return_inverse=True)[1].astype(np.int64)
    place = file.original_numbers(name)
    order = place if np.isfinite(place).all() else np.array(column.texts, dtype=str)
    rank = np.unique(order, return_inverse=True)[1][ids]
    _, rank, size = np.unique(rank, return_inverse=True, return_counts=True)
    return ((np.cumsum(size) - 1) * _BINS // len(ids))[rank].astype(np.int64)


def _numbers(file: PublishedFile, name: str) -> Matrix:
    """(people, numbers) what is asked of a column: each value, or waves along the order of many."""
    codes = _codes(file, name)
    assert file.original is not None
    if len(np.unique(np.asarray(file.original[name].text_of_row))) <= _VALUES:
        return np.stack([codes == v for v in range(int(codes.max()) + 1)], axis=1).astype(np.float64)
    place = (codes + 0.5) / _BINS
    return np.stack([np.cos(np.pi * k * place) for k in range(1, _WAVES + 1)], axis=1)


def _explained(base: Ids, known: Ids, target: Matrix) -> float:
    """The share of the variance within classes that people who agree in all columns have in common; 0 if by chance."""
    inside = _within(base, target)
    number = np.bincount(known).astype(np.float64)
    pairs = number * (number - 1)
    if not pairs.any():
        return 0.0
    summed = np.stack([np.bincount(known, weights=c) for c in inside.T], axis=1)
    squares = np.stack([np.bincount(known, weights=c * c) for c in inside.T], axis=1)
    several = number > 1
    alike = ((summed**2 - squares).sum(axis=1)[several] / (number[several] - 1)).sum()
    held = squares.sum(axis=1)[several].sum()
    if held <= 1e-9:
        return 0.0
    share = float(alike / held)
    cross = inside.T @ inside / max((inside**2).sum(), 1e-300)
    spread = np.sqrt(2 * (cross**2).sum() * (1 / (number[several] - 1) * number[several]).sum()) / number[several].sum()
    return share if share > _SURE * spread else 0.0


def _narrowed(file: PublishedFile, name: str, kind: Disclosure, ids: dict[str, Ids], base: Ids) -> Iterator[Leak]:
    """Small sets by one or two columns in which few values of the target are left, though their cells show more."""
    target = _codes(file, name)
    within = _shares(base, target)
    few = [n for n in ids if len(np.unique(ids[n])) <= file.people // 8]
    for chosen in [*((n,) for n in few), *combinations(few[:_PAIRED], 2)]:
        sets = row_numbers([ids[n] for n in chosen])

        def expected(one: int, sets: Ids = sets) -> NDArray[np.float64]:
            return np.asarray(within[base[sets == one]].mean(axis=0))

        told = narrowed_sets(sets, target, expected, most=_SMALL * len(target))
        if told is not None:
            yield _leak(file, name, kind, chosen, "", told.rows, 1 - 1 / told.times)
            return


def _shares(base: Ids, target: Ids) -> Matrix:
    """(classes, values) how common each value is in each class."""
    kinds, values = int(base.max()) + 1, int(target.max()) + 1
    number = np.bincount(base * values + target, minlength=kinds * values).reshape(kinds, values)
    return np.asarray(number / np.maximum(number.sum(axis=1, keepdims=True), 1))


def _leak(
    file: PublishedFile,
    name: str,
    kind: Disclosure,
    columns: tuple[str, ...],
    share: str,
    people: int,
    strength: float,
    told: str = "",
) -> Leak:
    together = f"{' and '.join(columns)} {'together reveal' if len(columns) > 1 else 'reveals'}"
    sentence = f"{told}, which the published cells leave open, for {file.persons(people)}." if told else ""
    sentence = sentence or (
        f"{together} {share} of what the quasi-identifiers leave open about {name}, for {file.persons(people)}."
        if share
        else f"Some values of {' and '.join(columns)} narrow {name} down further than the published cells do, for "
        f"{file.persons(people)}."
    )
    fix = f"drop {columns[-1]}, or coarsen it until it reveals less about {name}"
    return Leak("told_by_all_columns", kind, "exceeded", sentence, fix, (*columns, name), people, strength)


# --- who is published -------------------------------------------------------------------------------------------------


def chosen_people(file: PublishedFile) -> list[Leak]:
    """Whether who has a row goes with what people are, beyond what the rows show: then being in the file tells it."""
    if file.original is None or not file.linked or file.sidecar.masked or file.rows < _LEAST:
        return []
    published = int(file.times.sum()) / max(file.people, 1)
    common = all_common(file)
    if published >= _PUBLISHED or not common:
        return []
    compared = SharedClasses.of(file, common, by_people=True)
    if compared is None:
        return []
    found = compared.chosen(file.times.astype(np.float64), list(traits_of(file)))
    if found is None or found[1] < _TELLS:
        return []
    trait, alike = found
    return [
        Leak(
            "chosen_people",
            trait.kind,
            "exceeded",
            f"Only {percent(published)} of the people were published, and who was chosen depends on {trait.words} "
            f"(correlation {alike:.2f}, class by class): being in the file tells it.",
            "draw the published people at random, or say who was chosen and why in a column",
            (trait.column,) if trait.column else (),
            file.rows,
            alike,
        )
    ]
