"""What is already out: this release alone, beside this release together with the earlier ones."""

from collections.abc import Mapping
from typing import Any

from unveil.audit.document import Document, Finding
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED, title_of
from unveil.audit.numbers import share
from unveil.report.blocks import Block, Cell, Grid, Heading, Listing, Paragraph, num
from unveil.report.reading import Names, value_cell
from unveil.report.wording import clean, label, listed

__all__ = ["composition"]

BESIDE = {COMPOSED: "random_worlds", COMPOSED_LEARNED: "bayesian"}  # who reads in the same way, but one release
SHOWN = ("global_threat", "disclosed.80", "disclosed.95", "misled.80")
COUNTED = ("crossing_alone", "one_value_left", "differenced", "newly_sure", "releases_needed")
WORDS = (
    "Readers of all releases at once: everybody's rows are found in each release by what is known of them, and every "
    "group limits which values its members can have together. Nothing learned, or what the release teaches of people "
    "in general."
)


def composition(document: Document, names: Names) -> list[Block]:
    """Alone and together, what was combined and how, and which releases it takes."""
    found = document.diagnostics.get("composition") or {}
    blocks: list[Block] = []
    for release, by_attribute in found.items():
        for attribute, facts in by_attribute.items():
            rows = tuple(_rows(document, release, attribute))
            place = filter(None, ("Alone and together", names.only(release), label(attribute)))
            head = (Cell(""), num("This release alone"), num("With what is already out"))
            blocks += [Grid(" · ".join(place), head, rows)] if rows else []
            blocks.append(Listing(tuple(_facts(facts)), "facts"))
            if sets := facts.get("minimal_sets"):
                blocks.append(_sets(sets, complete=bool(facts.get("every_subset", True))))
    if not blocks:
        return []
    return [Heading("With what is already out", id="composition"), Paragraph(WORDS, "quiet"), *blocks]


def _rows(document: Document, release: str, attribute: str) -> list[tuple[Cell, ...]]:
    mine = {f.id: f for f in document.findings if f.release == release and f.attribute == attribute and f.minus is None}
    rows: list[tuple[Cell, ...]] = []
    for reader, alone in BESIDE.items():
        for name in SHOWN:
            together = mine.get(f"{reader}.{name}")
            if together is not None:
                learned = "learned" if reader == COMPOSED_LEARNED else "nothing learned"
                before = value_cell(mine.get(f"{alone}.{name}"))
                rows.append((Cell(title_of(together), learned), before, value_cell(together)))
    for name in COUNTED:
        if (counted := mine.get(name)) is not None:
            rows.append((Cell(title_of(counted)), num(_baseline(counted)), value_cell(counted)))
    return rows


def _baseline(finding: Finding) -> str:
    return share(finding.baseline) if isinstance(finding.baseline, float) else "–"


def _facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for one in facts["earlier"]:
        said = [f"{one['rows']:,} rows", f"{one['people']} people"]
        said += [] if one["shared"] is None else [f"{one['shared']:,} shared"]
        said += [f"values changed with probability {one['changed']:g}"] if one["changed"] else []
        said += [] if one["date"] is None else [str(one["date"])]
        found.append((label(one["name"]), clean(", ".join(said))))
    found += [
        (label(name), f"not combined, or not wholly: {clean(why, 300)}") for name, why in facts["left_out"].items()
    ]
    if together := facts.get("in_common"):
        found.append(("Rows put together by", listed(together)))
    if "rounds" not in facts:
        return found
    exact, people = facts["exact"], facts["people"]
    found.append(("Exact", f"{'few' if exact is None else f'{exact:,}'} of {people:,} people"))
    if exact != people:
        state = "settled" if facts["settled"] else "did not settle"
        found.append(("Propagation", f"{state} after {facts['rounds']} rounds; last change {facts['change']:.1g}"))
    if facts["agreement"] is not None:
        found.append(("Flat and learned agree", share(facts["agreement"])))
    if (check := facts["sampled_check"]) is not None and check["people"]:
        found.append(("Sampled matchings", f"{check['gap']:.3f} from beliefs, over {check['people']:,} people"))
    return found


def _sets(sets: list[Mapping[str, Any]], *, complete: bool) -> Grid:
    rows = tuple(
        (
            Cell(listed(one["releases"]) or "this release alone"),
            num("few" if one["people"] is None else f"{one['people']:,}"),
        )
        for one in sets
    )
    title = "Fewest earlier releases that make a reader sure" + ("" if complete else "; larger sets were not tried")
    return Grid(title, (Cell("With"), num("People")), rows)
