"""What a reader of an audit must bear in mind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unveil.attackers.posterior.contract import ENDED
from unveil.audit.asking import Answers, guessed_right
from unveil.audit.belief_measures import MOST_VALUES
from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.audit.identity import in_population
from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.risk.sampling import below_baseline

__all__ = ["count_words", "remarks_of_answers", "remarks_of_baselines", "remarks_of_panel", "remarks_of_release"]

MOST_NAMES = 20  # attributes that a remark names


def remarks_of_release(case: Case, name: str) -> Iterator[str]:
    """What a reader of the report must bear in mind about one release."""
    release = case.releases[name]
    published = {a.name for a in release.attributes}
    if case.original is not None:
        absent = [a.name for a in case.original.attributes if a.name not in published]
        if absent:
            yield f"{name} does not publish {_named(absent)}."
        if case.original.rows != release.rows:
            yield f"{name} has {release.rows:,} rows, the original {case.original.rows:,}."
        yield from _more_missing(case, case.original, name, release)
    unpublished = [n for n in case.readers.known or () if n not in published]
    if unpublished:
        yield f"{name}: {', '.join(unpublished)} is known of people but not published, so it tells nobody anything."
    if release.with_role(Role.QUASI_IDENTIFIER) and not release.with_role(Role.SENSITIVE):
        yield (
            f"{name} has no sensitive attribute: each quasi-identifier that is published in single values was asked "
            "about in turn, the others being known."
            if case.asked is None
            else f"{name} has no sensitive attribute: readers know all but one attribute of a person, and were asked "
            f"about {', '.join(case.asked)} in turn."
        )
    if not release.with_role(Role.QUASI_IDENTIFIER):
        yield f"{name} publishes no quasi-identifier: nobody can be told from another."
    if case.population is not None:
        people = in_population(release, case.population)
        if people is None:
            yield f"{name}: its quasi-identifiers are published in several blocks; the population was not looked at."
        elif short := int((people < release.class_sizes()).sum()):
            yield (
                f"{name}: {count_words(short, case.least)} classes have more rows than people of the population who "
                "fit them; the population file does not hold everyone, and their rows are counted instead."
            )
    observed = [a.name for a in release.attributes if a.source in ("original", "release")]
    if observed:
        yield f"{name}: the domain of {_named(observed)} is what the data shows; declare it, for it changes beliefs."
    if case.original is None and sum(_holds_known(release, b.attributes) for b in release.blocks) > 1:
        yield f"{name}: the link between blocks is hidden; a person is asked about by the cells of one block only."


def _more_missing(case: Case, table: Table, name: str, release: Release) -> Iterator[str]:
    """Attributes that say "missing" of more rows than the original does: another tool's NA may be a withheld value."""
    for index, attribute in enumerate(release.attributes):
        if not attribute.missing or attribute.name not in {a.name for a in table.attributes}:
            continue
        block, absent = release.block_of(index), attribute.codes - 1
        says = int(block.count[release.regions[index].single()[block.region(index)] == absent].sum())
        original = int((table.columns[table.index(attribute.name)] == absent).sum())
        if says > original:
            counts = [count_words(count, case.least) for count in (says, original)]
            yield (
                f"{name}, {attribute.name}: {counts[0]} rows say that it is missing, of the original {counts[1]}; "
                f"if the others were withheld, say --cells {attribute.name}=suppressed."
            )


def _named(attributes: Sequence[str]) -> str:
    """Their names, the first few of very many."""
    if len(attributes) <= MOST_NAMES:
        return ", ".join(attributes)
    return f"{', '.join(attributes[: MOST_NAMES - 5])} and {len(attributes) - MOST_NAMES + 5} other attributes"


def _holds_known(release: Release, attributes: Sequence[int]) -> bool:
    return any(release.attributes[i].role is Role.QUASI_IDENTIFIER for i in attributes)


def remarks_of_answers(case: Case, name: str, found: Answers) -> Iterator[str]:
    people = len(found.learner.probability)
    about = f"{name}, {found.attribute.name}"
    if found.unplaced:
        yield (
            f"{about}: {count_words(found.unplaced, case.least)} of {people:,} people fit no row; of them every "
            "attacker believes what the learner does."
        )
    if found.controls is not None:
        controls = len(found.controls.truth)
        yield (
            f"{about}: {count_words(found.controls.unplaced, case.least)} of {controls:,} control people fit no row; "
            "of them every attacker believes what the learner does."
        )
    if found.attribute.codes > MOST_VALUES:
        most = f"the {MOST_VALUES} most frequent of {found.attribute.codes:,} values"
        yield f"{about}: only {most} have findings of their own."
    readers = {"learner": found.learner, **found.attackers}
    sampled = {
        n: b
        for n, b in readers.items()
        if not b.exact and b.diagnostics.method != "exact" and "repeats" not in b.diagnostics.facts
    }
    unseen = [n for n, b in sampled.items() if b.diagnostics.r_hat is None]
    if unseen:
        yield (
            f"{about}: R-hat is not known ({', '.join(unseen)}): too little was drawn, or memory allows no batches of "
            "draws. That chains agree was judged by their means alone; fewer attributes or people make room."
        )
    if early := [n for n, b in readers.items() if ENDED in b.diagnostics.facts]:
        yield (
            f"{about}: a limit is surely exceeded, so chains ended early ({', '.join(early)}): figures have wide "
            "intervals, and limits that they may keep are open. --precision 0.003 asks for more digits."
        )
    levels = max(float(b.diagnostics.facts.get("levels", 0)) for b in readers.values())
    if "readings" not in found.learner.diagnostics.facts:
        if levels > 1 or found.learner.diagnostics.method == "integrated":
            yield f"{about}: one reading of the release fits it; none that was met beside it has 2% of the posterior."
        elif levels == 1:
            yield (
                f"{about}: whether several readings of the release fit it was tried from several starts alone, for it "
                "has too many values for chains at several temperatures."
            )
    for fact in ("readings", "alarm"):  # of the chains that readers share
        said = dict.fromkeys(str(b.diagnostics.facts[fact]) for b in readers.values() if fact in b.diagnostics.facts)
        yield from (f"{about}: {text}." for text in said)
    if found.truth is not None:
        right = {name: guessed_right(belief, found.truth) for name, belief in readers.items()}
        less = {name: right[name] for name in ("learner", "random_worlds") if name in right}
        for name in (n for n, b in readers.items() if not b.exact and "alarm" not in b.diagnostics.facts):
            said_less = "" if name in less else below_baseline(right[name], **less)
            if said_less:
                yield f"{about}: {name} {said_less}."
    if len(found.attribute.harmless) == found.attribute.codes:
        yield f"{about}: every value is harmless; gains in belief were not measured."


def remarks_of_panel(about: str, members: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Who of the panel is not trusted."""
    for member in members:
        if member["alarm"]:
            yield f"{about}: {member['reader']} may be wrong: {member['alarm']}."


def remarks_of_baselines(about: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Which learner relative threats are relative to: the one that leaves the larger."""
    fair = sorted(
        {str(f.reader) for f in findings if f.measure == "relative_threat" and f.against == "learner_without"}
    )
    if fair:
        yield (
            f"{about}: relative threats are the larger of two: beyond what the release teaches in general, and beyond "
            f"what it would teach if the person's own group were not in it. For {', '.join(fair)} the second is larger."
        )


def count_words(count: int, least: int) -> str:
    return f"fewer than {least}" if 0 < count < least else f"{count:,}"
