"""Columns that tell another: an insensitive one the secret, one secret another, and what was withheld given back."""

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, Role
from unveil.data.release import row_numbers
from unveil.risk.published_file.file import Disclosure, Ids, Leak, PublishedFile, absent_texts, percent, places
from unveil.risk.published_file.statistics import Narrowed, Prediction, guess, information, narrowed_sets
from unveil.risk.published_file.together import Told, clues_of, sample_of, tells_most

__all__ = ["given_back", "telling_columns"]

_BINS = 64
_ENDING = re.compile(r"(?:[1-9](0+)|[.,](\d+))$")
_PAIRED = 6  # columns that are taken by twos
_MOST_SETS = 4  # rows a set, at least, on average: beyond that values are too rare to learn from
_STRONG, _WEAK = 0.5, 0.15  # the share of blind mistakes that a column avoids


def telling_columns(file: PublishedFile) -> list[Leak]:
    """Insensitive columns, alone or in pairs, that tell a sensitive one; sensitive ones that tell each other."""
    found: list[Leak] = []
    coarse = {n: _coarse(file, n) for n in [*file.others, *file.secrets]}
    known = {n: ids for n, ids in coarse.items() if ids is not None}
    insensitive = [n for n in known if file.role(n) is not Role.SENSITIVE]
    group = file.sidecar.group
    if group is not None and group in file.columns and file.linked:
        ids = _coarse(file, group)
        if ids is not None:
            known[group] = ids
            insensitive.append(group)
    for secret in file.secrets:
        values = _coarse(file, secret)
        if values is None or len(np.unique(values)) < 2:
            continue
        told = False
        found += _told_across(file, secret) + _two_tell_a_third(file, secret, values)
        for name in [n for n in insensitive if file.together(n, secret)]:
            leak = _told(file, (name,), secret, guess(known[name], values))
            leak = leak or _left_few(file, (name,), secret, narrowed_sets(known[name], values))
            if leak is not None:
                found.append(leak)
                told = True
        few = [n for n in insensitive if not told and len(np.unique(known[n])) <= _BINS and file.together(n, secret)]
        for pair in combinations(few[:_PAIRED], 2):
            leak = _left_few(file, pair, secret, narrowed_sets(_joined(known[pair[0]], known[pair[1]]), values))
            found += [] if leak is None or told else [leak]
            told = told or leak is not None
        if not told:
            found += _together(file, [n for n in insensitive if file.together(n, secret)], secret, values)
        for name in file.secrets:
            if name != secret and name in known and file.together(name, secret):
                leak = _told(file, (name,), secret, guess(known[name], values), background=True)
                leak = leak or _told_in_classes(file, name, known[name], secret, values)
                if leak is not None:
                    found.append(leak)
    return found + _told_quasi_identifiers(file)


def _told_quasi_identifiers(file: PublishedFile) -> list[Leak]:
    """Each quasi-identifier asked about in turn: a rare value that certain classes of the others have, and only they.

    What goes with one other attribute in general (husbands are men) is common knowledge; what holds of a class alone is
    about the people in it. That a class shares one widened cell is how recoding works, and tells no value.
    """
    found = []
    for name in file.keys if len(file.keys) > 1 and file.linked else []:
        values = file.codes(name)
        others = [n for n in file.keys if n != name]
        told = guess(file.joint(others), values)
        if told.pure < 10 or (values == told.pure_value).mean() > 0.25:
            continue
        if name in file.shared:
            cells = file.cells(name)
            if (cells.exact[cells.text_of_row[values == told.pure_value]] < 0).all():
                continue
        alone = [guess(file.codes(n), values) for n in others]
        if any(one.pure or one.lift >= 2 * _WEAK for one in alone):
            continue
        found.append(
            Leak(
                "telling_columns",
                "inference",
                "suspicious",
                f"{name} is called a quasi-identifier, but the others tell it: some classes make a rare value certain "
                f"for {file.persons(told.pure)}, and nothing else explains that. If it is really a secret, what the "
                f"file tells about it is not judged.",
                f'set role = "sensitive" for {name} in the schema, or waive this with a reason',
                (name,),
                told.pure,
                1.0,
            )
        )
    return found


