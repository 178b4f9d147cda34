"""Alone here, alone in the population? Uniqueness as `unveil attack identity` asks for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.document import Finding
from unveil.audit.linking.keys import Keys, keys_of_original, keys_of_release
from unveil.data.belief import Estimate
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.uniqueness import (
    ESTIMATORS,
    SUPERPOPULATION,
    CellRisk,
    CurvePoint,
    Intervals,
    MinimalUniques,
    PopulationUniques,
    WildcardCounts,
    counted,
    data_intrusion,
    dis_suda,
    expected_links,
    household_risk,
    intervals_of,
    minimal_uniques,
    population_unique,
    uniqueness_curve,
    uniques_of,
    wildcard_counts,
)
from unveil.risk.uniqueness.minimal import FRACTION

__all__ = ["Alone", "ask_uniqueness", "uniqueness_findings"]


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """What was found out of a sample's cells, and why not more."""

    keys: Keys | None = None
    found: dict[str, CellRisk] = field(default_factory=dict)  # by estimator; `counted` with a population
    refused: dict[str, str] = field(default_factory=dict)  # by estimator: why it says nothing
    minimal: MinimalUniques | None = None
    curve: tuple[CurvePoint, ...] = ()
    notes: tuple[str, ...] = ()
    intervals: dict[str, Intervals] = field(default_factory=dict)  # by estimator
    intrusion: float = 0.0  # DIS
    intruded: NDArray[np.float64] | None = None  # (rows,) DIS-SUDA
    sampled: float = FRACTION  # the fraction that DIS takes
    wildcards: WildcardCounts | None = None  # with a withheld cell as any value, where cells are withheld
    households: dict[str, NDArray[np.float64]] = field(default_factory=dict)  # by estimator: (people,) risk
    uniques: dict[str, PopulationUniques] = field(default_factory=dict)  # by ARX's estimators, which know no cells

    def sentences(self) -> list[str]:
        """In plain words."""
        if self.keys is None:
            return []
        counts = self.keys.counts
        alone = int(counts.alone.sum())
        where = "published cells" if self.keys.of == "release" else "own values in the original"
        said = [f"{alone:,} of {counts.rows:,} people are alone in their {where} of {', '.join(counts.names)}."]
        if self.wildcards is not None:
            said.append(
                f"With a withheld cell as any value, as sdcMicro counts, k is {self.wildcards.k:,} and a match with "
                f"the population is right for {self.wildcards.mean_risk():.3%} of people on average."
            )
        if self.found and alone:
            shares = {name: population_unique(counts, one) for name, one in self.found.items()}
            low, high = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
            if "counted" in shares:
                said.append(f"{shares['counted']:.1%} of those are alone in the population, too.")
            else:
                said.append(
                    f"Of those {shares[low]:.1%} ({low}) to {shares[high]:.1%} ({high}) are estimated to be alone "
                    "in the population, too."
                )
        return said

    def remarks(self) -> list[str]:
        """What is to be borne in mind."""
        return [*self.notes, *(f"{name} was not run: {why}." for name, why in self.refused.items())]

    def facts(self) -> dict[str, Any] | None:
        """Cells, estimators with what they fitted, and minimal uniques; never of a person."""
        if self.keys is None:
            return None
        counts = self.keys.counts
        estimators = [
            {
                "estimator": name,
                "population_unique": _number(population_unique(counts, one)),
                "expected_links": expected_links(counts, one),
                "largest_risk": float(one.risk.max()),
                "mean_risk": float((one.risk * counts.count).sum() / counts.rows),
                "ranges": {key: None if e is None else [e.low, e.high] for key, e in self._ranges(name).items()},
                "fitted": one.facts,
            }
            for name, one in self.found.items()
        ] + [
            {
                "estimator": name,
                "population_unique": None if one.share is None else one.share.value,
                "expected_links": None,
                "largest_risk": None,
                "mean_risk": None,
                "ranges": {"population_unique": None if one.share is None else [one.share.low, one.share.high]},
                "fitted": {"uniques": one.number.value},
            }
            for name, one in self.uniques.items()
        ]
        minimal = None
        if self.minimal is not None:
            minimal = {
                "largest": self.minimal.largest,
                "sets": self.minimal.subsets,
                "rows": self.minimal.risky,
                "by_size": [int(n) for n in self.minimal.found],
                "by_attribute": {n: int(c) for n, c in zip(self.minimal.names, self.minimal.takes_part, strict=True)},
                "largest_score": float(self.minimal.score.max()),
                "fraction": self.sampled,
                "intrusion": self.intrusion,
                "largest_risk": 0.0 if self.intruded is None else float(self.intruded.max()),
            }
        return {
            "of": self.keys.of,
            "rows": counts.rows,
            "cells": len(counts.count),
            "alone": int(counts.alone.sum()),
            "suppressed": self.keys.suppressed,
            "fraction": counts.fraction,
            "estimators": estimators,
            "minimal_uniques": minimal,
        }

    def _ranges(self, name: str) -> dict[str, Estimate | None]:
        own = self.intervals[name]
        return {
            "population_unique": own.population_unique,
            "expected_links": own.expected_links,
            "mean_risk": own.mean_risk,
        }

    def scores(self, rows: NDArray[np.integer] | None) -> dict[str, NDArray[np.float64]]:
        """By person of these rows of the original: the score of minimal uniques and DIS-SUDA; nothing of a release."""
        if self.keys is None or self.keys.of != "original" or self.minimal is None or rows is None:
            return {}
        assert self.intruded is not None
        return {"suda:score": self.minimal.score[rows], "suda:dis": self.intruded[rows]}

    def chart(self) -> list[dict[str, Any]]:
        """Uniqueness by sampling fraction."""
        return [
            {
                "fraction": p.fraction,
                "people": p.people,
                "expected": p.expected,
                "drawn": p.drawn,
                "estimates": p.estimates,
            }
            for p in self.curve
        ]


