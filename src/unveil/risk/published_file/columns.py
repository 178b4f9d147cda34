"""Columns that tell who a row is: identifiers, hashes, times, texts, weights, counters, households, leftovers."""

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from unveil.data.attribute import Kind, Role, position
from unveil.data.draft.words import NAMING_WORDS, SENSITIVE_WORDS, STATE_WORDS, hinted
from unveil.data.table import CodedColumn
from unveil.errors import shown
from unveil.formats.releases.surroundings import NAMES
from unveil.risk.published_file.file import Leak, PublishedFile, percent, places, plural
from unveil.risk.published_file.statistics import small_sets

__all__ = ["doubtful_roles", "exact_values", "identifying_columns", "leftover_columns"]

FEW = 5  # a value that fewer rows than this share points at people
RARE = 3  # as the least k of the default limits
_SHARE = 0.2  # of the rows, from which such values single out
_HOUSEHOLD = 8  # rows that share a value on average, up to which they look like a household or a file
_TRIED = 2_000  # identifiers that are hashed
_CATEGORIES = 100  # whose words are looked at

_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{2,4}|\d{4}[./]\d\d?[./]\d\d?")
_TIME = re.compile(r"(?:\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{2,4})[ T]\d\d?:\d\d(?::\d\d(?:\.\d+)?)?Z?")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{8,128}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")

_HASHES: dict[str, Callable[[bytes], Sequence[str]]] = {
    "MD5": lambda b: [hashlib.md5(b, usedforsecurity=False).hexdigest()],
    "SHA-1": lambda b: [hashlib.sha1(b, usedforsecurity=False).hexdigest()],
    "SHA-256": lambda b: [hashlib.sha256(b).hexdigest()],
    "SHA-512": lambda b: [hashlib.sha512(b).hexdigest()],
    "CRC-32": lambda b: [f"{zlib.crc32(b):08x}", str(zlib.crc32(b))],
    "Base64": lambda b: [base64.b64encode(b).decode(), base64.b64encode(b).decode().rstrip("=")],
    "reversing": lambda b: [b.decode()[::-1]],
}


def doubtful_roles(file: PublishedFile) -> list[Leak]:
    """Published columns whose names say a secret or an identifier, and whose roles say otherwise."""
    found = []
    for name in file.columns:
        role = file.role(name)
        if role not in (Role.QUASI_IDENTIFIER, Role.INSENSITIVE):
            continue
        for words, meant in ((SENSITIVE_WORDS, Role.SENSITIVE), (NAMING_WORDS, Role.IDENTIFIER)):
            if hinted(name, words) or (meant is Role.SENSITIVE and _values_hint(file, name)):
                what = (
                    "something that people keep to themselves"
                    if meant is Role.SENSITIVE
                    else "something that names a person"
                )
                whose = "The name" if hinted(name, words) else "The values"
                verb = "says" if hinted(name, words) else "say"
                found.append(
                    Leak(
                        "doubtful_roles",
                        "inference" if meant is Role.SENSITIVE else "linking",
                        "suspicious",
                        f"{whose} of {name} {verb} {what}, but the schema calls it {role}: what the file "
                        f"tells about it is not judged.",
                        f'set role = "{meant}" for {name} in the schema, or waive this with a reason',
                        (name,),
                        file.rows,
                    )
                )
    return found + _of_everybody(file) + _named(file)


def _named(file: PublishedFile) -> list[Leak]:
    """A file, sheet or title whose name says what those in it are or have, unless the schema settles membership."""
    if file.schema.document.membership:
        return []
    for where, text, _ in file.around:
        if where in NAMES and hinted(text, STATE_WORDS):
            return [
                Leak(
                    "doubtful_roles",
                    "membership",
                    "suspicious",
                    f"{where[0].upper()}{where[1:]} says what the people in it are or have: to know that someone is "
                    f"in it is to know this, for {file.persons(file.rows)}.",
                    'choose another name, or set membership = "sensitive" or "harmless" in the schema',
                    (),
                    file.rows,
                    1.0,
                )
            ]
    return []


