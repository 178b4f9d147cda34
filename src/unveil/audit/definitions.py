"""What each measure of an audit is: one sentence, its source, and the page that says more."""

import inspect
import re
from collections.abc import Iterable, Sequence

from unveil.audit.combination_words import COMBINATION_MEASURES
from unveil.audit.document import Finding
from unveil.audit.link_words import LINK_MEASURES
from unveil.audit.masked_words import MASKED_MEASURES
from unveil.privacy.models import MODELS

__all__ = ["MEASURES", "OF_BACKGROUND", "OF_READERS", "definitions_of", "measure_of"]

BOREALE = "Boreale, Corradi and Viscardi 2020"
KIFER = "Kifer 2009"
EL_EMAM = "El Emam and Dankar 2008"
GLOBAL, RELATIVE, GAIN, SURE = (
    "global_threat-and-accuracy",
    "relative_threat-relative_threat_max-relative_threat_quantile-relative_threat_share-relative_threat_skewness",
    "belief_gain-belief_ratio_max-belief_ratio_quantile-belief_ratio_share-belief_difference_max-"
    "belief_difference_quantile-belief_difference_share",
    "confident-and-confident_right",
)

_BACKGROUND = "docs/audit.md#background-knowledge"

# measure -> words, source, page
_OWN = {
    "global_threat": (
        "Share of people whose true value is the most believed value; with a value: among those who have it.",
        f"{BOREALE}, eq. 17",
        f"docs/risk.md#{GLOBAL}",
    ),
    "accuracy": (
        "Share of right guesses: the global threat by its other name.",
        f"{KIFER}, section 6",
        f"docs/risk.md#{GLOBAL}",
    ),
    "relative_global_threat": (
        "How many more people the attacker guesses right than the learner, as a share of all; 0 if not more.",
        f"{BOREALE}, eq. 18",
        "docs/risk.md#relative_global_threat",
    ),
    "relative_threat": (
        "How many times likelier the true value is to the attacker than to the learner, of people guessed right: "
        "largest, 95% quantile, share of all people with twice or more, skewness of its log2.",
        f"{BOREALE}, eq. 16 and figures 2-3",
        f"docs/risk.md#{RELATIVE}",
    ),
    "absolute_error": (
        "Mean distance of the belief from certainty in the truth, 0 to 2: small is dangerous.",
        f"{KIFER}, section 6",
        "docs/risk.md#absolute_error",
    ),
    "squared_error": (
        "Mean squared distance of the belief from certainty in the truth, 0 to 2.",
        f"{KIFER}, section 6",
        "docs/risk.md#squared_error",
    ),
    "belief_gain": (
        "Largest growth of a belief, attacker's less learner's, over people and values, but for harmless ones.",
        f"{KIFER}, section 2",
        f"docs/risk.md#{GAIN}",
    ),
    "belief_ratio": (
        "Largest factor between the attacker's and the learner's belief in any value, true or not.",
        f"{KIFER}, section 2",
        f"docs/risk.md#{GAIN}",
    ),
    "confident": (
        "Share of people of whom some value that is not harmless is believed at least this much (in percent).",
        f"{KIFER}, section 6",
        f"docs/risk.md#{SURE}",
    ),
    "confident_right": (
        "Of the people counted by confident, the share whose true value is believed that much.",
        f"{KIFER}, section 6",
        f"docs/risk.md#{SURE}",
    ),
    "similar": (
        "Share of people all of whose candidate values are of one kind.",
        "Li 2010, sections 2.1 and 2.4.1",
        "docs/risk.md#similar-and-similar_share",
    ),
    "expected_absolute_error": (
        "Mean distance of a guess drawn from the belief from the true number, in its unit.",
        "unveil",
        "docs/risk.md#expected_absolute_error",
    ),
    "interval_width": (
        "Mean width of the shortest interval that holds 90% of the belief.",
        "unveil",
        "docs/risk.md#interval_width-and-interval_width_mean",
    ),
    "near_truth": (
        "Mean belief in numbers within this percentage of the true number.",
        "unveil",
        "docs/risk.md#near_truth",
    ),
    "member_advantage": (
        "The attacker's success on people in the table less the success on control people who are not.",
        "Clifton and Tassa 2013",
        "docs/audit.md#control-people",
    ),
    "baseline_accuracy": (
        "Share of the most frequent published value: what guessing it for everyone gets right.",
        f"{BOREALE}, section VI-A",
        "docs/risk.md#baseline_accuracy",
    ),
    "prosecutor_risk": (
        "One over the size of the class of rows that share their quasi-identifiers: largest, and mean over rows.",
        EL_EMAM,
        "docs/audit.md#being-found",
    ),
    "marketer_risk": (
        "Classes over rows: the share of people someone expects to find who matches every row with the population, or "
        "without one with the table itself.",
        EL_EMAM,
        "docs/audit.md#being-found",
    ),
    "journalist_risk": (
        "One over the number of people of the population who fit a class: largest, and mean over rows. Without a "
        "population the prosecutor's risk bounds it.",
        EL_EMAM,
        "docs/audit.md#being-found",
    ),
    "singled_out": (
        "Share of rows that stand alone in their published cells.",
        "Article 29 Working Party, Opinion 05/2014",
        "docs/audit.md#being-found",
    ),
    "discernibility": (
        "Sum of squared group sizes; a suppressed row costs as much as the whole table.",
        "Bayardo and Agrawal 2005",
        "docs/utility.md#discernibility",
    ),
    "certainty_penalty": (
        "Mean width of the cells: 0 exact, 1 all *.",
        "Xu et al. 2006",
        "docs/utility.md#certainty_penalty",
    ),
    "query_error": (
        "Mean relative error of 1,000 random counts by two quasi-identifiers and the sensitive attribute.",
        "Li 2010, section 1.2.3",
        "docs/utility.md#query_error-query_errors-and-random_queries",
    ),
    "membership_posterior": (
        "Belief that a person in the table is in it, from how many groups the person matches: largest, and mean over "
        "people. The baseline is what was believed beforehand.",
        "Li 2010, section 4.4; as a belief: unveil",
        "docs/membership.md#what-a-reader-believes",
    ),
    "membership_odds": (
        "By how much the number of matching groups multiplies the odds of being in the table, for the worst-off.",
        "Li 2010, section 4.4; as a belief: unveil",
        "docs/membership.md#what-a-reader-believes",
    ),
    "membership_auc": (
        "Chance that a person in the table scores higher than a control who is not; .5 tells nothing. By the number of "
        "matching groups (degree), by expected rows against what the population would show (frequency), by the nearest "
        "row of a masked release (nearest); without a name the largest of them.",
        "DeLong et al. 1988 for the interval",
        "docs/membership.md#people-held-out",
    ),
    "membership_tpr": (
        "Share of the people in the table who are found when one control in 100, or in 1,000, is taken for a member; "
        "by the score that finds most. Who is accused among equal scores is drawn. The baseline is a coin's.",
        "Clopper and Pearson 1934 for the interval; Carlini et al. 2022",
        "docs/membership.md#people-held-out",
    ),
    "fake_tuples": (
        "Combinations of values that fit the release and are not in the original: of all published attributes; known: "
        "of what is known of a person.",
        "Li 2010, section 4.4",
        "docs/membership.md#fake-tuples-and-matching-groups",
    ),
    "matching_groups": (
        "Share of the rows, and of the fake tuples, that match up to 10 groups, 11 to 20, more.",
        "Li 2010, section 4.5.3",
        "docs/membership.md#fake-tuples-and-matching-groups",
    ),
    "utility_loss": (
        "Mean distance (Jensen-Shannon) of the sensitive values that the release suggests from the true ones, over all "
        "populations of 5% of the rows or more.",
        "Li 2010, section 5.2.2",
        "docs/utility.md#utility_loss-utility_losses-and-large_populations",
    ),
    "suppressed_share": ("Share of rows with every quasi-identifier *.", "unveil", "docs/audit.md#what-is-measured"),
    "groups": ("Rows a group, on average.", "unveil", "docs/audit.md#what-is-measured"),
    "worst_case_risk": (
        "Largest change of a belief by the release, from a kernel prior on (Jensen-Shannon): the worst bandwidth, and "
        "each.",
        "Li 2010, sections 3.6 and 3.7.3",
        _BACKGROUND,
    ),
    "mean_risk": (
        "The same change, the mean over people.",
        "Li 2010, section 3.6",
        _BACKGROUND,
    ),
    "vulnerable": (
        "Share of people of whom a belief changes by more than t: the release is not (B,t)-private for them.",
        "Li 2010, definition 3.6.1",
        _BACKGROUND,
    ),
    "worst_gain": (
        "Largest growth of a belief in a value, after the release less before it, from a kernel prior on.",
        "Li 2010, section 3.6",
        _BACKGROUND,
    ),
    "mean_gain": (
        "The largest growth of a belief of each person, the mean over people.",
        "Li 2010, section 3.6",
        _BACKGROUND,
    ),
    "negative_rules": (
        "Rules in the table: people with some cell never have some value, and chance would hardly leave it so.",
        "Li 2010, section 3.3",
        "docs/knowledge.md#negative_rules",
    ),
    "fewer_values": (
        "Share of people who can have fewer than l values of their group, the rules known.",
        "Li 2010, section 3.4",
        _BACKGROUND,
    ),
    "exposed_by_fact": (
        "Share of people exposed by the worst single rule, known beside the overall distribution: some value is then "
        "believed with the stated probability, and was not before.",
        "unveil",
        _BACKGROUND,
    ),
    "faithfulness": (
        "How close what the release teaches is to what the original would: 1 - total variation.",
        f"{BOREALE}, definition 2",
        "docs/audit.md#what-is-measured",
    ),
    **MASKED_MEASURES,
    **LINK_MEASURES,
}

