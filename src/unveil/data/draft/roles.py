"""The role that a column's values and its name suggest, and the evidence for it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unveil.data.attribute import Kind, Role
from unveil.data.draft.columns import Column
from unveil.data.draft.sets import JointRows, SetEvidence, search_sets, spread
from unveil.data.draft.words import (
    ADMISSION_WORDS,
    BIRTH_WORDS,
    DISCHARGE_WORDS,
    FREQUENCY_WORDS,
    ID_WORDS,
    KNOWN_WORDS,
    NAMING_WORDS,
    PERSON_WORDS,
    PLACE_WORDS,
    REMARK_WORDS,
    SENSITIVE_WORDS,
    WEIGHT_WORDS,
    hinted,
    says_only_name,
)
from unveil.data.texts import MANY, names_conditions, names_people, numbers_people

__all__ = ["ColumnEvidence", "ProjectColumn", "extra_key", "is_birth", "searched_sets", "share_text", "weigh"]

_DATE_LIKE = re.compile(r"\s*\d{1,4}([./-])\d{1,2}\1\d{2,4}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?\s*")
ID_ROWS = 50  # in fewer rows, all values different says nothing
NEAR_UNIQUE = 0.95
LIVES = 50 * 365.25  # days between all but the first and the last of twenty, from which on they are births


@dataclass(frozen=True, slots=True)
class ColumnEvidence:
    """What a column's values say about its role. Missing counts as one value."""

    name: str
    kind: Kind
    role: Role
    distinct: int
    distinctness: float  # distinct values / rows
    separation: float  # share of row pairs with different values
    uniqueness: float  # share of rows whose value no other row has
    missing: int  # rows
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectColumn:
    """What another tool's project says of a column."""

    role: Role
    source: str  # the tool
    hierarchy: str | None = None  # a file, relative to the schema; its leaves are then the domain


def weigh(column: Column, told: ProjectColumn | None) -> ColumnEvidence:
    """The evidence for a column's role, which is what was told, if it was."""
    distinct, distinctness, separation, uniqueness = spread(column.counts, column.rows, column.times)
    role, reasons = _suggest(column, distinct)
    if told is not None:
        other = [] if role is told.role else [f"its values and name would suggest {role}: {reasons[0]}"]
        role, reasons = told.role, [f"the role is {told.source}'s", *other]
    return ColumnEvidence(
        column.name,
        column.kind,
        role,
        distinct,
        distinctness,
        separation,
        uniqueness,
        column.missing,
        (*reasons, *column.reasons),
    )


def _suggest(column: Column, distinct: int) -> tuple[Role, list[str]]:
    present = column.rows - column.missing
    if column.texts and not any(text.strip("*") for text in column.texts) and not column.missing:
        return Role.IDENTIFIER, ["every cell is withheld (*): it tells nothing, and is left out where it is read"]
    apart = (distinct - (column.missing > 0)) / present if present else 0.0  # distinctness where a value is present
    if hinted(column.name, NAMING_WORDS) or (says_only_name(column.name) and column.places is None):
        return Role.IDENTIFIER, ["the name says that it names a person"]
    if column.places is None and not column.published:
        people = names_people(column.texts, column.counts[: len(column.texts)])
        if people is not None:
            return Role.IDENTIFIER, [people]
        if hinted(column.name, PERSON_WORDS) and len(column.texts) >= MANY:
            return Role.IDENTIFIER, [f"the name says a person, and {len(column.texts):,} texts differ"]
        if len(column.texts) >= MANY and all(map(_DATE_LIKE.fullmatch, column.texts)):
            return Role.IDENTIFIER, [
                "dates that can be read in more than one way, or are written in several: write them in one way"
            ]
    exact = column.places is None or bool((column.places % 1).any())
    if hinted(column.name, PLACE_WORDS) and exact and len(column.counts) >= MANY and not column.published:
        return Role.IDENTIFIER, ["the name says a place on the map, which leads to an address"]
    if _numbers_rows(column, present):
        return Role.IDENTIFIER, ["it numbers the rows, as pandas and R do: it says whose row is whose"]
    known = hinted(column.name, KNOWN_WORDS)
    if column.places is None and apart >= NEAR_UNIQUE and present >= ID_ROWS and not (known or column.published):
        return Role.IDENTIFIER, [
            f"{share_text(apart)} of its texts differ: nearly every row has its own; if they are numbers, write them "
            "in one way"
            if _mostly_digits(column.texts)
            else f"{share_text(apart)} of its values differ: nearly every row has its own"
        ]
    if hinted(column.name, SENSITIVE_WORDS):
        return Role.SENSITIVE, ["the name says what people keep to themselves"]
    if column.places is None and (conditions := names_conditions(column.texts)) is not None:
        return Role.SENSITIVE, [conditions]
    if column.places is None and distinct > 1 and hinted(column.name, REMARK_WORDS) and not column.published:
        return Role.IDENTIFIER, ["the name says free text, which may hold anything"]
    if is_birth(column):
        return Role.IDENTIFIER, ["an exact birth date singles people out: release an age or a year instead"]
    if hinted(column.name, ID_WORDS) and apart >= (0.1 if present >= ID_ROWS else 0.9):
        return Role.IDENTIFIER, [f"the name says an identifier, and {share_text(apart)} of its values differ"]
    if distinct <= 1:
        return Role.INSENSITIVE, ["one value only: it tells nobody apart"]
    given = None
    if column.kind is Kind.NUMERIC and column.places is not None and not (known or column.published):
        given = numbers_people(column.places, column.counts[: len(column.places)])
    if given is not None:
        return Role.IDENTIFIER, [given]
    if apart >= NEAR_UNIQUE and present >= ID_ROWS and not known and _like_numbers_of_people(column):
        return Role.IDENTIFIER, [f"{share_text(apart)} of its values differ: nearly every row has its own"]
    if extra := extra_key(column):
        return Role.QUASI_IDENTIFIER, [f"the name says a {extra}; until a human says so it may single people out"]
    if known:
        return Role.QUASI_IDENTIFIER, ["the name says what others may know of a person"]
    return Role.QUASI_IDENTIFIER, ["nothing says that others cannot know it"]