def _of_everybody(file: PublishedFile) -> list[Leak]:
    """Columns that say the same of everybody: who is in the file, is told it, unless that is settled."""
    found = []
    for name in file.others:
        used = np.unique(file.codes(name)).tolist()
        text = file.columns[name].texts[used[0]].strip() if len(used) == 1 else ""
        if not any(c.isalpha() for c in text) or file.absent(name)[used[0]]:
            continue
        secret = hinted(text, SENSITIVE_WORDS) or hinted(name, SENSITIVE_WORDS)
        if file.schema.document.membership == "sensitive" or (file.schema.document.membership and not secret):
            continue
        found.append(
            Leak(
                "doubtful_roles",
                "membership",
                "suspicious",
                f"{name} says the same of everybody ({shown(text)}): to know that someone is in the file is to know "
                f"this, for {file.persons(file.rows)}.",
                f'drop {name}, or set membership = "sensitive" in the schema' + ("" if secret else ', or "harmless"'),
                (name,),
                file.rows,
                1.0,
            )
        )
    return found


def _values_hint(file: PublishedFile, name: str) -> bool:
    """Whether a column of few categories has values that speak of health, crime, faith or the like."""
    texts = [file.columns[name].texts[i] for i in np.unique(file.codes(name)).tolist()]
    return len(texts) <= _CATEGORIES and any(hinted(t, SENSITIVE_WORDS) for t in texts if not t[:1].isdigit())


def leftover_columns(file: PublishedFile) -> list[Leak]:
    """Identifiers, the column that pairs rows with the original, columns without a role, counts that multiply rows."""
    found = []
    for name in file.columns:
        column = file.columns[name]
        shown = int((~file.absent(name)[column.text_of_row]).sum())
        if name == file.key or file.role(name) is Role.IDENTIFIER:
            if shown:
                word = "the key that pairs rows with the original" if name == file.key else "an identifier"
                found.append(
                    Leak(
                        "leftover_columns",
                        "linking",
                        "exceeded",
                        f"The file still has {word}, {name}: {file.persons(shown)} can be looked up in it.",
                        f"drop the column {name}",
                        (name,),
                        shown,
                        1.0,
                    )
                )
        elif file.role(name) is None and name not in (
            file.sidecar.group,
            file.count_name,
            *file.schema.extra_columns,
        ):
            found.append(
                Leak(
                    "leftover_columns",
                    "file",
                    "exceeded",
                    f"The file has a column that the schema does not name: {name}.",
                    f"drop the column {name}, or give it a role in the schema",
                    (name,),
                    file.rows,
                )
            )
    return found + _multiplied(file)


def _multiplied(file: PublishedFile) -> list[Leak]:
    name = file.count_name
    if name is None or file.original is None:
        return []
    total = int(file.times.sum())
    if total <= file.people * 1.02 + 1:
        return []
    said = name in (file.sidecar.count, file.schema.document.frequency)
    return [
        Leak(
            "leftover_columns",
            "singling out",
            "exceeded",
            f"The column {name}{'' if said else ', which nothing explains,'} makes "
            f"{file.plural(file.rows, 'row')} count as {file.persons(total)}; the original has {file.people:,}.",
            f"drop the column {name}, or correct its counts",
            (name,),
            file.rows,
            1.0,
        )
    ]


