"""A draft as schema.toml: the evidence as comments, and the domains that the values suggest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, Role, canonical
from unveil.data.draft.columns import Column
from unveil.data.draft.roles import ColumnEvidence, ProjectColumn, extra_key, share_text
from unveil.data.draft.sets import SetEvidence
from unveil.data.draft.words import KEY_WORDS, NO_KEY_WORDS, hinted
from unveil.data.hierarchy import csv_field, number_text, plain_name
from unveil.data.toml import toml_array, toml_key, toml_string
from unveil.errors import shown

__all__ = ["Drafted", "draft_files"]

MOST_VALUES = 10_000  # categories that are listed
MOST_LISTED = 30  # of them in the schema itself; more stand in a file beside it
SETS_LISTED = 5
MOST_NUMBERS = 1_000  # numbers or dates listed one by one
MOST_STEPS = {Kind.NUMERIC: 10_000, Kind.DATE: 50_000}  # values of a domain given by its ends
FULL_ENOUGH = 0.1  # share of the values between the ends that must occur
BINS = 20
QUESTIONS = (
    "# Three things that only you can know. Take the # off and answer; an audit prints what is left open.",
    '# membership = "sensitive"  # or "harmless": would it hurt somebody if others knew that they are in this table?',
    "# earlier_releases = []  # files published earlier about these people; [] if there are none",
    '# population_register = "available"  # or "none": may a recipient hold a list of everybody who could be in it?',
)


def _spread_text(spread: ColumnEvidence | SetEvidence) -> str:
    return (
        f"distinctness {share_text(spread.distinctness)}, separation {share_text(spread.separation)}, "
        f"unique rows {share_text(spread.uniqueness)}"
    )


@dataclass(frozen=True, slots=True)
class Drafted:
    """A column on its way into the schema."""

    column: Column
    evidence: ColumnEvidence
    prepare: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    told: ProjectColumn | None = None


def draft_files(
    name: str,
    drafted: Sequence[Drafted],
    sets: tuple[SetEvidence, ...],
    search: str,
    listed: Sequence[str],
    folder: str | None,
) -> tuple[str, dict[str, str]]:
    """The schema as text, and the files beside it."""
    told = any(d.told is not None for d in drafted)
    tokens = _tokens(drafted, listed)
    lines = [
        f"# Drafted from {shown(name)}, {drafted[0].column.rows:,} rows. "
        + (
            "Roles are as there, the evidence beside them."
            if told
            else "Every role is a guess, its evidence beside it."
        ),
        "# Read them, correct them, then set confirmed = true. The values of the domains are those of the data.",
        "version = 1",
        "confirmed = false",
    ]
    if tokens:
        said = [f"{shown(token, 30)} {rows:,} rows" for token, rows in tokens.items() if rows]
        lines += [f"# found, and read as missing: {', '.join(said)}"] if said and not told else []
        lines.append(f"missing = {toml_array([toml_string(token) for token in tokens])}")
    for each in drafted:
        lines.extend(_extra_lines(each.column))
    lines += ["", *QUESTIONS]
    if sets:
        lines += ["", f"# Rows that few quasi-identifiers single out, worst first ({search}):"]
        lines += [f"#   {' + '.join(map(toml_key, s.names))}: {_spread_text(s)}" for s in sets[:SETS_LISTED]]
    if not told and any(d.evidence.role is Role.IDENTIFIER for d in drafted):
        lines += [
            "",
            "# Identifiers are never released. To release one, give it another role; if its texts point at people,",
            '# also release = true and reason = "why this names nobody".',
        ]
    files: dict[str, str] = {}
    for each in drafted:
        lines += _attribute_lines(each, folder, files)
    return "\n".join(lines) + "\n", files


def _tokens(drafted: Sequence[Drafted], listed: Sequence[str]) -> dict[str, int]:
    """The tokens that occur, with their rows in columns that are released; the most frequent is written in releases."""
    rows: dict[str, int] = dict.fromkeys(listed, 0)
    for each in drafted:
        source = each.column.source
        kept = each.evidence.role is not Role.IDENTIFIER
        for text, times in zip(source.texts, source.rows.tolist(), strict=True):
            if text in each.column.tokens:
                rows[text] = rows.get(text, 0) + times * kept
    return {token: rows[token] for token in sorted(rows, key=lambda t: (t not in listed, -rows[t], t))}


def _attribute_lines(drafted: Drafted, folder: str | None, files: dict[str, str]) -> list[str]:
    column, found = drafted.column, drafted.evidence
    missing = f", {column.missing:,} missing" if column.missing else ""
    lines = [
        "",
        f"[attributes.{toml_key(column.name)}]",
        f"# {found.distinct:,} values{missing}: {_spread_text(found)}",
        *(f"# {reason}" for reason in found.reasons),
        *(f"# {note}" for note in drafted.notes if found.role is not Role.IDENTIFIER),
        f'role = "{found.role}"',
        f'kind = "{found.kind}"',
    ]
    if drafted.prepare and found.role is not Role.IDENTIFIER:
        lines.append(f"prepare = {_inline(drafted.prepare)}")
    domain = _domain(column, found, drafted.told)
    listed = [line for line in domain if line.startswith("domain = [")]
    values = _listed_values(column)
    if folder is not None and listed and len(values) > MOST_LISTED and "" not in values:
        path = f"{folder}/{_file_name(column.name, files)}"
        files[path] = "".join(f"{csv_field(value)}\n" for value in values)
        what = f"domain = {{ file = {toml_string(path)} }}  # {len(values):,} values"
        domain = [what if line in listed else line for line in domain]
    lines += domain
    if found.role is Role.IDENTIFIER and drafted.told is None and _shared(column, found):
        lines.append("shared = true  # different people may have the same: it does not tell people apart")
    if column.tokens and found.role is not Role.IDENTIFIER:
        withheld = f"  # if withheld rather than missing: say --cells {toml_key(column.name)}=suppressed"
        lines.append('missing = "category"' + (withheld if column.published else ""))
    return lines


def _shared(column: Column, found: ColumnEvidence) -> bool:
    """Names, addresses, dates and texts repeat among people; a number that repeats is a person with several rows."""
    if hinted(column.name, KEY_WORDS) and not hinted(column.name, NO_KEY_WORDS):
        return False
    return found.distinctness < 0.95 or column.kind is Kind.DATE


def _file_name(name: str, files: Mapping[str, str]) -> str:
    plain = plain_name(name)
    taken = {path.rpartition("/")[2].casefold() for path in files}
    found, number = f"{plain}.csv", 2
    while found.casefold() in taken:
        found, number = f"{plain}-{number}.csv", number + 1
    return found


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{toml_key(key)} = {_inline_value(value)}" for key, value in table.items()) + " }"


def _inline_value(value: object) -> str:
    if isinstance(value, Mapping):
        return _inline(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_inline_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else toml_string(str(value))


def _listed_values(column: Column) -> list[str]:
    """The values that a domain lists one by one."""
    if column.places is not None:
        return [canonical(float(place), column.kind) for place in column.places]
    return sorted(value for value in set(column.texts) - {"*"} if not column.published or value.strip("*"))


def _extra_lines(column: Column) -> list[str]:
    """A weight or a frequency is offered as a comment: a body's weight has the same name."""
    extra = extra_key(column)
    where = "if a row stands for that many people" if extra == "frequency" else "if it is a sampling weight"
    take = f"take the # off, remove [attributes.{toml_key(column.name)}]"
    return [f"# {extra} = {toml_string(column.name)}  # {where}: {take}"] if extra else []


