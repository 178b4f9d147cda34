"""What the measures of linkage and uniqueness are: one sentence, its source, and the page that says more."""

__all__ = ["LINK_MEASURES"]

TORRA = "Torra 2024"

# measure -> words, source, page
LINK_MEASURES = {
    "reid": (
        "Share of people whom someone who holds their quasi-identifiers links with their own row, the nearest; a tie "
        "counts as one over its rows.",
        f"{TORRA}, eq. 1",
        "docs/linkage.md#reid",
    ),
    "claimed": (
        "Share of people for whom one row alone is nearest, so that a link can be claimed.",
        f"{TORRA}, eq. 2",
        "docs/linkage.md#claimed-and-claim_precision",
    ),
    "claim_precision": (
        "Of the people for whom one row alone is nearest, the share whose own row it is.",
        f"{TORRA}, eq. 2",
        "docs/linkage.md#claimed-and-claim_precision",
    ),
}
