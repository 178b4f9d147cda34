"""Who the rows are: people with several rows, rows that are nobody's, people who fit no row."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, Role
from unveil.data.release import example_rows, row_numbers
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, percent

__all__ = ["people_who_fit", "repeated_people", "rows_of_nobody", "unplaced_people"]

FEW = 5
_MOST_PAIRS = 4_000_000  # people × kinds of rows that are compared; beyond it a sample of the people


def repeated_people(file: PublishedFile) -> list[Leak]:
    """An identifier that repeats in the original: a class of ten rows may be two people."""
    if file.original is None:
        return []
    for name, column in file.original.items():
        if file.role(name) is not Role.IDENTIFIER or file.schema.declaration(name).shared:
            continue
        who = np.asarray(column.text_of_row, dtype=np.int64)
        times = np.bincount(who)
        several = int((times > 1).sum())
        different = int((times > 0).sum())
        if several < 5 or several < 0.01 * different or different < 2:
            continue
        few = _in_few(file, who)
        rows = int(times[times > 1].sum())
        said = "" if few is None else f" {file.persons(few)} share their class with fewer than {FEW} people."
        return [
            Leak(
                "repeated_people",
                "singling out",
                "exceeded" if few is None or few else "suspicious",
                f"{file.persons(several)} of {file.count(different)} have several rows "
                f"({file.count(rows)} in all, by {name}): classes count rows, not people.{said}",
                f"keep one row a person, or coarsen until classes hold {FEW} people by {name}; if different people may "
                f"have the same {name}, as with names, say shared = true in the schema",
                (name,),
                different if few is None else few,
                several / different,
            )
        ]
    return _look_alike(file)


def _look_alike(file: PublishedFile) -> list[Leak]:
    """Hardly anybody of the original is alone, though the columns dealt out at random would leave most people alone."""
    assert file.original is not None
    keys = [n for n in file.original if file.role(n) is Role.QUASI_IDENTIFIER]
    columns = [np.asarray(file.original[n].text_of_row, dtype=np.int64) for n in keys]
    if not columns or file.people < 50:
        return []
    draw = np.random.default_rng(0)
    size = np.bincount(row_numbers(columns))
    dealt = np.bincount(row_numbers([draw.permutation(c) for c in columns]))
    alone, expected = float((size == 1).sum() / file.people), float((dealt == 1).sum() / file.people)
    if expected < 0.1 or expected * file.people < 30 or alone > 0.1 * expected:
        return []
    return [
        Leak(
            "repeated_people",
            "singling out",
            "exceeded",
            f"{percent(1 - alone)} of the original's rows have a twin by {', '.join(keys)}, where "
            f"{percent(1 - expected)} would by chance: these look like several rows of one person, so classes count "
            f"rows, not people.",
            "keep one row a person, or name the column that tells people apart as an identifier",
            tuple(keys),
            int((size > 0).sum()),
            1 - alone,
        )
    ]


def _in_few(file: PublishedFile, who: Ids) -> int | None:
    """People in classes, as published, of fewer than FEW different people; None if the classes cannot be told."""
    keys = [n for n in file.keys if n in file.shared and file.cells(n).texts_of_value[1]]
    if len(keys) < len(file.keys) or not keys:
        return None
    shown = [np.append(file.cells(n).texts_of_value[0], -1)[file.cells(n).value_of_person] for n in keys]
    kind = row_numbers(shown)
    pairs = np.unique(kind * (int(who.max()) + 1) + who)
    size = np.bincount(pairs // (int(who.max()) + 1))
    small = size[pairs // (int(who.max()) + 1)] < FEW
    return len(np.unique(pairs[small] % (int(who.max()) + 1)))


def _kinds(columns: list[Ids]) -> tuple[Ids, Ids]:
    """(kinds,) a row of each kind, and (rows,) the kind of each row."""
    number = row_numbers(columns)
    first = example_rows(number)
    return first, number


def people_who_fit(file: PublishedFile, names: list[str]) -> tuple[NDArray[np.bool_], Ids, Ids, Ids]:
    """(people, kinds of rows) who fits what, of a sample of the people where there are too many; and their numbers.

    The second is the people's rows in the original, the third the kind of each published row, the fourth the times a
    kind of person occurs in the original.
    """
    values = [file.cells(n).value_of_person for n in names]
    first, kind_of_person = _kinds(values)
    first_row, kind_of_row = _kinds([file.codes(n) for n in names])
    most = max(_MOST_PAIRS // max(len(first_row), 1), 100)
    chosen = np.arange(len(first))
    if len(first) > most:
        chosen = np.sort(np.random.default_rng(0).choice(len(first), most, replace=False))
    people = first[chosen]
    fits = np.ones((len(people), len(first_row)), dtype=bool)
    for name in names:
        cells = file.cells(name)
        region, value = cells.region_of_text[cells.text_of_row[first_row]], cells.value_of_person[people]
        regions, of_region = np.unique(region, return_inverse=True)
        codes, of_code = np.unique(value, return_inverse=True)
        table = np.zeros((len(codes), len(regions)), dtype=bool)
        for r, number in enumerate(regions.tolist()):
            if number >= 0:
                good = np.flatnonzero(codes >= 0)
                table[good, r] = cells.regions.holds(np.full(len(good), number), codes[good])
        fits &= table[of_code][:, of_region]
    return fits, people, kind_of_row, np.bincount(kind_of_person)[chosen]


def unplaced_people(file: PublishedFile) -> list[Leak]:
    """People of the original who fit no published row although they should: the file was not understood."""
    if file.rows < 10 or file.sidecar.masked or file.sidecar.method == "synthetic":  # whose rows are nobody's
        return []
    blocks = [tuple(file.columns)] if file.linked else file.blocks
    for block in blocks:
        names = [n for n in block if n in file.shared and file.role(n) is Role.QUASI_IDENTIFIER]
        found = _unplaced(file, names) if names else []
        if found:
            return found
    return [] if file.sidecar.method else _other_shares(file)


def _other_shares(file: PublishedFile) -> list[Leak]:
    """A quasi-identifier whose values are not as frequent as in the original: it was changed, and nothing says so."""
    for name in (n for n in file.keys if n in file.shared):
        cells = file.cells(name)
        shown, apart = cells.texts_of_value
        withheld = cells.whole[cells.text_of_row]
        if not apart or int(file.times.sum()) < 0.9 * file.people:
            continue
        held = np.append(shown, -1)[cells.value_of_person]
        texts = len(cells.region_of_text)
        region = np.where(cells.region_of_text < 0, len(cells.regions), cells.region_of_text)
        here, there = (
            np.bincount(region, weights=np.bincount(text, weights=times, minlength=texts))
            for text, times in (
                (cells.text_of_row[~withheld], file.times[~withheld]),
                (held[held >= 0], None),
            )
        )
        if not here.sum() or not there.sum():
            continue
        here, there = here / here.sum(), there / there.sum()
        moved = float(np.abs(here - there).sum() / 2)
        chance = float(np.sqrt((here + there > 0).sum() / file.rows))
        if moved < 0.1 + 2 * chance + float(withheld.mean()):
            continue
        renamed = float(np.abs(np.sort(here) - np.sort(there)).sum() / 2) < moved / 4
        what = "perhaps each value has another's name, always the same" if renamed else _guess(file, name)
        people = round(moved * file.rows)
        return [
            Leak(
                "unplaced_people",
                "linking",
                "exceeded",
                f"{name} does not show true values: {file.persons(people)} would have to have another one for it to be "
                f"as frequent as in the original ({what}). What the file promises cannot be checked as it stands.",
                f'say in a sidecar how {name} was changed (masked = ["{name}"]), or publish ranges that hold true '
                f"values",
                (name,),
                people,
                moved,
            )
        ]
    return []


def _unplaced(file: PublishedFile, names: list[str]) -> list[Leak]:
    """The same by the quasi-identifiers of one block."""
    fits, _, kind_of_row, times = people_who_fit(file, names)
    blank = _blank(file, names)
    lost = ~fits[:, ~blank].any(axis=1)
    share = float(times[lost].sum() / times.sum())
    people = round(share * file.people)
    absent = max(file.people - int(file.times[~blank[kind_of_row]].sum()), 0)
    if people <= max(absent, 0.01 * file.people, 3) + 2 * np.sqrt(max(absent, 1)):
        return _only_suppressed(file, names, fits, times, blank, kind_of_row)
    blame = max(names, key=lambda n: (_misfit(file, n), _without(file, names, n)))
    return [
        Leak(
            "unplaced_people",
            "linking",
            "exceeded",
            f"{file.persons(people)} of the original ({percent(share)}) fit no published row, though only "
            f"{file.count(absent)} are left out or suppressed: {blame} does not show their true values "
            f"({_guess(file, blame)}). What the file promises cannot be checked as it stands.",
            f'say in a sidecar how {blame} was changed (masked = ["{blame}"]), or publish ranges that hold true values',
            (blame,),
            people,
            share,
        )
    ]


def _without(file: PublishedFile, names: list[str], name: str) -> float:
    """The share of people who would fit a row if this column were not there."""
    rest = [n for n in names if n != name]
    if not rest:
        return 1.0
    fits, _, _, times = people_who_fit(file, rest)
    return float(times[fits[:, ~_blank(file, rest)].any(axis=1)].sum() / times.sum())


def _blank(file: PublishedFile, names: list[str]) -> NDArray[np.bool_]:
    """(kinds of rows,) whether all these cells are withheld."""
    first_row, _ = _kinds([file.codes(n) for n in names])
    blank = np.ones(len(first_row), dtype=bool)
    for name in names:
        cells = file.cells(name)
        blank &= cells.whole[cells.text_of_row[first_row]]
    return blank


def _only_suppressed(
    file: PublishedFile,
    names: list[str],
    fits: NDArray[np.bool_],
    times: Ids,
    blank: NDArray[np.bool_],
    kind_of_row: Ids,
) -> list[Leak]:
    """People who fit suppressed rows alone, and those are few: by elimination the rows are theirs."""
    if not blank.any() or blank.all() or fits.shape[0] < 2:
        return []
    only = ~fits[:, ~blank].any(axis=1)
    people = int(times[only].sum())
    rows = int(file.times[blank[kind_of_row]].sum())
    if not people or fits.shape[0] < len(times) or rows > people + FEW or people >= FEW * 2:
        return []
    return [
        Leak(
            "unplaced_people",
            "inference",
            "exceeded",
            f"{file.persons(people)} can only have one of the suppressed rows ({file.count(rows)}): they are found by "
            f"elimination.",
            "leave suppressed rows out of the file, or suppress more rows of others",
            tuple(names),
            people,
            min(people / max(rows, 1), 1.0),
        )
    ]


def _misfit(file: PublishedFile, name: str) -> float:
    """Share of people whose value no cell of the column may stand for."""
    cells = file.cells(name)
    held = np.zeros(cells.regions.codes, dtype=bool)
    for region in np.unique(cells.region_of_text[np.unique(cells.text_of_row)]).tolist():
        if region >= 0:
            held[cells.regions.members(region)] = True
    good = cells.value_of_person >= 0
    return float(1 - held[cells.value_of_person[good]].mean()) if good.any() else 0.0


def _guess(file: PublishedFile, name: str) -> str:
    """What was probably done to a column of numbers."""
    assert file.original is not None
    if not file.schema.declaration(name).kind.measured:
        return "perhaps recoded or swapped"
    here = np.sort(file.numbers(name)[file.codes(name)])
    column = file.original[name]
    kind = file.schema.declaration(name).kind
    there = np.sort(file.original_numbers(name)[np.asarray(column.text_of_row)])
    here, there = here[np.isfinite(here)], there[np.isfinite(there)]
    if len(here) < 10 or len(there) < 10:
        return "perhaps recoded"
    if len(here) == len(there):
        if np.ptp(here - there) == 0 and here[0] != there[0]:
            days = " days" if kind is Kind.DATE else ""
            return f"perhaps moved by {here[0] - there[0]:g}{days}"
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = here / there
        ratio = ratio[np.isfinite(ratio)]
        if len(ratio) and np.ptp(ratio) < 0.02 * abs(np.mean(ratio)) and abs(np.mean(ratio) - 1) > 0.02:
            return f"perhaps multiplied by about {np.mean(ratio):.3g}"
    size = np.unique(here, return_counts=True)[1]
    if np.median(size) >= 3 and np.unique(there, return_counts=True)[1].mean() < size.mean() * 0.7:
        return "perhaps means of groups"
    whole = np.unique(here)
    for step in (1000, 500, 100, 50, 25, 10, 5):
        if len(whole) > 3 and (whole % step == 0).all() and not (there % step == 0).all():
            return f"perhaps rounded to {step}"
    return "perhaps means of small groups, noise or swapping"


def rows_of_nobody(file: PublishedFile) -> list[Leak]:
    """Rows that no person of the original can have, or more rows than people: copies and decoys."""
    names = [n for n in file.shared if file.role(n) in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)]
    if not names or not file.linked or file.sidecar.masked or file.sidecar.method:
        return []
    names = [n for n in names if file.role(n) is Role.QUASI_IDENTIFIER] or names
    fits, _, kind_of_row, times = people_who_fit(file, names)
    if int(times.sum()) < file.people:
        return _too_many(file)
    rows = np.bincount(kind_of_row, weights=file.times)
    held = (fits * times[:, None]).sum(axis=0)
    more = np.maximum(rows - held, 0)
    extra = int(more.sum())
    small = int(held[(held < FEW) & (rows >= FEW)].sum())
    # Noise on counts goes both ways; padding only adds, unless others were left out for it.
    added = file.times.sum() > file.people and extra >= 0.02 * file.rows
    if extra < 5 or not (added or small):
        return []
    words = (
        f"{file.plural(extra, 'row')} belong to nobody: their classes hold more rows than people of the original "
        f"fit them. {file.persons(small)} seem to be in a class of {FEW} or more, but share it with fewer "
        f"than {FEW} people."
    )
    return [_nobodys(words, "; coarsen instead", tuple(names), small or extra, extra / file.rows)]


def _too_many(file: PublishedFile) -> list[Leak]:
    total = int(file.times.sum())
    if total <= 1.02 * file.people:
        return []
    words = f"The file has {file.plural(total, 'row')}, the original {file.persons(file.people)}: the rest are "
    return [_nobodys(f"{words}copies or made-up rows.", "", (), file.people, 1 - file.people / total)]


def _nobodys(words: str, instead: str, columns: tuple[str, ...], people: int, share: float) -> Leak:
    fix = f"publish one row a person, without copies or made-up rows{instead}"
    return Leak("rows_of_nobody", "singling out", "exceeded", words, fix, columns, people, share)