def is_birth(column: Column) -> bool:
    """Whether a column holds days of birth: by its name, or because its days span lives and are no stay's."""
    if column.kind is not Kind.DATE or column.published or column.places is None:
        return False
    if hinted(column.name, BIRTH_WORDS):
        return True
    few = column.rows - column.missing < ID_ROWS or len(column.places) < MANY
    if few or hinted(column.name, f"{ADMISSION_WORDS} {DISCHARGE_WORDS}"):
        return False
    below = np.cumsum(column.counts[: len(column.places)])
    low, high = column.places[np.searchsorted(below, np.array([0.05, 0.95]) * below[-1])]
    return bool(high - low > LIVES)


def _numbers_rows(column: Column, present: int) -> bool:
    """Whole numbers from 0 or 1 on, each once, by the name of an index."""
    if column.kind is Kind.DATE or column.places is None or column.rows != present:
        return False
    if column.times == 1 and len(column.places) != present:
        return False
    named = re.fullmatch(r"(unnamed: ?\d+|index|level_\d+|__index_level_\d+__|rownames?)", column.name.strip().lower())
    starts = present > 1 and column.places[0] in (0, 1) and column.places[-1] - column.places[0] == present - 1
    return bool(starts and named)


def _mostly_digits(texts: Sequence[str]) -> bool:
    """Amounts of money, with signs and marks of several kinds."""
    return all(sum(letter.isdigit() for letter in text) * 2 >= len(text.strip()) for text in texts)


def extra_key(column: Column) -> str | None:
    """The key of schema.toml that the column's name suggests, if its values allow it."""
    if column.kind is not Kind.NUMERIC or column.places is None or column.places[0] <= 0 or column.missing:
        return None
    if hinted(column.name, FREQUENCY_WORDS) and not (column.places % 1).any():
        return "frequency"
    return "weight" if hinted(column.name, WEIGHT_WORDS) else None


def _like_numbers_of_people(column: Column) -> bool:
    """Texts, or whole numbers without gaps, or long whole numbers of one length; not measurements."""
    if column.places is None:
        return True
    if column.kind is Kind.DATE or (column.places % 1).any():
        return False
    low, high = column.places[0], column.places[-1]
    return bool(
        high - low < 1.2 * len(column.places) * column.times
        or (low >= 1e6 and len(str(int(low))) == len(str(int(high))))
    )


def searched_sets(
    columns: list[Column], evidence: list[ColumnEvidence], joint: Callable[[list[int]], JointRows | None]
) -> tuple[tuple[SetEvidence, ...], str]:
    """Sets of these columns that single rows out, and which were looked at. `joint`: rows of columns by number."""
    alone = [SetEvidence((e.name,), e.distinctness, e.separation, e.uniqueness) for e in evidence]
    sizes = [len(column.counts) for column in columns]
    return search_sets(alone, columns[0].rows if columns else 0, sizes, joint)


def share_text(part: float) -> str:
    """A share in percent that does not round to none or all."""
    return "under 0.1%" if 0 < part < 0.001 else "over 99.9%" if 0.999 < part < 1 else f"{part:.1%}"
