"""DIS and DIS-SUDA: how often who matches a sample unique with the population is right, on average and by person."""

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError
from unveil.risk.uniqueness.counts import KeyCounts
from unveil.risk.uniqueness.minimal import MinimalUniques

__all__ = ["FRACTION", "data_intrusion", "dis_suda"]

FRACTION = 0.01  # sampled, where nobody says: as sdcMicro's suda2 has it


def data_intrusion(counts: KeyCounts, fraction: float) -> float:
    """P(a match with a sample unique is right): data intrusion simulation (Skinner and Elliot 2002).

    U·p / (U·p + P·(1-p)), with U sample uniques, P people of the sample in cells of two, and the fraction p sampled:
    one person is taken out of the sample and put back with probability p; some match one row then, rightly or not.
    0 without sample uniques.
    """
    if not 0 < fraction <= 1:
        raise UsageError(f"a sampling fraction of {fraction:g} makes no sense; it lies above 0 and at most at 1")
    alone, pairs = float((counts.count == 1).sum()), 2.0 * float((counts.count == 2).sum())
    return alone * fraction / (alone * fraction + pairs * (1 - fraction)) if alone else 0.0


def dis_suda(counts: KeyCounts, found: MinimalUniques, fraction: float) -> NDArray[np.float64]:
    """(rows,) DIS shared out by the scores of minimal sample uniques (Elliot and Manning 2003; sdcMicro's suda2).

    1 / (1 + U·(1/DIS - 1) / (score^q · sum of score^-q)) with q = 1 + (8 - attributes)/20, the sum over all who have a
    score; 0 for who has none. Where all U have one score, all have DIS.
    """
    whole = data_intrusion(counts, fraction)
    scored = found.score > 0
    risk = np.zeros(len(found.score))
    if not scored.any() or not whole:
        return risk
    power = found.score[scored] ** (1 + (8 - len(found.names)) / 20)
    uniques = float((counts.count == 1).sum())
    risk[scored] = 1 / (1 + uniques * (1 / whole - 1) / (power * (1 / power).sum()))
    return risk
