"""Every utility measure on every kind of release: a number, or the reason why there is none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Published, releases, tables

from unveil import utility
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, RequirementError, UsageError
from unveil.privacy.models import KAnonymity

Measure = Callable[[Release, Table, str], Any]

# By name: how it is called on a release and its table, about one attribute where it needs one; best value, least, most.
MEASURES: dict[str, tuple[Measure, float | None, float, float]] = {
    "aecs": (lambda r, t, a: utility.aecs(r, t), 1, 0, 1),
    "ambiguity": (lambda r, t, a: utility.ambiguity(r), 1, 0, 1),
    "average_group_size": (lambda r, t, a: utility.average_group_size(r), None, 1, np.inf),
    "certainty_penalty": (lambda r, t, a: utility.certainty_penalty(r), 0, 0, 1),
    "certainty_penalty_hierarchy": (lambda r, t, a: utility.certainty_penalty_hierarchy(r), 0, 0, 1),
    "classification_accuracy": (
        lambda r, t, a: utility.classification_accuracy(r, target=a, folds=2, matchings=1, model="naive_bayes"),
        None,
        0,
        1,
    ),
    "classification_accuracy_held_out": (
        lambda r, t, a: utility.classification_accuracy_held_out(r, t, target=a, matchings=2),
        None,
        0,
        1,
    ),
    "classification_metric": (lambda r, t, a: utility.classification_metric(r, label=a), None, 0, 1),
    "coefficient_error": (lambda r, t, a: utility.coefficient_error(r, t, attribute=a), 0, 0, np.inf),
    "coefficient_overlap": (lambda r, t, a: utility.coefficient_overlap(r, t, attribute=a), 1, -np.inf, np.inf),
    "discernibility": (lambda r, t, a: utility.discernibility(r), None, 1, np.inf),
    "discernibility_kept": (lambda r, t, a: utility.discernibility_kept(r, t), 1, 0, 1),
    "entropy_utility": (lambda r, t, a: utility.entropy_utility(r, attribute=a), None, 0, np.inf),
    "entropy_utility_split": (
        lambda r, t, a: utility.entropy_utility_split(r, utility.large_groups(r, 2), attribute=a),
        None,
        0,
        np.inf,
    ),
    "generalisation_height": (lambda r, t, a: utility.generalisation_height(r), 0, 0, np.inf),
    "generalisation_intensity": (lambda r, t, a: utility.generalisation_intensity(r), 1, 0, 1),
    "granularity": (lambda r, t, a: utility.granularity(r), 1, 0, 1),
    "granularity_geometric": (lambda r, t, a: utility.granularity_geometric(r), 1, 0, 1),
    "information_loss": (lambda r, t, a: utility.information_loss(r, attribute=a), None, 0, np.inf),
    "interval_overlap": (lambda r, t, a: utility.interval_overlap(r, t, attribute=a), 1, -np.inf, np.inf),
    "kl_divergence": (lambda r, t, a: utility.kl_divergence(r, t), 0, 0, np.inf),
    "large_groups": (lambda r, t, a: utility.large_groups(r, 3), None, 0, np.inf),
    "non_uniform_entropy": (
        lambda r, t, a: utility.non_uniform_entropy(r, t, np.arange(t.rows) % r.groups),
        None,
        -np.inf,
        np.inf,
    ),
    "propensity_mse": (lambda r, t, a: utility.propensity_mse(r, t), 0, -np.inf, np.inf),
    "propensity_ratio": (lambda r, t, a: utility.propensity_ratio(r, t), None, -np.inf, np.inf),
    "query_error": (lambda r, t, a: utility.query_error(r, t, dimension=1, queries=5), 0, -np.inf, np.inf),
    "query_errors": (
        lambda r, t, a: np.nan_to_num(
            utility.query_errors(
                r, t, utility.random_queries(t, dimension=1, queries=5), aggregate="average", measured=a
            )
        ),
        0,
        0,
        np.inf,
    ),
    "random_linkings": (lambda r, t, a: next(utility.random_linkings(r)).ravel(), None, 0, np.inf),
    "record_error_kept": (
        lambda r, t, a: utility.record_error_kept(r, t, np.arange(t.rows) % r.groups),
        None,
        0,
        1,
    ),
    "rule_recall": (lambda r, t, a: utility.rule_recall(r, t, attribute=a, minimum_support=0.2), 1, 0, 1),
    "utility_loss": (lambda r, t, a: utility.utility_loss(r, t, attribute=a, minimum_support=0.2), 0, 0, np.log(2)),
    "utility_losses": (
        lambda r, t, a: utility.utility_losses(
            r, t, utility.large_populations(t, minimum_support=0.3), attribute=a, distance="variational"
        ),
        0,
        0,
        1,
    ),
    "withheld_cells": (lambda r, t, a: utility.withheld_cells(r), None, 0, 1),
}
SLOW = {"classification_accuracy", "classification_accuracy_held_out"}
OF_THE_TABLE = {"large_populations", "random_queries"}  # what the measures above ask about
READINGS = {"analyst_utility", "read_cells"}  # what they are measured on


def values_of(found: Any) -> list[float]:
    if isinstance(found, Estimate):
        return [found.low, found.value, found.high]
    if isinstance(found, tuple):
        return [v for part in found for v in values_of(part)]
    assert isinstance(found, np.ndarray)
    return [float(v) for v in found]


def tried(name: str, release: Release, table: Table, attribute: str) -> list[float] | None:
    """What a measure says; None if it says that it cannot."""
    measure, _, least, most = MEASURES[name]
    try:
        found = values_of(measure(release, table, attribute))
    except (NotApplicable, UsageError):
        return None
    assert all(least - 1e-9 <= value <= most + 1e-9 for value in found), (name, found)
    return found


def test_every_measure_is_tried() -> None:
    assert set(MEASURES) | OF_THE_TABLE | READINGS == set(utility.__all__), "add the new measure above"


@settings(max_examples=25)
@given(releases(), st.integers(0, 1000))
def test_any_release_beside_any_table_of_its_schema(published: Published, seed: int) -> None:
    """Recoded, bucketized, sliced, withheld, and not even a release of that table."""
    release = published.release
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 9))
    columns = tuple(random.integers(0, a.codes, rows).astype(a.dtype) for a in release.attributes)
    table = Table(release.attributes, columns)
    for name in sorted(MEASURES if seed % 4 == 0 else set(MEASURES) - SLOW):
        tried(name, release, table, str(random.choice([a.name for a in release.attributes])))


ROLES = ["quasi-identifier", "quasi-identifier", "insensitive", "sensitive"]


@settings(max_examples=12)
@given(tables(roles=ROLES))
def test_the_original_is_the_best_release(table: Table) -> None:
    original = table.as_release()
    asked = table.attributes[-1].name
    for name, (_, best, _, _) in MEASURES.items():
        found = tried(name, original, table, asked) if best is not None else None
        if found is not None:
            assert found == pytest.approx([best] * len(found), abs=1e-9), name


@settings(max_examples=10)
@given(tables(roles=ROLES, max_rows=16))
def test_releases_of_the_table_are_measured(table: Table) -> None:
    """What our own anonymizers make is never called impossible, and is no better than the original."""
    members = (
        Mondrian(require=(KAnonymity(k=2),)),
        Mondrian(require=(KAnonymity(k=2),), recoding="hierarchy", regions="cut"),
        FullDomain(suppress=0.5, require=(KAnonymity(k=2),)),
        Anatomy(l=2),
    )
    asked = table.attributes[-1].name
    whole = utility.information_loss(table.as_release(), attribute=asked).value
    for member in members:
        try:
            release = member.anonymize(table, Engine(seed=1)).release
        except RequirementError:
            continue
        for name in ("kl_divergence", "utility_loss", "information_loss"):
            found = tried(name, release, table, asked)
            assert found is None or np.isfinite(found).all(), (name, member)
        assert utility.information_loss(release, attribute=asked).value >= whole - 1e-9
        assert release.with_role(Role.SENSITIVE)
