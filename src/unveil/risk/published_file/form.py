"""The form of cells: spellings that mark a source, what is missing and where, names of groups."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role, canonical
from unveil.risk.published_file.file import Leak, PublishedFile, percent
from unveil.risk.published_file.statistics import guess, information

__all__ = ["group_names", "missing_cells", "spelling", "withheld_values"]

_DAY = re.compile(r"(\d{4})[-./](\d\d?)[-./](\d\d?)|(\d\d?)[./-](\d\d?)[./-](\d{4})")


def spelling(file: PublishedFile) -> list[Leak]:
    """One value written in two ways: 30 and 30.0, padding, case, notations; and quotes in the file itself."""
    found = []
    for name, column in file.columns.items():
        if file.role(name) is Role.IDENTIFIER or name == file.key:
            continue
        used = np.unique(column.text_of_row)
        if len(used) > max(file.rows // 2, 50):
            continue
        spelled: dict[object, list[int]] = defaultdict(list)
        region = file.cells(name).region_of_text if name in file.shared else None
        absent, number = file.absent(name), file.numbers(name)
        for text in used.tolist():
            spelled[_meaning(file, name, text, region, absent, number)].append(text)
        several = {k: v for k, v in spelled.items() if len(v) > 1}
        if not several:
            continue
        size = np.bincount(file.codes(name), minlength=len(column.texts))
        marked = int(sum(size[t] for texts in several.values() for t in sorted(texts, key=lambda i: -size[i])[1:]))
        example = max(several.values(), key=lambda texts: sum(size[t] for t in texts))
        two = sorted(example, key=lambda i: -size[i])[:2]
        shown = " and ".join(f"“{column.texts[t]}”" for t in two)
        shown = f", {shown} for instance" if size[two].min() >= file.least else ""
        found.append(
            Leak(
                "spelling",
                "file",
                "exceeded" if marked >= 5 else "suspicious",
                f"{name} is written in several ways that mean the same{shown}: the rarer spelling marks "
                f"{file.plural(marked, 'row')}, and anyone who knows where it comes from knows whose they are.",
                f"write each value of {name} in one way",
                (name,),
                marked,
                marked / file.rows,
            )
        )
    return found + _quotes(file) + _line_ends(file)


def _meaning(
    file: PublishedFile,
    name: str,
    text: int,
    region: NDArray[np.int64] | None,
    absent: NDArray[np.bool_],
    number: NDArray[np.float64],
) -> object:
    """What a text says, however it is written."""
    if absent[text]:
        stars = file.columns[name].texts[text].strip()
        whole = not stars.strip("*") and bool(stars)
        return ("absent", whole)
    day = _DAY.fullmatch(file.columns[name].texts[text].strip())
    if day is not None:  # 2001-12-31 and 31.12.2001; the day before the month, where that can be told
        parts = [int(p) for p in day.groups()[:3] if p] or [int(p) for p in day.groups()[3:] if p]
        year, month, last = parts if parts[0] > 31 else parts[::-1]
        return ("day", year, month, last)
    if region is not None and region[text] >= 0:
        # Two labels of a hierarchy may mean the same at two levels: that is no spelling.
        written = file.columns[name].texts[text]
        if not file.schema.declaration(name).kind.ordered and file.cells(name).exact[text] >= 0:
            return ("text", " ".join(written.casefold().split()))
        label = written.strip() if name in file.schema.hierarchies else ""
        return (int(region[text]), label if label[:1].isalpha() else "")
    if not np.isnan(number[text]):
        return ("number", canonical(float(number[text]), file._kind(name)))
    return ("text", " ".join(file.columns[name].texts[text].casefold().split()))


def _line_ends(file: PublishedFile) -> list[Leak]:
    """Lines that end in two ways, or in blanks: nobody sees it, and it marks rows."""
    if file.raw is None:
        return []
    lines = file.raw.split(b"\n")[1:]
    lines = lines[:-1] if lines and not lines[-1] else lines
    returned = sum(line.endswith(b"\r") for line in lines)
    marked = min(returned, len(lines) - returned)
    if marked < 2:
        return []
    return [
        Leak(
            "spelling",
            "file",
            "exceeded",
            f"Lines of the file end in two ways, which no reader sees but every program does: that marks "
            f"{file.plural(marked, 'row')}.",
            "write the file once more with one kind of line ends",
            (),
            marked,
            marked / file.rows,
        )
    ]


def _quotes(file: PublishedFile) -> list[Leak]:
    """Values that stand in quotes on some lines and without them on others, in one column."""
    raw = file.raw
    names = list(file.columns)
    if raw is None or raw.count(b'"') < 10:
        return []
    cells = [text.replace(b'""', b'"') for text in set(re.findall(rb'(?<![^,;\t|\r\n])"((?:[^"]|"")*)"', raw))]
    if all(set(text) & set(b',;\t|"\r\n') for text in cells):
        return []  # all that is in quotes has to be
    mark = next((d for d in (b",", b";", b"\t", b"|") if raw.split(b"\n", 1)[0].count(d) >= len(names) - 1 > 0), b",")
    cell = re.compile(rb'("(?:[^"]|"")*"|[^"\r\n' + re.escape(mark) + rb"]*)(" + re.escape(mark) + rb"|\r?\n|\r|\Z)")
    seen: dict[tuple[int, bytes], list[int]] = {}
    for place, match in enumerate(cell.finditer(raw)):
        if place >= len(names):
            text = match[1]
            quoted = text.startswith(b'"')
            seen.setdefault((place % len(names), text[1:-1] if quoted else text), [0, 0])[quoted] += 1
    both = {key: n for key, n in seen.items() if n[0] and n[1]}
    found = []
    for place in sorted({key[0] for key in both}):
        marked = sum(min(n) for key, n in both.items() if key[0] == place)
        if marked >= 5:
            found.append(
                Leak(
                    "spelling",
                    "file",
                    "exceeded",
                    f"Values of {names[place]} stand in quotes on some lines and without on others: that marks "
                    f"{file.plural(marked, 'row')}.",
                    "write the file once more with one rule for quotes",
                    (names[place],),
                    marked,
                    marked / file.rows,
                )
            )
    return found


def missing_cells(file: PublishedFile) -> list[Leak]:
    """Cells that are empty or withheld where the secret is a certain one: that they are missing tells it."""
    found = []
    for name in file.columns:
        if name == file.sidecar.group or file.role(name) in (Role.SENSITIVE, Role.IDENTIFIER):
            continue
        gone = file.absent(name)[file.codes(name)].astype(np.int64)
        number = int(gone.sum())
        if number < 5 or number > file.rows - 5:
            continue
        for secret in file.secrets:
            if not file.together(name, secret):
                continue
            values = file.codes(secret)
            if len(np.unique(values)) > file.rows // 4:
                continue
            _, _, z = information(values, gone)
            told = guess(gone, values)
            counted = np.bincount(values[gone > 0], minlength=int(values.max()) + 1)
            value = int(counted.argmax())
            share, usual = float(counted[value] / number), float((values == value).mean())
            if z > 10 and (told.pure >= 5 or told.lift >= 0.15 or (share >= 0.5 and usual <= 0.25)):
                found.append(
                    Leak(
                        "missing_cells",
                        "inference",
                        "exceeded",
                        f"{name} is missing for {file.persons(number)}, and "
                        f"{percent(share)} of them have one {secret}: that the cell is empty tells it.",
                        f"drop {name}, or withhold it for others too",
                        (name, secret),
                        number,
                        share,
                    )
                )
    return found


def withheld_values(file: PublishedFile) -> list[Leak]:
    """A secret value that is never shown: who has no row, or a row without the value, has it."""
    if file.original is None or (file.rows < 20 and file.second is None):
        return []
    found = []
    for name in (n for n in file.shared if file.role(n) is Role.SENSITIVE and n not in file.sidecar.masked):
        cells = file.cells(name)
        exact = cells.exact[cells.text_of_row]
        shown = np.bincount(exact[exact >= 0], weights=file.times[exact >= 0], minlength=cells.regions.codes)
        real = np.bincount(cells.value_of_person[cells.value_of_person >= 0], minlength=cells.regions.codes)
        hidden = np.maximum(real - shown, 0)
        total = float(hidden.sum())
        value = int(hidden.argmax())
        if total < 5 or hidden[value] < 0.9 * total or (real > 0).sum() < 2:
            continue
        usual = real[value] / real.sum()
        if usual > 0.5 or total * np.log(max(usual, 1e-300)) > -20 or abs(shown.sum() - real.sum()) > 0.5 * real.sum():
            continue
        found.append(
            Leak(
                "withheld_values",
                "inference",
                "exceeded",
                f"Of the {file.persons(int(total))} whose {name} is not shown, "
                f"{percent(hidden[value] / total)} have the same one: that it is withheld tells it.",
                f"withhold {name} of others too, drawn at random, or show it in wider cells for all",
                (name,),
                int(hidden[value]),
                float(hidden[value] / total),
            )
        )
    return found


def group_names(file: PublishedFile) -> list[Leak]:
    """Names of groups that hold a value of the original which the rows do not show."""
    name = file.sidecar.group
    if name is None or name not in file.columns or file.original is None:
        return []
    column = file.columns[name]
    label = file.codes(name)
    parts = [[t.strip(), *re.findall(r"[^\W_]+", t)] for t in column.texts]
    used = set(np.unique(label).tolist())
    found = []
    for other, source in file.original.items():
        texts = {t.strip() for t in source.texts}
        hit = np.array([any(p in texts for p in ps) and i in used for i, ps in enumerate(parts)], dtype=bool)
        share = hit[label].mean()
        if file.role(other) is Role.IDENTIFIER:
            long = np.array([any(p in texts and len(p) >= 4 for p in ps) for ps in parts], dtype=bool)
            if long[label].mean() > 0.9:
                found.append(_group_leak(file, name, other, len(used), float(long[label].mean()), "linking"))
            continue
        if share < 0.9 or other not in file.shared:
            continue
        cells = file.cells(other)
        code = {t.strip(): int(c) for t, c in zip(source.texts, _codes(file, other), strict=True)}
        value = np.array([next((code[p] for p in ps if p in code), -1) for ps in parts])[label]
        hidden = cells.exact[cells.text_of_row] < 0
        fits = cells.fits(cells.text_of_row, value)
        turned = cells.fits(np.random.default_rng(0).permutation(cells.text_of_row), value)
        if hidden.mean() > 0.5 and fits.mean() > 0.95 and turned.mean() < 0.8:
            kind = "inference" if file.role(other) is Role.SENSITIVE else "singling out"
            found.append(_group_leak(file, name, other, int((fits & hidden).sum()), float(fits.mean()), kind))
    return found or _sizes_of_names(file, name) or _finer_than_cells(file, name)


def _finer_than_cells(file: PublishedFile, name: str) -> list[Leak]:
    """Names that tell rows apart which are alike in all that is known: they mean something that no cell shows."""
    if not file.linked or not file.keys:
        return []
    classes = len(np.unique(file.classes))
    both = len(np.unique(file.classes * (int(file.codes(name).max()) + 1) + file.codes(name)))
    if both < 1.5 * classes + 2:
        return []
    return [
        Leak(
            "group_names",
            "file",
            "suspicious",
            f"{name} cuts {classes:,} classes of rows with the same quasi-identifiers into {both:,}: what it "
            f"stands for is not shown, and anyone who knows it finds smaller classes, among {file.persons(file.rows)}.",
            f"drop the column {name}: rows with the same cells are a group without it",
            (name,),
            file.rows,
            1 - classes / both,
        )
    ]


def _sizes_of_names(file: PublishedFile, name: str) -> list[Leak]:
    """Parts of the names that cut the rows into sets exactly as large as a hidden column's.

    Sizes of four or more sets that all agree are no accident: of n rows cut at random they would with a chance of about
    1 / n for each of them.
    """
    assert file.original is not None
    texts, label = file.columns[name].texts, file.codes(name)
    for other, source in file.original.items():
        shown = other in file.columns and other in file.shared
        if file.role(other) is Role.IDENTIFIER or (shown and (file.cells(other).exact[file.codes(other)] >= 0).all()):
            continue
        there = np.sort(np.bincount(np.asarray(source.text_of_row)))
        there = there[there > 0]
        if len(np.unique(there)) < 4:
            continue
        for part in _parts(texts):
            here = np.sort(np.bincount(part[label], weights=file.times).astype(np.int64))
            if np.array_equal(here[here > 0], there):
                kind = "inference" if file.role(other) is Role.SENSITIVE else "singling out"
                return [_group_leak(file, name, other, file.rows, 1.0, kind)]
    return []


def _parts(texts: Sequence[str]) -> Iterator[NDArray[np.int64]]:
    """(texts,) sets of names by their beginnings, by their ends, and by the words or numbers in them."""
    cuts = [[t[:n] for t in texts] for n in range(1, 7)] + [[t[-n:] for t in texts] for n in range(1, 7)]
    words = [re.findall(r"[^\W\d_]+|\d+", t) for t in texts]
    cuts += [[w[n] if n < len(w) else "" for w in words] for n in range(4)] + [list(texts)]
    for cut in cuts:
        yield np.unique(cut, return_inverse=True)[1].astype(np.int64)


def _codes(file: PublishedFile, name: str) -> NDArray[np.int64]:
    """(texts of the original,) the code of each."""
    assert file.original is not None
    source = file.original[name]
    code = np.full(len(source.texts), -1, dtype=np.int64)
    code[np.asarray(source.text_of_row)] = file.cells(name).value_of_person
    return code


def _group_leak(file: PublishedFile, name: str, other: str, people: int, share: float, kind: str) -> Leak:
    return Leak(
        "group_names",
        kind,  # type: ignore[arg-type]
        "exceeded",
        f"The names in {name} give away {other}, which the rows do not show, for {file.persons(people)}.",
        f"number the groups in {name} at random",
        (name, other),
        people,
        share,
    )
