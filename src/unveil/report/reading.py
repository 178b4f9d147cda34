"""A document as the sections read it: checked, with the names it is shown by, and its findings as cells of tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import ValidationError

from unveil.audit.document import Document, Finding, FindingId
from unveil.audit.limits import parse_limit, worst
from unveil.audit.measures import measure, parse_id, title_of
from unveil.audit.numbers import interval, spoken
from unveil.errors import UsageError
from unveil.report.blocks import Cell, Grid, merged, num
from unveil.report.wording import SIGNS, distinct_labels, label, reader_name

__all__ = [
    "Names",
    "about",
    "baseline_text",
    "ids_grid",
    "limit_words",
    "meaning",
    "names_of",
    "read_document",
    "releases_head",
    "title_cell",
    "value_cell",
    "verdict_cell",
    "verdict_of",
]

KINDS = get_args(Document.model_fields["document"].annotation)
_RELATION = {"<=": "at most", "<": "below", ">=": "at least", ">": "above"}
_MISSING = num("–")


def read_document(document: Document | dict[str, Any]) -> Document:
    """A document of any kind, or one line that says what is wrong with it."""
    if isinstance(document, Document):
        return document
    try:
        return Document.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "document"
        raise UsageError(
            f"not a document of unveil: {label(place)}: {label(first['msg'])}; give what --json wrote "
            f"({', '.join(KINDS)})"
        ) from None


@dataclass(frozen=True, slots=True)
class Names:
    """Releases (or sanitizers, or points) and readers of a document, with the labels they are shown by."""

    releases: tuple[str, ...]
    readers: tuple[str, ...]
    least: int  # smaller counts are withheld in documents for others
    shown: dict[str, str] = field(default_factory=dict)  # release → label
    attributes: frozenset[str] = frozenset()  # that readers were asked about

    @property
    def several(self) -> bool:
        return len(self.releases) > 1

    def of(self, release: str) -> str:
        """The label of a release, also of one that the settings do not name."""
        return self.shown.get(release, label(release))

    def only(self, release: str) -> str:
        """The label of a release where there are several of them."""
        return self.of(release) if self.several else ""


def names_of(document: Document) -> Names:
    """The releases in the order given, the readers in the order they ran."""
    settings = document.settings
    given = settings.get("releases") or settings.get("sanitizers")
    releases = list(given or dict.fromkeys(f.release for f in document.findings))
    readers = [r["reader"] for r in document.diagnostics.get("readers", ())]
    return Names(
        releases=tuple(releases),
        readers=tuple(dict.fromkeys([*readers, *settings.get("attackers", ())])),
        least=int(settings.get("least_count") or 10),
        shown=dict(zip(releases, distinct_labels(releases), strict=True)),
        attributes=frozenset(f.attribute for f in document.findings if f.attribute and f.reader),
    )


def verdict_of(document: Document) -> str:
    """The verdict of the whole document."""
    return str(document.diagnostics.get("verdict") or worst(f.verdict for f in document.findings))


def verdict_cell(verdict: str) -> Cell:
    """A verdict with its sign: never by colour alone."""
    return Cell(f"{SIGNS[verdict]} {verdict}", kind=f"verdict {verdict.replace(' ', '-')}")


def value_cell(finding: Finding | None, *, baseline: bool = False) -> Cell:
    """A finding's value with its interval under it, or instead of that its baseline."""
    if finding is None:
        return _MISSING
    name = finding.measure, finding.statistic
    small = interval(finding.low, finding.high, *name)
    if baseline and finding.baseline is not None:
        small = f"baseline {baseline_text(finding)}"
    return num(spoken(finding.value, *name), small)


def baseline_text(finding: Finding) -> str:
    """The baseline in the unit of the value."""
    return "–" if finding.baseline is None else spoken(finding.baseline, finding.measure, finding.statistic)


def meaning(name: str) -> str:
    """What a measure says, and where it comes from."""
    known = measure(name)
    return " ".join(filter(None, (known.words, f"{known.source}." if known.source else "", f"See {known.page}.")))


def title_cell(part: FindingId, more: str = "") -> Cell:
    """A measure's title with its hint."""
    known = measure(part.measure)
    hint = known.hint if part.statistic is None else known.hints.get(part.statistic, "")
    return Cell(label(title_of(part)) + more, hint, meaning=meaning(part.measure))


def about(finding: Finding, names: Names) -> str:
    """Release, attribute and reader of a finding, as far as they say anything."""
    alone = finding.reader is not None and len(names.attributes) == 1
    parts = [names.only(finding.release), "" if alone else label(finding.attribute or "")]
    if finding.reader == "known":
        parts.append(f"{label(finding.statistic)} known")
    elif finding.reader is not None:
        parts.append(reader_name(finding.reader))
    return " · ".join(filter(None, parts)) or "–"


def limit_words(finding: Finding) -> str:
    """`at most 9.0%`: the limit in the unit of the value beside it."""
    found = []
    for text in (finding.limit or "").split("; "):
        try:
            limit = parse_limit(text)
        except UsageError:  # a document may hold the limits of another version
            continue
        found.append(f"{_RELATION[limit.sign]} {spoken(limit.number, finding.measure, finding.statistic)}")
    return ", ".join(found)


def releases_head(names: Names, alone: str = "Value") -> tuple[Cell, ...]:
    """One column a release; of a single one the heading says what stands below."""
    return tuple(num(c) for c in ([names.of(r) for r in names.releases] if names.several else [alone]))


def ids_grid(
    title: str,
    document: Document,
    names: Names,
    ids: Iterable[str],
    *,
    alone: str = "Value",
    apart: bool = False,
    baseline: bool = False,
) -> Sequence[Grid]:
    """One row a measure and attribute, one column a release; no grid where nothing was found.

    `apart`: the attribute stands in a column of its own.
    """
    places = {(f.id, f.attribute, f.release): f for f in document.findings}
    rows: list[tuple[Cell, ...]] = []
    for id in dict.fromkeys(ids):
        attributes = dict.fromkeys(a for known, a, _ in places if known == id)
        for attribute in attributes:
            cells = (value_cell(places.get((id, attribute, r)), baseline=baseline) for r in names.releases)
            named = attribute and not apart and len(attributes) > 1
            first = title_cell(parse_id(id), f" · {label(attribute)}" if named else "")
            rows.append((first, *((Cell(label(attribute or "–")),) if apart else ()), *cells))
    head = (Cell("Measure"), *((Cell("Of"),) if apart else ()), *releases_head(names, alone))
    return [Grid(title, head, merged(rows, [0]), fixed=1 + apart)] if rows else []
