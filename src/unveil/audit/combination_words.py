"""What is measured of each combination of known attributes: one sentence, its source, and the page that says more."""

__all__ = ["COMBINATION_MEASURES"]

_PAGE = "docs/audit.md#how-little-need-be-known"

# measure -> words, source, page
COMBINATION_MEASURES = {
    "alone_in_original": ("Share of people whom what is known singles out in the original.", "", _PAGE),
    "fewest_rows": ("The fewest published rows that may be somebody's, by what is known.", "", _PAGE),
    "single_row": ("Share of people left with a single published row, by what is known.", "", _PAGE),
    "learner_right": ("Share of people of whom the learner guesses right, by what is known.", "", _PAGE),
    "right": ("Share of people of whom the main attacker guesses right, by what is known.", "", _PAGE),
    "twice_exposed": ("Share of people at least twice as exposed as by learning, by what is known.", "", _PAGE),
    "sure": ("Share of people of whom the main attacker is 80% sure of a harmful value, by what is known.", "", _PAGE),
}
