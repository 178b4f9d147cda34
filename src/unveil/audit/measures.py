"""The registry of measures: one record each, which everything that names, formats, compares or explains one reads."""

import difflib
import inspect
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal

from unveil.audit.document import Finding, FindingId
from unveil.errors import UsageError, shown
from unveil.privacy.models import MODELS

__all__ = [
    "COMPOSED",
    "COMPOSED_LEARNED",
    "PANEL",
    "READERS",
    "MeasureRecord",
    "definitions_of",
    "kind_of",
    "measure",
    "measures",
    "parse_id",
    "parse_ids",
    "reads",
    "stands_for",
    "title_of",
]

COMPOSED, COMPOSED_LEARNED = "composed", "composed_learned"  # who read all releases: nothing learned, and learned
PANEL = "panel"  # the kind of readers a little unlike the attackers: `panel:count=0.1`
# Who reads without being an attacker.
READERS = ("learner", "learner_without", "ideal", "background", "known", "all_columns", "other_secrets")
Kind = Literal[
    "inference",
    "identity",
    "membership",
    "background",
    "combination",
    "composition",
    "disclosure",
    "differential",
    "utility",
    "level",
]
_TITLES = {
    "delta_presence": {
        "min": "Share of the matching population in the table, smallest",
        "max": "Share of the matching population in the table, largest",
    }
}
_BETTER = {"less": -1, "neither": 0, "more": 1}


@dataclass(frozen=True, slots=True)
class MeasureRecord:
    """What a number is called, what it says, where it comes from, its unit, and which way is better."""

    name: str
    kind: Kind
    title: str
    words: str
    source: str
    page: str
    unit: Literal["share", "points", "times", "number"]
    better: int  # 1: more is safer or more useful; -1: less is; 0: neither
    of_readers: bool = False  # an attacker's beliefs have it
    hint: str = ""  # small print beside the title
    titles: Mapping[str, str] = field(default_factory=dict)  # by statistic; "*": any other, which stands for {}
    hints: Mapping[str, str] = field(default_factory=dict)

    def direction(self, statistic: str | None) -> int:
        """Which way is better, of one statistic: a skewness is neither."""
        return 0 if statistic == "skewness" else self.better

    def unit_of(self, statistic: str | None) -> str:
        """The unit of one statistic: a share of people is one whatever the measure's unit."""
        text = statistic or ""
        return "share" if text.startswith("share") else "number" if text == "skewness" else self.unit


@cache
def measures() -> Mapping[str, MeasureRecord]:
    """Every measure by its name; privacy models are measures too, described by their own docstring."""
    content = tomllib.loads(files("unveil.audit").joinpath("measures.toml").read_text(encoding="utf-8"))
    found = {
        name: MeasureRecord(name=name, **{**entry, "better": _BETTER[entry["better"]]})
        for name, entry in content.items()
    }
    for name, model in MODELS.items():
        line = (inspect.getdoc(model) or name).splitlines()[0]
        match = re.fullmatch(r"(.*) \((.*)\)\.?", line)  # the first line ends with its source
        words, source = (f"{match[1]}.", match[2]) if match else (line, "")
        better = 1 if model.higher_is_safer else -1
        page = f"docs/privacy-models.md#{name}"
        found[name] = MeasureRecord(
            name, "level", name, words, source, page, "number", better, titles=_TITLES.get(name, {})
        )
    return found


def measure(name: str) -> MeasureRecord:
    """One measure; one that nobody registered is its own title and has no direction."""
    return measures().get(name) or MeasureRecord(name, "utility", name, name, "", "docs/audit.md", "number", 0)


def parse_id(text: str) -> FindingId:
    """Read an id: the reader ends where a measure's name begins, so that readers may hold dots (`bayesian:k=0.5`)."""
    parts = text.strip().split(".")
    for place, part in enumerate(parts):
        reads = place + 1 < len(parts) and parts[place + 1] in measures()  # a reader by a measure's name: distance.reid
        if part in measures() and not reads:
            reader, statistic = ".".join(parts[:place]), ".".join(parts[place + 1 :])
            if re.search(r"\s", reader) or (" - " in statistic and not statistic.startswith("value:")):
                break
            return FindingId(reader=reader or None, measure=part, statistic=statistic or None)
    close = [name for part in parts for name in difflib.get_close_matches(part, measures(), n=3, cutoff=0.6)][:3]
    hint = f"; did you mean {' or '.join(close)}?" if close else "; docs/audit.md lists them"
    raise UsageError(f"unknown measure {shown(text)}{hint}")


def parse_ids(text: str) -> tuple[FindingId, ...]:
    """An id, or the two of a difference `ID - ID`. A value in an id may itself hold ` - `: sides must be measures."""
    fault: UsageError | None = None
    for sides in ((text,), *((text[: m.start()], text[m.end() :]) for m in re.finditer(r"\s+-\s+", text))):
        try:
            return tuple(map(parse_id, sides))
        except UsageError as error:
            fault = fault or error
    raise fault or UsageError(f"unknown measure {shown(text)}")


def kind_of(reader: str) -> str:
    """An attacker's name without its options: `bayesian` of `bayesian:membership=0.5`."""
    return reader.partition(":")[0]


def stands_for(part: FindingId, finding: FindingId, attackers: Collection[str]) -> bool:
    """Whether a finding is one that an id names: without a reader every attacker's and the panel's, by a kind all of
    that kind.

    A statistic that is left out stands for every combination of known attributes.
    """
    every = part.reader == "known" and part.statistic is None
    if part.measure != finding.measure or not (every or part.statistic == finding.statistic):
        return False
    if part.reader is None:
        return finding.reader is None or reads(finding.reader, attackers)
    if part.reader == finding.reader:
        return True
    kind = kind_of(finding.reader or "")
    return part.reader not in attackers and reads(finding.reader, attackers) and kind == part.reader


def reads(reader: str | None, attackers: Collection[str]) -> bool:
    """Whether a limit without a reader's name means this one: an attacker, or one of the panel."""
    return reader in attackers or kind_of(reader or "") == PANEL


def title_of(finding: FindingId) -> str:
    """What a finding is called on a page, without its reader."""
    found = measure(finding.measure)
    statistic = finding.statistic
    if statistic is None:
        return found.title
    words = statistic.removeprefix("value:").replace("_", " ")
    every = "" if statistic.startswith("value:") else found.titles.get("*", "")
    return found.titles.get(statistic) or every.format(words) or f"{found.title} · {words}"


def definitions_of(findings: Iterable[Finding]) -> dict[str, dict[str, str]]:
    """Words, source and page of every measure that occurs."""
    parts = [part for f in findings for part in (f, f.minus) if part is not None]
    return {
        name: {"words": (m := measure(name)).words, "source": m.source, "page": m.page}
        for name in dict.fromkeys(p.measure for p in parts)
    }
