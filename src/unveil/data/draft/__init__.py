"""Drafting a schema from a table: kinds, frozen domains, suggested roles, and the evidence for each.

A draft decides nothing: it says `confirmed = false`, and commands that need roles refuse it until a human set it true.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date

from unveil.data.attribute import Kind, Role
from unveil.data.draft.columns import Column, read_column
from unveil.data.draft.file import Drafted, draft_files
from unveil.data.draft.proposals import Derived, Proposal, derived_columns, propose
from unveil.data.draft.roles import ColumnEvidence, ProjectColumn, extra_key, is_birth, searched_sets, weigh
from unveil.data.draft.sets import JointRows, SetEvidence
from unveil.data.draft.summary import MISSING_TOKENS, ColumnTexts, HeldRows, RowSource, RowValues
from unveil.data.preparation import CodedColumn
from unveil.data.texts import MISSING_WORDS
from unveil.errors import TableError

__all__ = ["MISSING_TOKENS", "ColumnEvidence", "Draft", "ProjectColumn", "SetEvidence", "draft_schema"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema nobody has confirmed yet, as text, with what it was drawn from."""

    toml: str
    evidence: tuple[ColumnEvidence, ...]
    sets: tuple[SetEvidence, ...]  # of suggested quasi-identifiers, worst first
    search: str  # which sets were looked at
    files: Mapping[str, str]  # domains of many values, by their path beside the schema

    def evidence_json(self, source: str, rows: int) -> str:
        """What the roles were suggested from, as a document: shares are of `rows`."""
        columns = [asdict(one) for one in self.evidence]
        held = {"document": "draft", "version": 1, "source": source, "rows": rows, "columns": columns}
        held |= {"sets": [asdict(one) for one in self.sets], "search": self.search}
        return json.dumps(held, indent=1, ensure_ascii=False) + "\n"


def draft_schema(
    columns: Mapping[str, CodedColumn] | Mapping[str, ColumnTexts],
    *,
    name: str,
    rows: RowSource | None = None,
    decimal: str = ".",
    missing: Sequence[str] = MISSING_TOKENS,
    told: Mapping[str, ProjectColumn] | None = None,
    published: bool = False,
    listed: Sequence[str] = (),
    folder: str | None = None,
    prepare: bool = True,
) -> Draft:
    """Draft schema.toml for a table of texts. Of the `missing` tokens those that occur are kept, and those `listed`.

    `told` is what a human already said in another tool: it stands instead of the guesses. `published`: the table is a
    release, so that `20-29` is an interval and no value. `rows`: who holds the rows, where
    `columns` are summaries. `folder`: where the files of domains with many values will stand, beside the schema;
    without it every domain stands in the schema. `prepare`: propose preparations, too.

    Cost: a few passes over each column's distinct texts, one over its rows, and at most SET_ROWS rows for the sets.
    """
    raw: dict[str, ColumnTexts] = {
        n: c if isinstance(c, ColumnTexts) else ColumnTexts.of(c) for n, c in columns.items()
    }
    if not raw or not next(iter(raw.values())).total:
        raise TableError(f"{name}: holds no rows; a schema is drafted from data")
    source = HeldRows(columns) if rows is None else rows  # type: ignore[arg-type]
    tokens = frozenset(missing) if published else frozenset(missing) | MISSING_WORDS
    told = told or {}
    as_it_is = published or bool(told) or not prepare
    proposals = {n: Proposal(c) if as_it_is else propose(n, c, tokens, decimal) for n, c in raw.items()}
    if marks := _marks(proposals.values()):
        tokens |= marks
        proposals = {n: propose(n, c, tokens, decimal) for n, c in raw.items()}
    read = {n: read_column(n, p.column, decimal, tokens, published) for n, p in proposals.items()}
    derived = {} if as_it_is else {d.name: d for d in _derived(raw, source, proposals, read)}
    read |= {n: read_column(n, d.column, decimal, tokens, False) for n, d in derived.items()}
    evidence = {n: weigh(column, told.get(n)) for n, column in read.items()}
    for made in derived.values():
        evidence[made.name] = replace(evidence[made.name], role=Role.QUASI_IDENTIFIER, reasons=(made.reason,))
        if evidence[made.source].role is not Role.SENSITIVE:
            why = f"not released: {made.name} is made of it, below"
            evidence[made.source] = replace(
                evidence[made.source], role=Role.IDENTIFIER, reasons=(why, *evidence[made.source].reasons)
            )
    pool = [n for n, e in evidence.items() if e.role is Role.QUASI_IDENTIFIER and not extra_key(read[n])]
    pool = [n for n in pool if read[n].times == 1]  # of a sample no row's value is known

    def joint(numbers: list[int]) -> JointRows | None:
        names = [pool[number] for number in numbers]
        return source.joint([_row_values(raw, read[n], derived.get(n, proposals.get(n))) for n in names])

    sets, search = searched_sets([read[n] for n in pool], [evidence[n] for n in pool], joint)
    drafted = [
        Drafted(
            column,
            evidence[n],
            derived[n].prepare if n in derived else proposals[n].prepare,
            () if n in derived else proposals[n].notes,
            told.get(n),
        )
        for n, column in read.items()
    ]
    toml, files = draft_files(name, drafted, sets, search, listed, folder)
    return Draft(toml, tuple(evidence.values()), sets, search, files)


def _marks(proposals: Iterable[Proposal]) -> frozenset[str]:
    """What stands for missing among numbers or dates and is no word, such as N/C: it does so in every column."""
    found = [word for proposal in proposals for word in proposal.prepare.get("missing", ())]
    return frozenset(word for word in found if not word.replace(" ", "").isalpha())


def _derived(
    raw: Mapping[str, ColumnTexts], source: RowSource, proposals: Mapping[str, Proposal], read: Mapping[str, Column]
) -> list[Derived]:
    """What is made of dates; the last day that the file knows but for births stands for the day of the export."""
    dates = {n: str(proposals[n].prepare.get("date", "yyyy-mm-dd")) for n, c in read.items() if c.kind is Kind.DATE}
    words = {n: list(proposals[n].prepare.get("missing", ())) for n in dates}
    births = frozenset(n for n in dates if is_birth(read[n]))
    events = [n for n in dates if n not in births]
    places = [places for n in events if (places := read[n].places) is not None and len(places)]
    latest = date.fromordinal(int(max(p[-1] for p in places))) if places else None
    tokens = sorted({token for n in dates for token in read[n].tokens})
    return derived_columns(raw, source, dates, births, words, tokens, latest)


def _row_values(raw: Mapping[str, ColumnTexts], column: Column, made: Proposal | Derived | None) -> RowValues:
    """How each row's value in a drafted column follows from the file's columns."""
    assert made is not None
    if isinstance(made, Derived) and made.make is not None:
        return RowValues(made.name, made.column.texts, column.value_of_text, made.make)
    source = made.source if isinstance(made, Derived) else column.name
    value = column.value_of_text if made.number is None else column.value_of_text[made.number]
    return RowValues(source, raw[source].texts, value)
