"""What the measures of a masked release are: words, source and page."""

__all__ = ["MASKED_MEASURES"]

TORRA = "Torra 2024"
PAGE = "docs/disclosure.md"

# measure -> words, source, page
MASKED_MEASURES = {
    "rank_interval_disclosure": (
        "Share of people whose true number lies within this percentage of the ranks around the published one; the "
        "baseline is the share in the one such interval that holds most people.",
        TORRA,
        f"{PAGE}#rank_interval_disclosure",
    ),
    "deviation_interval_disclosure": (
        "Share of people whose published number lies within this percentage of the standard deviation of the true "
        "one; the baseline is the best single number for everybody.",
        TORRA,
        f"{PAGE}#deviation_interval_disclosure",
    ),
    "simple_disclosure": (
        "Share of people whose category is published as it is (SADR); the baseline is the most frequent category.",
        TORRA,
        f"{PAGE}#simple_disclosure",
    ),
    "model_disclosure": (
        "Share of people guessed right by a tree that learned from the masked rows, from true quasi-identifiers, all "
        "or the best so many; a number within 10% of a standard deviation. The baseline did not learn from the "
        "person's row.",
        f"{TORRA}, algorithms 9 and 10",
        f"{PAGE}#model_disclosure",
    ),
    "model_gain": (
        "How many more people are guessed right because their own rows were learned from.",
        f"{TORRA}, algorithm 10 with its own baseline",
        f"{PAGE}#model_gain",
    ),
}