def ask_uniqueness(
    release: Release,
    table: Table | None,
    names: Sequence[str],
    *,
    population: Table | None,
    fraction: float | None,
    largest: int | None,
    curve: bool,
    engine: Engine,
) -> Alone:
    """Of the published cells where each value has one; else of the original's own values, if there is an original."""
    notes = []
    try:
        keys = keys_of_release(release, names, fraction=fraction, table=table)
    except NotApplicable as reason:
        if table is None or any(n not in [a.name for a in table.attributes] for n in names):
            return Alone(notes=(f"Uniqueness was not measured: {reason}.",))
        notes.append(f"Uniqueness is that of the original's own values, before they were protected: {reason}.")
        keys = keys_of_original(table, names, fraction=fraction)
    counts, found, refused, uniques = keys.counts, {}, {}, {}
    if population is not None:
        found["counted"] = counted(counts, keys.in_population(population))
    if counts.fraction < 1:
        for name, estimator in ESTIMATORS.items():
            try:
                found[name] = estimator(counts)
            except NotApplicable as reason:
                refused[name] = str(reason)
        for name in SUPERPOPULATION:
            try:
                uniques[name] = uniques_of(name, counts)
            except NotApplicable as reason:
                refused[name] = str(reason)
    elif population is None:
        notes.append("Give --fraction or --population to ask whether who is alone here is alone in the population.")
    points = tuple(uniqueness_curve(counts, engine=engine)) if curve else ()
    minimal = minimal_uniques(counts, largest)
    sampled = counts.fraction if counts.fraction < 1 else FRACTION
    if counts.fraction == 1 and minimal.risky:
        notes.append(f"DIS-SUDA takes {FRACTION:.0%} of the population as sampled, for --fraction was not given.")
    households = {}
    if table is not None and table.household is not None:
        cell = keys.cells_of(table)
        of_cell = {name: one.risk for name, one in found.items()} or {"": 1 / counts.count}
        households = {n: household_risk(np.append(r, 0.0)[cell], table.household) for n, r in of_cell.items()}
    return Alone(
        keys,
        found,
        refused,
        minimal,
        points,
        tuple(notes),
        {name: intervals_of(name, counts, one) for name, one in found.items()},
        data_intrusion(counts, sampled),
        dis_suda(counts, minimal, sampled),
        sampled,
        _with_wildcards(release, table, names, fraction),
        households,
        uniques,
    )


def _with_wildcards(
    release: Release, table: Table | None, names: Sequence[str], fraction: float | None
) -> WildcardCounts | None:
    """Counts in which a withheld cell is any value; None if no row withholds some of its cells."""
    if release.perturbed:
        return None
    try:
        return wildcard_counts(release, table, fraction=fraction, names=names)
    except NotApplicable:
        return None


def uniqueness_findings(release: str, alone: Alone) -> list[Finding]:
    """Sample uniques, minimal uniques, and of every estimator P(PU|SU), the expected right links and 1/F."""
    if alone.keys is None:
        return []
    counts = alone.keys.counts
    found = [Finding.exact("sample_unique", release, None, float(counts.alone.sum()) / counts.rows)]
    if alone.minimal is not None:
        found.append(Finding.exact("minimal_unique", release, None, alone.minimal.risky / counts.rows))
        assert alone.intruded is not None
        found.append(Finding.exact("dis_suda.max", release, None, float(alone.intruded.max())))
        found.append(Finding.exact("dis_suda.mean", release, None, float(alone.intruded.mean())))
    if alone.wildcards is not None:
        risk = alone.wildcards.risk().risk
        found += [
            Finding.exact("wildcard_k", release, None, float(alone.wildcards.k)),
            Finding.exact("record_risk.max", release, None, float(risk.max()), reader="wildcards"),
            Finding.exact("record_risk.mean", release, None, alone.wildcards.mean_risk(), reader="wildcards"),
        ]
    for name, chance in alone.households.items():
        found.append(Finding.exact("household_risk.max", release, None, float(chance.max()), reader=name or None))
        found.append(Finding.exact("household_risk.mean", release, None, float(chance.mean()), reader=name or None))
    for name, one in alone.found.items():
        own = alone.intervals[name]
        found += [
            Finding.of("population_unique", release, None, own.population_unique, reader=name),
            Finding.of("expected_links", release, None, own.expected_links, reader=name),
            Finding.exact("record_risk.max", release, None, float(one.risk.max()), reader=name),
            Finding.of("record_risk.mean", release, None, own.mean_risk, reader=name),
        ]
    for name, said in alone.uniques.items():
        found.append(Finding.of("population_unique", release, None, said.share, reader=name))
    return found


def _number(value: float) -> float | None:
    return None if math.isnan(value) or np.isinf(value) else value
