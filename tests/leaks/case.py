"""What a case is, and the plain-Python parts that cases are made of. Nothing here imports unveil.

Every leak starts from a release that is safe (`Ward.release`: large, diverse classes, shuffled rows, no other column)
and plants one thing in it. So what the audit says about a case is about that one thing.
"""

import csv
import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "CONTROLS",
    "DIAGNOSES",
    "FAMILIES",
    "LEAKS",
    "Case",
    "Columns",
    "Truth",
    "Ward",
    "alone",
    "alone_in",
    "attribute",
    "band",
    "control",
    "csv_text",
    "determined",
    "joined",
    "leak",
    "schema_text",
    "shuffled",
]

Columns = dict[str, list[str]]
KINDS = ("singling out", "linking", "inference", "membership", "background", "composition", "file")


@dataclass(frozen=True)
class Truth:
    """What a reader learns, counted from the generated data: of how many people, and what."""

    people: int
    learned: str
    of: int  # people in the file


@dataclass(frozen=True)
class Case:
    """One table, one release of it, and what is true about it."""

    name: str
    family: str
    kind: str  # the kind of disclosure it belongs to; "safe" for controls
    seed: int
    original: Columns
    schema: str
    release: Columns
    truth: Truth
    sidecar: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict)  # beside the release: hierarchies, second tables, …
    options: tuple[str, ...] = ()
    release_text: str | bytes | None = None  # where the bytes matter; else the columns as plain CSV
    release_name: str = "release.csv"
    more_releases: tuple[str, ...] = ()  # names of `files` that are audited beside it
    columns_known: bool = True  # whether the schema names every published column

    @property
    def safe(self) -> bool:
        """Whether it is a control."""
        return self.kind == "safe"

    def write(self, folder: Path) -> list[str]:
        """Write the case; what `unveil` is to be called with."""
        folder.mkdir(parents=True, exist_ok=True)
        content = csv_text(self.release) if self.release_text is None else self.release_text
        written: dict[str, str | bytes] = {
            "original.csv": csv_text(self.original),
            "schema.toml": self.schema,
            self.release_name: content,
            **self.files,
        }
        if self.sidecar:
            written[str(Path(self.release_name).with_suffix(".toml"))] = self.sidecar
        for name, text in written.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        releases = [str(folder / name) for name in (self.release_name, *self.more_releases)]
        named = [str(folder / o.removeprefix("@")) if o.startswith("@") else o for o in self.options]
        return [*releases, "--schema", str(folder / "schema.toml"), "--original", str(folder / "original.csv"), *named]


Maker = Callable[[random.Random], Mapping[str, object]]
LEAKS: dict[str, Callable[[int], Case]] = {}
CONTROLS: dict[str, Callable[[int], Case]] = {}
FAMILIES: dict[str, str] = {}  # of every leak


def leak(family: str, kind: str) -> Callable[[Maker], Maker]:
    """Register a leak: a function of random draws to a case's fields."""
    if kind not in KINDS:
        raise ValueError(kind)
    return _registered(LEAKS, family, kind)


def control(family: str) -> Callable[[Maker], Maker]:
    """Register a safe control."""
    return _registered(CONTROLS, family, "safe")


def _registered(where: dict[str, Callable[[int], Case]], family: str, kind: str) -> Callable[[Maker], Maker]:
    def register(maker: Maker) -> Maker:
        name = maker.__name__
        if name in LEAKS or name in CONTROLS:
            raise ValueError(f"{name} is there twice")

        def make(seed: int) -> Case:
            fields = maker(random.Random(f"{name} {seed}"))
            return Case(name=name, family=family, kind=kind, seed=seed, **fields)  # type: ignore[arg-type]

        where[name] = make
        if where is LEAKS:
            FAMILIES[name] = family
        return maker

    return register


# --- files ------------------------------------------------------------------------------------------------------------