def exact_values(file: PublishedFile) -> list[Leak]:
    """Exact numbers or dates where the schema has bins: people are as easy to find as the file shows, not as binned."""
    found = []
    for name in file.columns:
        if name not in file.schema.names or name in file.sidecar.masked:
            continue
        declared = file.schema.declaration(name)
        if declared.bins is None or declared.role is Role.IDENTIFIER:
            continue
        column = file.columns[name]
        attribute = file.schema.attribute(name, decimal=file.decimal)
        place = places(column.texts, declared.kind, file.decimal)
        labelled = np.array([t.strip() in attribute.values for t in column.texts], dtype=bool)
        exact = ~np.isnan(place) & ~labelled
        if not exact.any():
            continue
        rows = exact[column.text_of_row]
        # A value alone in its bin is no more exact than the bin.
        code = attribute.encode(column.texts, file.decimal)
        low, high = attribute.low, attribute.high
        assert low is not None
        assert high is not None
        narrow = np.array([c >= 0 and low[c] == high[c] for c in code], dtype=bool)
        rows &= ~narrow[column.text_of_row]
        people = int(file.times[rows].sum())
        if not people:
            continue
        alone = file.joint([n for n in file.keys if n != name] + [name])
        few = int(file.times[rows & (np.bincount(alone, weights=file.times)[alone] < FEW)].sum())
        secret = declared.role is Role.SENSITIVE
        what = (
            "so a reader learns it and not the bin"
            if secret
            else f"and {file.persons(few)} share theirs with fewer than {FEW}"
        )
        found.append(
            Leak(
                "exact_values",
                "inference" if secret else "singling out",
                "exceeded",
                f"The schema cuts {name} into {plural(len(attribute.values), 'bin')}, but the file shows the exact "
                f"{'day' if declared.kind is Kind.DATE else 'number'} of {file.persons(people)}: "
                f"{len(np.unique(place[exact])):,} different values, {what}.",
                f"publish the bins of {name} instead of its values, or take the bins out of the schema",
                (name,),
                people,
                people / max(int(file.times.sum()), 1),
            )
        )
    return found


def identifying_columns(file: PublishedFile) -> list[Leak]:
    """Columns beside quasi-identifiers and sensitive ones whose values few share: they single out or link."""
    found = []
    for name in file.others:
        if name == file.key or file.role(name) is Role.IDENTIFIER or name in file.sidecar.masked:
            continue  # how far masked values can be linked is for the attackers to try
        leak = _copied(file, name) or _few_share(file, name) or _rare_values(file, name)
        if leak is not None:
            found.append(leak)
    found += [leak for name in (*file.keys, *file.secrets) if (leak := _written_out(file, name)) is not None]
    return found or _few_share_together(file)


