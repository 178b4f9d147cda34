"""Utility: what a release still tells. Plain functions of a release, and of the table where the truth is needed.

One module a family of measures: cells (how wide), groups (how large, and what they tell), divergence (of the
whole distribution), quality (ARX's models), queries, populations, classification, analyst (what statistics become). A
measure gives one Estimate; one whose name is a plural gives an array, one number a query or a population.
"""

from unveil.utility.analyst import (
    analyst_utility,
    coefficient_error,
    coefficient_overlap,
    interval_overlap,
    propensity_mse,
    propensity_ratio,
    read_cells,
)
from unveil.utility.cells import certainty_penalty, certainty_penalty_hierarchy, generalisation_height
from unveil.utility.classification import classification_accuracy, classification_accuracy_held_out, random_linkings
from unveil.utility.divergence import kl_divergence
from unveil.utility.groups import (
    average_group_size,
    classification_metric,
    discernibility,
    entropy_utility,
    entropy_utility_split,
    information_loss,
    large_groups,
)
from unveil.utility.populations import large_populations, rule_recall, utility_loss, utility_losses
from unveil.utility.quality import (
    aecs,
    ambiguity,
    discernibility_kept,
    generalisation_intensity,
    granularity,
    granularity_geometric,
    non_uniform_entropy,
    record_error_kept,
    withheld_cells,
)
from unveil.utility.queries import query_error, query_errors, random_queries

__all__ = [
    "aecs",
    "ambiguity",
    "analyst_utility",
    "average_group_size",
    "certainty_penalty",
    "certainty_penalty_hierarchy",
    "classification_accuracy",
    "classification_accuracy_held_out",
    "classification_metric",
    "coefficient_error",
    "coefficient_overlap",
    "discernibility",
    "discernibility_kept",
    "entropy_utility",
    "entropy_utility_split",
    "generalisation_height",
    "generalisation_intensity",
    "granularity",
    "granularity_geometric",
    "information_loss",
    "interval_overlap",
    "kl_divergence",
    "large_groups",
    "large_populations",
    "non_uniform_entropy",
    "propensity_mse",
    "propensity_ratio",
    "query_error",
    "query_errors",
    "random_linkings",
    "random_queries",
    "read_cells",
    "record_error_kept",
    "rule_recall",
    "utility_loss",
    "utility_losses",
    "withheld_cells",
]
