"""Linkage by probability, as `unveil attack identity` asks for it: the worst case, the one told nothing, and Splink."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage.by_splink import estimate_by_splink
from unveil.risk.linkage.levels import (
    LevelAgreement,
    agreement_levels,
    level_counts,
    levels_of_rows,
    link_by_levels,
    own_levels,
)
from unveil.risk.linkage.links import Links
from unveil.risk.linkage.patterns import CodedFiles, pattern_counts, pattern_of
from unveil.risk.linkage.probabilistic import (
    Agreement,
    LinkageRule,
    classify,
    estimate_unsupervised,
    from_true_links,
    link_by_patterns,
)
from unveil.risk.linkage.published import Published, compare_values
from unveil.risk.linkage.register import Register

__all__ = ["ReaderLinks", "ask_probability"]


@dataclass(frozen=True, slots=True, eq=False)
class ReaderLinks:
    """One reader's links, or why there are none."""

    links: Links | None
    reason: str | None = None
    model: Agreement | LevelAgreement | None = None
    classes: LinkageRule | None = None
    pairs: dict[str, int] = field(default_factory=dict)  # in each class, and true links among them
    remark: str | None = None


def ask_probability(
    published: Published, held: Register, *, false_links: float, missed_links: float, splink: bool, engine: Engine
) -> dict[str, ReaderLinks]:
    """The worst case, whose m come from the true links, and those whom nobody tells anything."""
    if published.count is not None:
        return _by_levels(published, held, false_links, missed_links, splink)
    own = published.true_rows(held)
    asked = ("probabilistic", "unsupervised", *(("splink",) if splink else ()))
    try:
        files = compare_values(published, held)
        counts = pattern_counts(files)
    except NotApplicable as reason:
        return dict.fromkeys(asked, ReaderLinks(None, str(reason)))
    found = {"probabilistic": ReaderLinks(None, "its m are those of the true links, and nothing says which these are")}
    models: dict[str, Agreement] = {}
    remarks: dict[str, str] = {}
    if own is not None and (own >= 0).any():
        models["probabilistic"] = from_true_links(files, own)
    # Nearly all pairs are not links, so that u is theirs; whoever holds people of the table expects one row for each.
    each = np.array([counts[np.arange(len(counts)) >> bit & 1 == 1].sum() for bit in range(files.attributes)])
    share = min(held.people, published.rows) / float(counts.sum())
    models["unsupervised"] = estimate_unsupervised(counts, share=share, u=each / counts.sum(), fixed_share=True)
    if splink:
        try:
            estimate = estimate_by_splink(files, counts, share=share, engine=engine)
            models["splink"] = estimate.model
            remarks["splink"] = estimate.remark([a.name for a in published.attributes])
        except NotApplicable as reason:
            found["splink"] = ReaderLinks(None, str(reason))
    for reader, model in models.items():
        classes = classify(model, false_links=false_links, missed_links=missed_links)
        try:
            links = link_by_patterns(files, model, classes, true_row=own)
        except NotApplicable as reason:
            found[reader] = ReaderLinks(None, str(reason))
            continue
        pairs = _pairs(files, counts, classes, own)
        found[reader] = ReaderLinks(links, None, model, classes, pairs, remarks.get(reader))
    return {reader: found[reader] for reader in asked}


def _pairs(
    files: CodedFiles, counts: NDArray[np.int64], classes: LinkageRule, own: NDArray[np.int64] | None
) -> dict[str, int]:
    if own is None:
        return _called(counts, classes, None)
    there = np.flatnonzero(own >= 0)
    return _called(counts, classes, pattern_of(files, files.of_person[there], files.of_row[own[there]]))


def _called(counts: NDArray[np.int64], classes: LinkageRule, true: NDArray[np.int64] | None) -> dict[str, int]:
    """Pairs called link, clerical and none; and, with the patterns of true links, how many of each are links."""
    called = {"link": 2, "clerical": 1, "no_link": 0}
    found = {word: int(counts[classes.of_pattern == number].sum()) for word, number in called.items()}
    if true is not None:
        found |= {f"true_{word}": int((classes.of_pattern[true] == number).sum()) for word, number in called.items()}
    return found


def _by_levels(
    published: Published, held: Register, false_links: float, missed_links: float, splink: bool
) -> dict[str, ReaderLinks]:
    """Cells that are sets: m as rows show them, which needs no true links."""
    try:
        files = agreement_levels(published, held)
        counts = level_counts(files)
    except NotApplicable as reason:
        return dict.fromkeys(("probabilistic", "unsupervised"), ReaderLinks(None, str(reason)))
    model = levels_of_rows(files, counts)
    classes = classify(model, false_links=false_links, missed_links=missed_links)
    links = link_by_levels(files, model, classes)
    true = own_levels(files)
    remark = None
    if links.chance is None:
        remark = (
            "Some people fit cells of unlike size, and nothing says which is theirs: whether the heavier one is right "
            "is unknown without --assignment."
        )
    pairs = _called(counts, classes, None if true is None else true[true >= 0])
    told = "published sets hold the truth, so that how often links agree need not be estimated"
    found = {
        "probabilistic": ReaderLinks(links, None, model, classes, pairs, remark),
        "unsupervised": ReaderLinks(None, told),
    }
    if splink:
        found["splink"] = ReaderLinks(None, "it compares values, and the published cells are sets of them")
    return found
