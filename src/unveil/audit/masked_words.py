"""What the measures of a masked release are: words, source and page."""

__all__ = ["MASKED_MEASURES"]

TORRA = "Torra 2024"
DOMINGO = "Domingo-Ferrer and Torra 2001"
PAGE = "docs/disclosure.md"
WORTH = "docs/audit.md#masked-releases"

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
    "il1s": (
        "Mean distance of a published number from the true one, over sqrt(2) standard deviations; about 0.8 if numbers "
        "were dealt out at random.",
        "Yancey, Winkler and Creecy 2002",
        WORTH,
    ),
    "mean_error": ("How far the mean moved, in standard deviations.", DOMINGO, WORTH),
    "deviation_error": ("By what share the standard deviation changed.", DOMINGO, WORTH),
    "correlation_error": ("Mean absolute change of the correlation of two published numbers.", DOMINGO, WORTH),
    "share_error": (
        "Total variation distance between the shares of categories before and after.",
        "unveil",
        WORTH,
    ),
}
