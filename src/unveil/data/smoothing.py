"""Smoothing: neighbouring values of an ordered attribute are alike, so that a release teaches inside its regions.

After flexible Bayes (Kifer 2009, section 5.2): a row has a centre, drawn from a distribution over the codes, and shows
a value near it. What is learned of a value is thereby learned of its neighbours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.regions import Regions
from unveil.errors import NotApplicable, UsageError, shown

__all__ = ["Centres", "bandwidths", "check_kernel", "gaussian", "smoothing_kernels", "tied"]

CUT = 1e-9  # of the kernel's height: values farther apart are not tied
MOST_CODES = 2000
MOST_PAIRS = 50_000_000  # of a region and a centre
PIECE = 1000  # regions at a time


def gaussian(attribute: Attribute, bandwidth: float) -> NDArray[np.float64]:
    """(centres, codes) the probability of each value given a centre: a Gaussian in the attribute's own units.

    Ordinal values stand one step apart. Missing is outside the order and tied to nothing.
    """
    if not attribute.kind.ordered:
        raise UsageError(
            f"{attribute.name} is categorical: its values have no neighbours; "
            "only ordinal, numeric and date attributes can be smoothed"
        )
    if not (np.isfinite(bandwidth) and bandwidth > 0):
        raise UsageError(f"smooth {attribute.name}={bandwidth:g}: a bandwidth is a number above 0")
    if attribute.codes > MOST_CODES:
        raise NotApplicable(
            f"{attribute.name} has {attribute.codes:,} values, over {MOST_CODES:,}; declare bins to smooth it"
        )
    place = attribute.positions()[: attribute.real]
    with np.errstate(over="ignore"):  # far beyond the cut
        height = np.exp(-0.5 * ((place[:, None] - place) / bandwidth) ** 2)
    height[height < CUT] = 0.0
    kernel = np.eye(attribute.codes)
    kernel[: attribute.real, : attribute.real] = height / height.sum(axis=1, keepdims=True)
    return kernel


def check_kernel(kernel: NDArray[np.float64], codes: int) -> None:
    """Each centre has a distribution over the values, and every value can come from some centre."""
    if kernel.shape != (codes, codes):
        raise UsageError(f"a kernel over {codes} codes must be {codes} × {codes}, not {kernel.shape}")
    if not np.isfinite(kernel).all() or (kernel < 0).any() or (np.abs(kernel.sum(axis=1) - 1) > 1e-9).any():
        raise UsageError("the rows of a kernel must be distributions: not negative, with sum 1")
    if not (kernel.sum(axis=0) > 0).all():
        raise UsageError("a kernel must leave no value without a centre")


def tied(names: Sequence[str]) -> str:
    """What smoothing adds to what is held of the population, in words."""
    return f"; neighbouring values of {', '.join(names)} are alike" if names else ""


def bandwidths(texts: Sequence[str], attributes: Sequence[Attribute]) -> dict[int, float]:
    """By position of the attribute, from `age=5` or `age=5,visit=30`."""
    found: dict[int, float] = {}
    names = [a.name for a in attributes]
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        name, equals, number = (part.strip() for part in text.rpartition("="))
        if not equals or not name:
            raise UsageError(f"smooth {shown(text)}: write ATTRIBUTE=BANDWIDTH, such as age=5")
        if name not in names:
            raise UsageError(f"smooth: the release has no attribute {shown(name)}; choose from {', '.join(names)}")
        if names.index(name) in found:
            raise UsageError(f"smooth: {name} is given twice; keep one bandwidth")
        try:
            found[names.index(name)] = float(number)
        except ValueError:
            raise UsageError(f"smooth {name}={number}: a bandwidth is a number above 0") from None
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """Of each region the centres that its rows may have, and how likely each puts its value there."""

    start: NDArray[np.int64]  # (regions + 1,)
    centre: NDArray[np.int64]  # (pairs of a region and a centre,)
    weight: NDArray[np.float64]  # (pairs,) above 0

    @classmethod
    def of(cls, regions: Regions, kernel: NDArray[np.float64]) -> "Centres":
        """Sums of kernel entries, not differences of sums: small ones stay right."""
        count, centre, weight = [np.zeros(1, dtype=np.int64)], [], []
        pairs = 0
        for first in range(0, len(regions), PIECE):
            piece = np.arange(first, min(first + PIECE, len(regions)))
            inside = np.zeros((len(piece), regions.codes))
            for place, region in enumerate(piece.tolist()):
                inside[place, regions.members(region)] = 1.0
            total = inside @ kernel.T
            row, column = np.nonzero(total)
            pairs += len(row)
            if pairs > MOST_PAIRS:
                raise NotApplicable("too many pairs of a region and a value near it; smooth with a smaller bandwidth")
            count.append(np.bincount(row, minlength=len(piece)))
            centre.append(column)
            weight.append(total[row, column])
        return cls(np.cumsum(np.concatenate(count)), np.concatenate(centre), np.concatenate(weight))


def smoothing_kernels(
    attributes: Sequence[Attribute], smooth: Mapping[int, float], asked: int
) -> dict[int, NDArray[np.float64]]:
    """By position of the attribute: its kernel, from its bandwidth."""
    if asked in smooth:
        raise UsageError(f"{attributes[asked].name} is asked about: smooth what is known beside it")
    return {index: gaussian(attributes[index], bandwidth) for index, bandwidth in smooth.items()}