def csv_text(columns: Columns, delimiter: str = ",") -> str:
    """The columns as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def attribute(role: str, kind: str = "", **more: object) -> dict[str, object]:
    """One attribute of a schema; `q`, `s`, `i` and `id` for the roles."""
    roles = {"q": "quasi-identifier", "s": "sensitive", "i": "insensitive", "id": "identifier"}
    return {"role": roles[role], **({"kind": kind} if kind else {}), **more}


def schema_text(attributes: Mapping[str, Mapping[str, object]], **top: object) -> str:
    """schema.toml. Dates and numbers as given by `repr`; a text that begins with `=` is TOML as it stands."""
    lines = ["version = 1", "confirmed = true"]
    lines += [f"{key} = {_toml(value)}" for key, value in top.items()]
    for name, keys in attributes.items():
        lines.append(f"[attributes.{json.dumps(name)}]")
        lines += [f"{key} = {_toml(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, str) and value.startswith("="):
        return value[1:]
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


# --- rows -------------------------------------------------------------------------------------------------------------


def shuffled(columns: Columns, draw: random.Random) -> Columns:
    """The same rows in random order."""
    rows = list(zip(*columns.values(), strict=True))
    draw.shuffle(rows)
    return {name: [row[i] for row in rows] for i, name in enumerate(columns)}


def joined(columns: Columns, names: Sequence[str]) -> list[tuple[str, ...]]:
    """One tuple a row."""
    return list(zip(*(columns[n] for n in names), strict=True))


def alone(values: Iterable[Hashable]) -> int:
    """How many of these nobody else has."""
    return sum(count == 1 for count in Counter(values).values())


def alone_in(seen: Sequence[Hashable], held: Iterable[Hashable]) -> int:
    """How many of the people held find exactly one row that looks like them."""
    count = Counter(seen)
    return sum(count[h] == 1 for h in held)


def determined(known: Sequence[Hashable], secret: Sequence[Hashable]) -> int:
    """Of how many rows the secret is certain to whoever knows `known`: everybody alike has the same."""
    found: dict[Hashable, set[Hashable]] = defaultdict(set)
    for k, s in zip(known, secret, strict=True):
        found[k].add(s)
    return sum(len(found[k]) == 1 for k in known)


# --- a safe release to start from -------------------------------------------------------------------------------------

DIAGNOSES = (
    "asthma",
    "bronchitis",
    "cataract",
    "diabetes",
    "eczema",
    "fracture",
    "gout",
    "hernia",
    "influenza",
    "jaundice",
)
REGIONS = {"north": "upper", "east": "upper", "south": "lower", "west": "lower"}


def band(age: str | int, width: int = 20, start: int = 20) -> str:
    """The age's band, as unveil and others write it."""
    low = start + (int(age) - start) // width * width
    return f"[{low},{low + width - 1}]"


class Ward:
    """People with an age, a sex and a region, and a diagnosis that depends on nothing: there is nothing to learn.

    Of the release: bands of 20 years, both sexes, two areas: 12 classes of about n / 12 people, each with all ten
    diagnoses; shuffled.
    """

    def __init__(self, draw: random.Random, people: int = 840) -> None:
        self.draw = draw
        self.people = people
        self.number = [str(v) for v in draw.sample(range(100_000, 1_000_000), people)]
        self.age = [str(draw.randrange(20, 80)) for _ in range(people)]
        self.sex = [draw.choice("fm") for _ in range(people)]
        self.region = [draw.choice(tuple(REGIONS)) for _ in range(people)]
        # Within every class each diagnosis occurs equally often, up to one person.
        self.diagnosis = [""] * people
        classes: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for row, cell in enumerate(self.cells()):
            classes[cell].append(row)
        for rows in classes.values():
            dealt = [DIAGNOSES[i % len(DIAGNOSES)] for i in range(len(rows))]
            draw.shuffle(dealt)
            for row, value in zip(rows, dealt, strict=True):
                self.diagnosis[row] = value

    def cells(self) -> list[tuple[str, ...]]:
        """What is published of each person's quasi-identifiers."""
        return [(band(a), s, REGIONS[r]) for a, s, r in zip(self.age, self.sex, self.region, strict=True)]

    def original(self, **more: list[str]) -> Columns:
        """The original, with further columns."""
        return {
            "number": self.number,
            "age": self.age,
            "sex": self.sex,
            "region": self.region,
            "diagnosis": self.diagnosis,
            **more,
        }

    def in_order(self, **more: list[str]) -> Columns:
        """The safe release, but in the original's order."""
        age, sex, region = (list(c) for c in zip(*self.cells(), strict=True))
        return {"age": age, "sex": sex, "region": region, "diagnosis": list(self.diagnosis), **more}

    def release(self, **more: list[str]) -> Columns:
        """The safe release; further columns go along with their people."""
        return shuffled(self.in_order(**more), self.draw)

    def schema(self, top: Mapping[str, object] | None = None, **more: Mapping[str, object]) -> str:
        """The schema; further attributes replace those of the same name."""
        attributes: dict[str, Mapping[str, object]] = {
            "number": attribute("id"),
            "age": attribute("q", "numeric", domain={"from": 20, "to": 79, "step": 1}),
            "sex": attribute("q", domain=["f", "m"]),
            "region": attribute("q", domain=list(REGIONS), hierarchy="region.csv"),
            "diagnosis": attribute("s", domain=list(DIAGNOSES)),
            **more,
        }
        return schema_text(attributes, **(top or {}))

    @property
    def files(self) -> dict[str, str]:
        """The hierarchy of the regions."""
        return {"region.csv": "".join(f"{leaf};{area};*\n" for leaf, area in REGIONS.items())}

    def case(self, **fields: object) -> dict[str, object]:
        """The fields of a case: those of the safe release, and what is different."""
        files = {**self.files, **fields.pop("files", {})}  # type: ignore[dict-item]
        plain = {"original": self.original(), "schema": self.schema(), "release": None}
        found = {**plain, **fields, "files": files}
        if found["release"] is None:
            found["release"] = self.release()
        return found