def _domain(column: Column, found: ColumnEvidence, told: ProjectColumn | None) -> list[str]:
    if found.role is Role.IDENTIFIER:
        return []
    if told is not None and told.hierarchy is not None:
        return [f"hierarchy = {toml_string(told.hierarchy)}"]
    if column.places is not None:
        return _measured_domain(column, column.places, found.role)
    if column.kind.measured:
        ends = "from = 1900-01-01, to = 2030-12-31" if column.kind is Kind.DATE else "from = 0, to = 110"
        return [f"# domain = {{ {ends} }}  # the true ends; without it the domain is what the cells show"]
    if column.masked:
        return ["# some cells are masked: list the domain, or add a hierarchy; else it is what the cells show"]
    if column.several:
        option = f"--cells {toml_key(column.name)}=list"
        return [f"# some cells hold several values: list the domain; else it is what they show: say {option}"]
    values = sorted(set(column.texts) - {"*"})
    starred = any(not text.strip("*") for text in column.texts)
    if column.published and starred:
        values = [value for value in values if value.strip("*")]
        if len(values) + bool(column.tokens) < 2:  # then `*` would be that one value
            return ["# domain = [ ]  # list what can be: the cells show too little to say what * may stand for"]
    lines = (
        ["# '*' is among the values, but means the whole domain: rename it in the data"]
        if "*" in column.texts and not column.published
        else []
    )
    if len(values) > MOST_VALUES:
        return [
            *lines,
            f"# over {MOST_VALUES:,} values: the domain is taken from the data; is it an identifier, or free text?",
        ]
    return [*lines, f"domain = {toml_array([toml_string(v) for v in values])}"] if values else lines


