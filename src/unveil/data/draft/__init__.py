"""Drafting a schema from a table: kinds, frozen domains, suggested roles, and the evidence for each.

A draft decides nothing: it says `confirmed = false`, and commands that need roles refuse it until a human set it true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unveil.data.attribute import Role
from unveil.data.draft.columns import read_column
from unveil.data.draft.file import draft_toml
from unveil.data.draft.roles import ColumnEvidence, ProjectColumn, extra_key, searched_sets, weigh
from unveil.data.draft.sets import SetEvidence
from unveil.data.table import CodedColumn
from unveil.errors import TableError

__all__ = ["MISSING_TOKENS", "ColumnEvidence", "Draft", "ProjectColumn", "SetEvidence", "draft_schema"]

MISSING_TOKENS = ("?", "", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", ".")


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema nobody has confirmed yet, as text, with what it was drawn from."""

    toml: str
    evidence: tuple[ColumnEvidence, ...]
    sets: tuple[SetEvidence, ...]  # of suggested quasi-identifiers, worst first
    search: str  # which sets were looked at


def draft_schema(
    columns: Mapping[str, CodedColumn],
    *,
    name: str,
    decimal: str = ".",
    missing: Sequence[str] = MISSING_TOKENS,
    told: Mapping[str, ProjectColumn] | None = None,
    published: bool = False,
    listed: Sequence[str] = (),
) -> Draft:
    """Draft schema.toml for a table of texts. Of the `missing` tokens those that occur are kept, and those `listed`.

    `told` is what a human already said in another tool: it stands instead of the guesses. `published`: the table is a
    release, so that `20-29` is an interval and no value.

    Cost: a few passes over each column's distinct texts, one over its rows, and at most SET_ROWS rows for the sets.
    """
    if not columns or not len(next(iter(columns.values())).text_of_row):
        raise TableError(f"{name}: holds no rows; a schema is drafted from data")
    tokens = frozenset(missing)
    read = [read_column(key, column, decimal, tokens, published) for key, column in columns.items()]
    told = told or {}
    evidence = tuple(weigh(column, told.get(column.name)) for column in read)
    pool = [i for i, e in enumerate(evidence) if e.role is Role.QUASI_IDENTIFIER and not extra_key(read[i])]
    sets, search = searched_sets([read[i] for i in pool], [evidence[i] for i in pool])
    return Draft(draft_toml(name, read, evidence, sets, search, told, listed), evidence, sets, search)