def _written_out(file: PublishedFile, name: str) -> Leak | None:
    """A quasi-identifier or a secret whose texts hold the original's identifiers, or are one person's each."""
    column, ids = file.columns[name], file.codes(name)
    used = np.unique(ids)
    if len(used) < 2 * FEW:
        return None
    every = "\n".join(column.texts[i] for i in used.tolist()).casefold()
    draw = np.random.default_rng(0)
    for other, source in (file.original or {}).items():
        if file.role(other) is not Role.IDENTIFIER:
            continue
        texts = [t.strip().casefold() for t in source.texts[:: max(len(source.texts) // 200, 1)]]
        texts = [t for t in texts if len(t) >= 5]
        # As many by chance: the same characters in another order.
        mixed = ["".join(draw.permutation(list(t))) for t in texts]
        hits, chance = (sum(t in every for t in one) for one in (texts, mixed))
        if hits > 2 * FEW + 3 * chance and hits > len(texts) / 20:
            return Leak(
                "identifying_columns",
                "linking",
                "exceeded",
                f"{name} holds values of {other}, an identifier of the original, within its texts: anyone who has a "
                f"list of {other} finds the people.",
                f"take {other} out of the texts of {name}",
                (name, other),
                file.rows,
                1.0,
            )
    alone = int((np.bincount(ids)[ids] == 1).sum())
    if alone < file.rows / 2 or name in file.sidecar.masked or _form(file, name, used)[0] != "text":
        return None
    return Leak(
        "identifying_columns",
        "singling out",
        "suspicious",
        f"{name} holds free text: {file.persons(alone)} have one of their own, and nobody can check what it "
        f"says of them.",
        f"code {name} into categories, or drop it",
        (name,),
        alone,
        alone / file.rows,
    )


def _few_share(file: PublishedFile, name: str) -> Leak | None:
    column = file.columns[name]
    ids = file.codes(name)
    shown = ~file.absent(name)[ids]
    if int(shown.sum()) < 2 * FEW:
        return None
    size = np.bincount(ids[shown], minlength=len(column.texts))
    alone = int((size[ids[shown]] == 1).sum())
    few = int((size[ids[shown]] < FEW).sum())
    share = few / int(shown.sum())
    form, what = _form(file, name, np.flatnonzero(size))
    sets = max(int((size > 0).sum()), 1)
    small = shown.sum() <= _HOUSEHOLD * sets and sets >= 20
    if share < _SHARE and not small:
        return None
    if alone <= few / 4 and form not in ("time", "text"):
        return Leak(
            "identifying_columns",
            "linking",
            "exceeded",
            f"{name} puts {file.persons(int(shown.sum()))} into {plural(sets, 'small set')} of about "
            f"{shown.sum() / sets:.1f}, as households do: whoever finds one member finds the others.",
            f"drop the column {name}",
            (name,),
            int(shown.sum()),
            share,
        )
    return Leak(
        "identifying_columns",
        "linking" if form in ("hash", "counter", "decimals", "code") else "singling out",
        "exceeded",
        f"{name} is called {file.role(name) or 'nothing in the schema'}, but {what}: {file.persons(few, share)} "
        f"share their value with fewer than {FEW}, {file.count(alone)} with nobody.",
        f"drop the column {name}, or coarsen it and make it a quasi-identifier",
        (name,),
        few,
        share,
    )


def _rare_values(file: PublishedFile, name: str) -> Leak | None:
    """Values that hardly anybody has in a column that most people share with many: the one director, the one twin."""
    ids = file.codes(name)
    shown = ~file.absent(name)[ids]
    size = np.bincount(ids[shown], weights=file.times[shown], minlength=len(file.columns[name].texts))
    rare = shown & (size[ids] < RARE)
    people = int(file.times[rare].sum())
    if not people or file.role(name) is not Role.INSENSITIVE:
        return None
    return Leak(
        "identifying_columns",
        "singling out",
        "suspicious",
        f"{name} is called insensitive, but has values that fewer than {RARE} people share: anyone who knows them "
        f"finds the rows of {file.persons(people)}.",
        f"drop or coarsen {name}, withhold its rare values, or make it a quasi-identifier",
        (name,),
        people,
        people / max(int(file.times.sum()), 1),
    )


def _form(file: PublishedFile, name: str, used: np.ndarray) -> tuple[str, str]:
    """What a column of rare values looks like: a word for the program, words for people."""
    texts = [file.columns[name].texts[i].strip() for i in used[:: max(len(used) // 500, 1)].tolist()]
    texts = [t for t in texts if t]
    if not texts:
        return "code", "its values are rare"

    def share(test: Callable[[str], object]) -> float:
        return sum(map(bool, map(test, texts))) / len(texts)

    if share(_TIME.fullmatch) > 0.9:
        return "time", "it holds times to the minute or second"
    if share(_DATE.fullmatch) > 0.9:
        return "time", "it holds dates to the day"
    if share(_UUID.fullmatch) > 0.9 or (share(_HEX.fullmatch) > 0.9 and share(str.isdigit) < 0.5):
        return "hash", "it looks like a hash or a token: the same person has the same one wherever it is used"
    if share(lambda t: len(t.split()) >= 3) > 0.5:
        return "text", "it holds free text"
    number = places(texts, Kind.NUMERIC, file.decimal)
    if np.isfinite(number).mean() > 0.9:
        point = "," if file.decimal == "," else "."
        decimals = [len(t.partition(point)[2]) for t in texts]
        if np.median(decimals) >= 3:
            return "decimals", "it holds numbers with many decimals, almost each of its own"
        every = np.sort(places([file.columns[name].texts[i] for i in used.tolist()], Kind.NUMERIC, file.decimal))
        every = every[np.isfinite(every)]
        if len(every) > 2 and 1e9 <= np.median(every) < 2.2e9 and np.ptp(every) > len(every) * 10:
            return "time", "it holds times in seconds since 1970"
        steps = np.diff(every)
        if len(steps) and (steps == steps[0]).mean() > 0.9:
            return "counter", "it counts rows or records one after another"
        return "number", "it holds exact numbers that few share"
    return "code", "its values are nearly as many as the people"


def _copied(file: PublishedFile, name: str) -> Leak | None:
    """A column made from an identifier or a place in the original: equal, moved, read backwards, encoded or hashed."""
    column = file.columns[name]
    if file.original is None or len(column.texts) < 2 * FEW:
        return None
    published = {t.strip().casefold() for t in column.texts}
    for other, source in file.original.items():
        if file.role(other) is not Role.IDENTIFIER:
            continue
        how = _made_from(published, column, source)
        if how is not None:
            people = file.rows
            return Leak(
                "identifying_columns",
                "linking",
                "exceeded",
                f"{name} gives back {other}, an identifier of the original, {how}: anyone who has a list of "
                f"{other} finds all {file.persons(people)}.",
                f"drop the column {name}; a random number that is kept nowhere else is safe",
                (name, other),
                people,
                1.0,
            )
    small = {str(i) for i in range(2 * file.people + 1)}
    if len(published) > 0.9 * file.rows and sum(map(bool, map(_HEX.fullmatch, column.texts))) > 0.9 * len(column.texts):
        for word, made in _HASHES.items():
            if word != "reversing" and _matches(published, sorted(small, key=int)[:_TRIED], made):
                return Leak(
                    "identifying_columns",
                    "linking",
                    "exceeded",
                    f"{name} is the {word} of a small whole number: a reader hashes all of them in a second and has "
                    f"the numbers of {file.persons(file.rows)} back.",
                    f"drop the column {name}",
                    (name,),
                    file.rows,
                    1.0,
                )
    return None


def _made_from(published: set[str], column: CodedColumn, source: CodedColumn) -> str | None:
    used = np.unique(source.text_of_row)
    if len(used) < 2 * FEW or not source.texts:
        return None
    texts = [source.texts[i].strip() for i in used[:: max(len(used) // _TRIED, 1)].tolist()]
    if sum(t.casefold() in published for t in texts) > len(texts) / 2:
        return "as it stands"
    for word, made in _HASHES.items():
        if _matches(published, texts, made):
            return {"reversing": "read backwards", "Base64": "only encoded (Base64)"}.get(word, f"hashed with {word}")
    there = np.array([position(t, Kind.NUMERIC) or np.nan for t in texts])
    here = np.array([position(t, Kind.NUMERIC) or np.nan for t in column.texts])
    if np.isfinite(there).all() and np.isfinite(here).all() and len(here) >= 2 * FEW:
        shift = np.sort(here)[0] - np.sort(there)[0]
        if np.isin(there + shift, here).mean() > 0.9:
            return f"moved by {shift:g}"
    return None


def _matches(published: set[str], texts: Sequence[str], made: Callable[[bytes], Sequence[str]]) -> bool:
    """Whether most of the texts, so made, are published whole or cut to the length that the file shows."""
    length = len(next(iter(published)))
    hits = 0
    for text in texts[:200]:
        shown = [m.casefold() for m in made(text.encode())]
        hits += any(m in published or (len(m) > length >= 6 and m[:length] in published) for m in shown)
    return hits > min(len(texts), 200) / 2


def _few_share_together(file: PublishedFile) -> list[Leak]:
    """Whether the insensitive columns, known too, leave classes small that are large without them."""
    extra = [n for n in file.others if file.role(n) is Role.INSENSITIVE and file.together(n, (file.keys or [n])[0])]
    if not extra or not file.keys:
        return []
    total = int(file.times.sum())
    plain = small_sets(file.classes, FEW, file.times)
    both = small_sets(file.joint([*file.keys, *extra]), FEW, file.times)
    if both - plain < max(total / 2, 2 * FEW):
        return []
    worst = max(extra, key=lambda n: small_sets(file.joint([*file.keys, n]), FEW, file.times))
    return [
        Leak(
            "identifying_columns",
            "singling out",
            "suspicious",
            f"Anyone who also knows {', '.join(extra)} finds {file.persons(both)} in classes of fewer than {FEW} "
            f"({percent(both / total)}; {file.count(plain)} by the quasi-identifiers alone); {worst} adds most.",
            f"drop or coarsen {worst}, or make it a quasi-identifier so that classes hold for it",
            tuple(extra),
            both,
            both / total,
        )
    ]