def _told_across(file: PublishedFile, secret: str) -> list[Leak]:
    """Insensitive columns in another block than the secret: the original says what they tell."""
    found = []
    for name in file.others if file.original is not None else []:
        if file.together(name, secret) or name not in file.original or secret not in file.original:  # type: ignore[operator]
            continue
        known = np.asarray(file.original[name].text_of_row, dtype=np.int64)  # type: ignore[index]
        values = np.asarray(file.original[secret].text_of_row, dtype=np.int64)  # type: ignore[index]
        if len(np.unique(known)) <= len(known) // _MOST_SETS and len(np.unique(values)) <= len(values) // _MOST_SETS:
            leak = _told(file, (name,), secret, guess(known, values))
            if leak is not None and leak.severity == "exceeded":
                found.append(leak)
    return found


def _coarse(file: PublishedFile, name: str) -> Ids | None:
    """(rows,) values few enough to learn from: numbers by their ranks, anything else as it is; None if too rare."""
    ids = file.codes(name)
    used = np.unique(ids)
    if len(used) <= max(file.rows // _MOST_SETS, 2) and len(used) <= 4 * _BINS:
        return ids
    number = file.numbers(name)[ids]
    if np.isfinite(number).mean() < 0.9:
        return ids if len(used) <= file.rows // _MOST_SETS else None
    order = np.argsort(np.argsort(np.where(np.isfinite(number), number, -np.inf), kind="stable"))
    cut = (order * min(_BINS, max(file.rows // 8, 2))) // file.rows
    # Equal numbers stay together: each goes with the first of its kind.
    first = np.full(int(ids.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, ids, cut)
    return np.asarray(first[ids])


def _told(
    file: PublishedFile, names: tuple[str, ...], secret: str, found: Prediction, *, background: bool = False
) -> Leak | None:
    rows = file.rows
    spread = 6 * np.sqrt(max(found.blind * (1 - found.blind), 1e-6) / rows)
    significant = found.right - found.blind > spread and rows >= 20
    strong = (significant and found.lift >= _STRONG) or found.learned >= _STRONG
    pure = found.pure >= 5 and not background
    weak = (significant and found.lift >= _WEAK) or found.learned >= 2 * _WEAK
    if not strong and not pure and (background or not weak):
        return None
    column = " and ".join(names)
    verb = "tells" if len(names) == 1 else "together tell"
    called = "" if background or file.role(names[0]) is None else f", called {file.role(names[0])},"
    if found.learned >= _STRONG and found.lift < _STRONG:
        people = rows
        sentence = (
            f"{column}{called} {verb} much about {secret}: {percent(found.learned)} of the uncertainty about it is "
            f"gone, for {file.persons(people)}."
        )
    elif strong or not pure:
        people = round(found.right * rows)
        sentence = (
            f"{column}{called} {verb} {secret}: it is guessed right for {file.persons(people, found.right)}, "
            f"against {percent(found.blind)} without it."
        )
    else:
        people = found.pure
        value = file.columns[secret].texts[found.pure_value]
        shown = (
            f" ({value})"
            if not file.absent(secret)[found.pure_value] and file.numbers(secret)[found.pure_value] != 0
            else ""
        )
        sentence = (
            f"Some values of {column}{called} mean one {secret}{shown} in at least nine cases out of ten: this gives "
            f"away {file.persons(people)}."
        )
    return Leak(
        "telling_columns",
        "background" if background else "inference",
        "exceeded" if strong or pure else "suspicious",
        sentence,
        f"publish {column} apart from {secret}, or not at all"
        if background
        else f"drop {column}, or make it sensitive and hide its link with the quasi-identifiers",
        (*names, secret),
        people,
        found.right,
    )


def _left_few(file: PublishedFile, names: tuple[str, ...], secret: str, found: Narrowed | None) -> Leak | None:
    if found is None:
        return None
    column = " and ".join(names)
    return Leak(
        "telling_columns",
        "inference",
        "exceeded",
        f"Some values of {column}, called {file.role(names[0])}, narrow {secret} down to a few: anyone who knows "
        f"{column} is {found.times:.1f} times as likely to name the right one of {file.persons(found.rows)}.",
        f"drop {column}, or make it sensitive and hide its link with the quasi-identifiers",
        (*names, secret),
        found.rows,
        1 - 1 / found.times,
    )


def _told_in_classes(file: PublishedFile, name: str, known: Ids, secret: str, values: Ids) -> Leak | None:
    """One secret tells another only to somebody who knows the class too."""
    if not file.keys:
        return None
    both = guess(_joined(file.classes, known), values, least=5)
    alone = guess(file.classes, values)
    spread = 6 * np.sqrt(0.25 / file.rows)
    if both.right - max(alone.right, alone.blind) < max(_STRONG * (1 - both.blind), spread):
        return None
    people = round(both.right * file.rows)
    return Leak(
        "telling_columns",
        "background",
        "exceeded",
        f"Anyone who knows a person's quasi-identifiers and {name} also knows {secret}: right for "
        f"{file.persons(people, both.right)}, against {percent(alone.right)} without {name}.",
        f"publish {name} apart from {secret}, or not at all",
        (name, secret),
        people,
        both.right,
    )


def _joined(one: Ids, other: Ids) -> Ids:
    return row_numbers([one, other])


def _two_tell_a_third(file: PublishedFile, secret: str, values: Ids) -> list[Leak]:
    """Two or three other secrets together, none of which tells this one alone."""
    names = [n for n in file.secrets if n != secret and file.together(n, secret)]
    if len(names) < 2:
        return []
    sample = sample_of(file.rows)
    clues = clues_of([(n, file.columns[n], file.numbers(n), file.absent(n)) for n in names], sample)
    told = tells_most(clues, values[sample], least=_STRONG, singles=False, share=2 * len(file.secrets))
    if told is None:
        return []
    words = f"Who knows {told.words} of a person also knows {secret}"
    fix = f"publish {secret} apart from {told.columns[-1]}, or not at all"
    return [_telling(file, told, secret, "background", words, fix)]


def _together(file: PublishedFile, names: list[str], secret: str, values: Ids) -> list[Leak]:
    """Columns that tell a secret together, by a part of their values, or to somebody who knows the class too."""
    sample = sample_of(file.rows)
    clues = clues_of([(n, file.columns[n], file.numbers(n), file.absent(n)) for n in names], sample)
    values, share = values[sample], len(file.secrets)
    told = tells_most(clues, values, least=_STRONG, share=share)
    words = ""
    if told is not None:
        part = told.clues[0].alone  # "the last sign of …", not a column's name
        words = f"{told.words} {'together tell' if len(told.clues) > 1 else 'tells'} {secret}"
        words = words[0].upper() + words[1:] if part and words.startswith(("the ", "whether ")) else words
    classes = file.classes[sample]
    if told is None and file.keys and len(np.unique(classes)) <= len(sample) // 8:
        every = [clue._replace(alone=True) for clue in clues]
        told = tells_most(every, values, given=classes, least=_STRONG, share=2 * share)
        words = "" if told is None else f"Anyone who knows a person's quasi-identifiers and {told.words} knows {secret}"
    if told is None:
        return []
    fix = f"drop {told.columns[-1]}, or make it sensitive and hide its link with the quasi-identifiers"
    return [_telling(file, told, secret, "inference", words, fix)]


def _telling(file: PublishedFile, told: Told, secret: str, kind: Disclosure, words: str, fix: str) -> Leak:
    people = round(told.agree * file.rows)
    sentence = (
        f"{words}: {percent(told.agree)} of the people who share {told.them} share {secret} too, "
        f"against {percent(told.usual)} otherwise; that is about {file.persons(people)}."
    )
    return Leak("telling_columns", kind, "exceeded", sentence, fix, (*told.columns, secret), people, told.agree)


def given_back(file: PublishedFile) -> list[Leak]:
    """Cells that were widened or withheld, though another column of the file, insensitive, still tells them."""
    if file.original is None:
        return []
    found = []
    extra = [n for n in file.others if n in file.original and file.role(n) is Role.INSENSITIVE]
    rounded = [(n, ids) for n in file.shared if (ids := _rounding(file, n)) is not None]
    for name in (n for n in file.shared if file.role(n) in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)):
        cells = file.cells(name)
        if name in file.sidecar.masked:
            continue
        hidden = cells.exact[cells.text_of_row] < 0
        people = int(hidden.sum())
        if people < 5:
            continue
        good = cells.value_of_person >= 0
        truth = cells.value_of_person[good]
        if len(np.unique(truth)) < 2:
            continue
        told = [(other, other, _ids(file, other)) for other in [*extra, *file.secrets] if other in file.original]
        told += [(other, f"the rounding of {other}", ids) for other, ids in rounded if other != name]
        for other, words, ids in told:
            leak = _one_gives_back(file, name, other, words, ids[good], truth, people)
            if leak is not None:
                found.append(leak)
        if not any(name in leak.columns for leak in found):
            found += _sums(file, name, extra, people) or _given_together(file, name, extra, good, truth, people)
    return found + _left_out(file, extra)


def _given_together(
    file: PublishedFile, name: str, extra: list[str], good: NDArray[np.bool_], truth: Ids, people: int
) -> list[Leak]:
    """The same by several columns together, or by a part of one."""
    assert file.original is not None
    shown, apart = file.cells(name).texts_of_value
    if not apart:
        return []
    rows = np.flatnonzero(good)
    sample = sample_of(len(rows))
    columns = []
    secrets = [n for n in file.secrets if n in file.shared and (file.cells(n).exact[file.codes(n)] >= 0).mean() > 0.9]
    for other in [n for n in (*extra, *secrets) if n != name and file.together(name, n)]:
        column = file.original[other]
        columns.append((other, column, _numbers(file, column.texts), absent_texts(column.texts, file.schema)))
    told = tells_most(clues_of(columns, rows[sample]), truth[sample], given=shown[truth[sample]] + 1, least=_STRONG)
    if told is None:
        return []
    return [
        Leak(
            "given_back",
            "inference" if file.role(name) is Role.SENSITIVE else "singling out",
            "exceeded",
            f"{name} is withheld or coarsened for {file.persons(people)}, but {told.words} "
            f"{'together give' if len(told.clues) > 1 else 'gives'} it back: {percent(told.agree)} of the people "
            f"who share {told.them} have the same {name}, against {percent(told.usual)} of those who share its cell.",
            f"drop {told.columns[-1]}, or coarsen it as {name} is coarsened",
            (*told.columns, name),
            round(told.agree * people),
            told.agree,
        )
    ]


def _ids(file: PublishedFile, name: str) -> Ids:
    """(people,) the number of each one's text in the original."""
    assert file.original is not None
    return np.asarray(file.original[name].text_of_row, dtype=np.int64)


def _left_out(file: PublishedFile, extra: list[str]) -> list[Leak]:
    """Quasi-identifiers and secrets that the file does not hold, though an insensitive column tells them."""
    assert file.original is not None
    found = []
    gone = [n for n in file.original if n not in file.columns and file.second is None]
    for name in (n for n in gone if file.role(n) in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)):
        truth = _ids(file, name)
        if len(np.unique(truth)) < 2 or len(np.unique(truth)) > len(truth) // _MOST_SETS:
            continue
        for other in extra:
            told = _ids(file, other)
            if len(np.unique(told)) > len(told) // _MOST_SETS:
                continue
            direct = guess(told, truth)
            if direct.learned < _STRONG and (direct.right < 0.9 or direct.lift < _STRONG):
                continue
            found.append(
                Leak(
                    "given_back",
                    "inference" if file.role(name) is Role.SENSITIVE else "singling out",
                    "exceeded",
                    f"{name} was left out of the file, but {other} tells it: right for {percent(direct.right)} of "
                    f"{file.persons(file.rows)}, against {percent(direct.blind)} without it.",
                    f"drop {other}, too",
                    (other, name),
                    round(direct.right * file.rows),
                    direct.right,
                )
            )
    return found


def _rounding(file: PublishedFile, name: str) -> Ids | None:
    """(people,) how many noughts or decimals an exact number ends in, where people differ in that."""
    assert file.original is not None
    cells, column = file.cells(name), file.original[name]
    if file.role(name) is Role.IDENTIFIER or (cells.exact[cells.text_of_row] < 0).mean() > 0.1:
        return None
    if len(column.texts) < _BINS or not np.isfinite(_numbers(file, column.texts)).mean() > 0.9:
        return None
    ends = [_ENDING.search(t.strip()) for t in column.texts]
    form = np.array([0 if m is None else len(m[1] or "") - len(m[2] or "") for m in ends], dtype=np.int64)
    ids = np.unique(form, return_inverse=True)[1][np.asarray(column.text_of_row)].astype(np.int64)
    return ids if (np.bincount(ids) >= len(ids) / 50).sum() > 1 else None


def _one_gives_back(
    file: PublishedFile, name: str, other: str, words: str, told: Ids, truth: Ids, people: int
) -> Leak | None:
    if not file.together(name, other):
        return None
    if len(np.unique(told)) > len(told) // 4:
        return None  # nearly everyone's own value: that is another finding
    direct = guess(told, truth)
    fix = f"drop {other}, or withhold it where {name} is withheld" if words == other else f"round {other} alike for all"
    if direct.right >= 0.9 and direct.lift >= _STRONG:
        return Leak(
            "given_back",
            "inference" if file.role(name) is Role.SENSITIVE else "singling out",
            "exceeded",
            f"{name} is withheld or coarsened for {file.persons(people)}, but {words} gives it "
            f"back: right for {percent(direct.right)}.",
            fix,
            (other, name),
            round(direct.right * people),
            direct.right,
        )
    shown, apart = file.cells(name).texts_of_value
    if not apart:
        return None
    cell = shown[truth] + 1
    learned, unknown, z = information(told, truth, cell.astype(np.int64))
    # That a secret goes with an attribute is what it is collected for; that it names its value is not.
    least = _STRONG if file.role(other) is Role.SENSITIVE and words == other else _WEAK
    if unknown <= 0 or learned / unknown < least or z < 10:
        return None
    subject = words[0].upper() + words[1:] if words != other else other
    return Leak(
        "given_back",
        "singling out",
        "exceeded",
        f"{subject} narrows what was coarsened in {name}: it removes {percent(learned / unknown)} of the uncertainty "
        f"that the cells leave, for {file.persons(people)}.",
        f"drop {other}, or coarsen it as {name} is coarsened" if words == other else f"round {other} alike for all",
        (other, name),
        people,
        learned / unknown,
    )


def _sums(file: PublishedFile, name: str, extra: list[str], people: int) -> list[Leak]:
    """A number that others add up to: total less rent is the wage."""
    assert file.original is not None
    if not file.schema.declaration(name).kind.measured:
        return []
    numeric = [n for n in extra if np.isfinite(file.numbers(n)).all() and file.together(name, n)][:12]
    if len(numeric) < 2:
        return []
    columns = []
    for n in [name, *numeric]:
        column = file.original[n]
        columns.append(_numbers(file, column.texts)[column.text_of_row])
    table = np.stack(columns, axis=1)
    table = table[np.isfinite(table).all(axis=1)][:5_000]
    if len(table) < 10 * len(columns):
        return []
    design = np.column_stack([table[:, 1:], np.ones(len(table))])
    solved = np.linalg.lstsq(design, table[:, 0], rcond=None)[0]
    rest = np.abs(design @ solved - table[:, 0])
    if np.std(table[:, 0]) == 0 or np.median(rest) > 1e-6 * np.std(table[:, 0]):
        return []
    used = [n for n, weight in zip(numeric, solved, strict=False) if abs(weight) > 1e-6]
    return [
        Leak(
            "given_back",
            "inference" if file.role(name) is Role.SENSITIVE else "singling out",
            "exceeded",
            f"{name} is withheld or coarsened for {file.persons(people)}, but it is a sum of "
            f"{', '.join(used)}: a reader works it out.",
            f"drop one of {', '.join(used)}",
            (*used, name),
            people,
            1.0,
        )
    ]


def _numbers(file: PublishedFile, texts: Sequence[str]) -> NDArray[np.float64]:
    return places(texts, Kind.NUMERIC, file.original_decimal)
