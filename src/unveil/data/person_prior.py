"""What is held of each person beforehand: a distribution over the sensitive values for any quasi-identifier cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.belief import Prior, Targets
from unveil.data.release import Release, example_rows, row_numbers
from unveil.errors import UsageError

__all__ = ["PersonPrior", "cells_of_targets"]

Cells = NDArray[np.int64]  # (people, attributes) codes


@dataclass(frozen=True, slots=True, eq=False)
class PersonPrior:
    """P(s | q): what is believed of a person with the quasi-identifiers q before the release is seen.

    The same object serves attackers who take it as it is (`of`) and those who learn (`pseudo_counts`).
    """

    attributes: tuple[Attribute, ...]  # the quasi-identifiers, in the order of a cell's codes
    sensitive: Attribute
    look_up: Callable[[Cells], NDArray[np.float64]]  # distinct cells -> (cells, values)
    source: str  # where it comes from, in a few words

    def of(self, cells: NDArray[np.integer]) -> NDArray[np.float64]:
        """(people, values) what is held of each; people with equal cells are asked about once."""
        codes = np.asarray(cells, dtype=np.int64)
        if codes.ndim != 2 or codes.shape[1] != len(self.attributes):
            names = ", ".join(a.name for a in self.attributes)
            raise UsageError(f"a cell needs the codes of {names}, not an array {codes.shape}")
        if not len(codes):
            return np.zeros((0, self.sensitive.codes))
        for column, attribute in zip(codes.T, self.attributes, strict=True):
            if not 0 <= column.min() <= column.max() < attribute.codes:
                raise UsageError(f"a cell lies outside the domain of {attribute.name}")
        number = row_numbers(list(codes.T), len(codes))
        first = example_rows(number)
        found = self.look_up(codes[first])
        if found.shape != (len(first), self.sensitive.codes):
            raise UsageError(f"a prior of {self.sensitive.name} needs {self.sensitive.codes} values a cell")
        if not np.isfinite(found).all() or (found < 0).any() or (np.abs(found.sum(axis=1) - 1) > 1e-9).any():
            raise UsageError("what is held of a cell must be a distribution: not negative, with sum 1")
        return np.asarray(found[number])

    def of_targets(self, release: Release, targets: Targets) -> NDArray[np.float64]:
        """(targets, values) what is held of people whose quasi-identifiers are known exactly."""
        return self.of(cells_of_targets(release, targets, [a.name for a in self.attributes]))

    def pseudo_counts(
        self,
        release: Release,
        asked: int,
        cells: NDArray[np.integer],
        *,
        strength: float = 1.0,
        least: float = 1e-3,
    ) -> Prior:
        """The same knowledge for a reader who learns, as Dirichlet pseudo-counts of a naive Bayes model.

        `cells` are the people in mind, for instance the rows of the table. With w(q) their share, w(q) P(s | q) is
        summed over all attributes but one: alpha = strength · values · P(s), beta = strength · codes · P(v | s). So
        on average a value has the pseudo-count `strength`, as in `Prior.uninformative`. What is impossible gets
        `least`: a pseudo-count cannot be 0. Conjunctions are lost: attributes are independent given s in the model.
        """
        if not (np.isfinite([strength, least]).all() and strength > 0 and least > 0):
            raise UsageError("the strength of knowledge and the least pseudo-count must be numbers above 0")
        if release.attributes[asked].values != self.sensitive.values:
            raise UsageError(f"the prior speaks of another attribute than {release.attributes[asked].name}")
        codes = np.asarray(cells, dtype=np.int64)
        if not len(codes):
            raise UsageError("pseudo-counts need the people one has in mind; there are none")
        held = self.of(codes)
        share = held.mean(axis=0)
        beta = {}
        for index, attribute in enumerate(release.attributes):
            if index == asked:
                continue
            beta[index] = np.full((self.sensitive.codes, attribute.codes), float(strength))
        for place, attribute in enumerate(self.attributes):
            index = release.index(attribute.name)
            joint = np.zeros((attribute.codes, self.sensitive.codes))
            np.add.at(joint, codes[:, place], held)
            total = joint.sum(axis=0)
            spread = np.divide(joint, total, out=np.full(joint.shape, 1 / attribute.codes), where=total > 0)
            beta[index] = np.maximum(strength * attribute.codes * spread.T, least)
        alpha = np.maximum(strength * self.sensitive.codes * share, least)
        return Prior(alpha, beta, source=f"knowledge beforehand ({self.source})")


def cells_of_targets(release: Release, targets: Targets, names: Sequence[str]) -> Cells:
    """(targets, attributes) codes of people whose named attributes are known exactly, and rightly."""
    columns = []
    for name in names:
        known = targets.known.get(release.index(name))
        single = np.full(targets.count, -1) if known is None else known.regions.single()[known.of_target]
        if known is None or known.wrong > 0 or (single < 0).any():
            raise UsageError(f"{name} must be known exactly of everybody to say what is held of them")
        columns.append(single)
    return np.stack(columns, axis=1) if columns else np.zeros((targets.count, 0), dtype=np.int64)