MEASURES = tuple(_OWN)
OF_BACKGROUND = frozenset(name for name, (_, _, page) in _OWN.items() if page == _BACKGROUND) | {"negative_rules"}
OF_READERS = frozenset(
    {
        "global_threat",
        "accuracy",
        "relative_global_threat",
        "relative_threat",
        "absolute_error",
        "squared_error",
        "belief_gain",
        "belief_ratio",
        "confident",
        "confident_right",
        "similar",
        "expected_absolute_error",
        "interval_width",
        "near_truth",
        "member_advantage",
    }
)


def measure_of(id: str, readers: Sequence[str]) -> str:
    """The measure a finding's id names, without reader and statistic."""
    reader, _, rest = id.partition(".")
    return (rest if reader in readers else id).partition(".")[0]


def definitions_of(findings: Iterable[Finding], attackers: Sequence[str]) -> dict[str, dict[str, str]]:
    """Words, source and page of every measure that occurs."""
    readers = (*attackers, "learner", "ideal", "background", "known")
    ids = [part for f in findings for part in ([f.id] if ".value:" in f.id else f.id.split(" - "))]
    return {name: _definition(name) for name in dict.fromkeys(measure_of(id, readers) for id in ids)}


def _definition(name: str) -> dict[str, str]:
    if name in _OWN or name in COMBINATION_MEASURES:
        words, source, page = (_OWN | COMBINATION_MEASURES)[name]
    elif name in MODELS:  # a privacy model's first line ends with its source
        line = (inspect.getdoc(MODELS[name]) or name).splitlines()[0]
        match = re.fullmatch(r"(.*) \((.*)\)\.?", line)
        words, source = (f"{match[1]}.", match[2]) if match else (line, "")
        page = f"docs/privacy-models.md#{name}"
    else:
        words, source, page = name, "", "docs/audit.md"
    return {"words": words, "source": source, "page": page}