def _measured_domain(column: Column, places: NDArray[np.float64], role: Role) -> list[str]:
    """By its ends if few values between them are absent; listed if few; else in bins."""

    def written(place: float) -> str:
        return canonical(float(place), column.kind)

    step = _step(places)
    steps = (places[-1] - places[0]) / step + 1 if step else np.inf
    most = MOST_NUMBERS if role is Role.SENSITIVE and column.kind is Kind.NUMERIC else MOST_STEPS[column.kind]
    ends = f"from = {written(places[0])}, to = {written(places[-1])}"
    if len(places) > 1 and step and steps <= most and (steps <= 100 or len(places) >= FULL_ENOUGH * steps):
        return [f"domain = {{ {ends}, step = {number_text(step)} }}"]
    if len(places) <= MOST_NUMBERS:
        return [f"domain = {toml_array([written(p) for p in places])}"]
    # A step that is not a whole number keeps the bins from being read as bins of whole numbers.
    return [
        f"# {len(places):,} different values: bins of about equally many rows; move the cuts to where you want them",
        f"domain = {{ {ends}, step = {number_text(step or 1e-7)} }}",
        f"bins = {toml_array([written(c) for c in _cuts(places, column.counts[: len(places)], column.kind)])}",
    ]


def _step(places: NDArray[np.float64]) -> float | None:
    """The largest step on which all places lie, if they have at most six decimals."""
    if np.abs(places).max() >= 2**53:
        return None
    for decimals in range(7):
        scaled = np.round(places * 10.0**decimals)
        if np.abs(scaled).max() < 2**53 and np.array_equal(scaled / 10.0**decimals, places):
            return float(np.gcd.reduce(np.diff(scaled.astype(np.int64)))) / 10.0**decimals or 1.0
    return None


def _cuts(places: NDArray[np.float64], counts: NDArray[np.int64], kind: Kind) -> list[float]:
    """Quantiles as cuts, rounded where they are numbers; of the values alone if most rows share one."""
    shares = np.arange(1, BINS) / BINS
    for weight in (counts, np.ones(len(places))):
        reached = np.cumsum(weight)
        cuts = np.unique(places[np.searchsorted(reached, shares * reached[-1])])
        cuts = cuts[cuts > places[0]]
        if kind is Kind.NUMERIC and np.abs(places).max() < 2**53:
            # As many digits as tell a cut from the one before.
            digits = -np.floor(np.log10(np.diff(cuts, prepend=places[0]))).astype(int)
            digits = digits if (places % 1).any() else np.minimum(digits, 0)
            cuts = np.unique([round(cut, most) for cut, most in zip(cuts.tolist(), digits.tolist(), strict=True)])
            cuts = cuts[(cuts > places[0]) & (cuts <= places[-1])]
        if len(cuts) >= 3:
            break
    return cuts.tolist() if len(cuts) else [float(places[len(places) // 2])]
