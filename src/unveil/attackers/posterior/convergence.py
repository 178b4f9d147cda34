"""How long to sample, whether chains agree, and how precise their beliefs are.

Split R-hat, effective sample size and Monte-Carlo error (Vehtari et al. 2021, sections 2 and 3) of the batch means of
watched beliefs: for all of them at once, equal to arviz-stats', which takes them one by one. How far chains lie apart
is looked at for every belief. Parameters are held to Geweke's test and rows to Weiss'.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Diagnostics
from unveil.errors import UsageError

__all__ = [
    "BATCHES",
    "PRECISION",
    "Chains",
    "diagnostics",
    "effective_size",
    "geweke",
    "modes_of",
    "split_r_hat",
    "weiss",
]

BATCHES = 50  # batch means of a chain, at least (up to twice as many)
PRECISION = 0.003  # the stated standard error of 99% of beliefs
ERROR_OF_ALL, MANY = 20 / 3, 1000  # of every one: these times that (.02); of few beliefs all must be as sure as most
R_HAT, MOST_APART = 1.1, 0.05  # a share of beliefs above this R-hat is too many
FEW = 100  # targets that are watched first
FAR = 0.1  # chains whose beliefs about 1% of the people differ by more are in different places

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """A first round of sweeps after burn-in, then more by themselves until beliefs are precise or the budget ends."""

    chains: int = 4
    sweeps: int = 1000  # of the first round
    most_sweeps: int = 16_000  # of all rounds: the budget. The first round is always drawn whole
    burn_in: int = 1000
    every: int = 3  # sweeps between the states that are looked at
    keep: int = 400  # states of a chain, at least, that are kept for later questions
    anneal: bool = True
    precision: float = PRECISION  # the standard error of 99% of beliefs at which chains end; 20/3 of it for all

    def __post_init__(self) -> None:
        if self.chains < 2 or self.sweeps < BATCHES or self.burn_in < 0 or self.keep < 1 or self.every < 1:
            raise UsageError(f"a sampler needs 2 chains or more and {BATCHES} sweeps or more")
        if not 0 < self.precision < 1:
            raise UsageError(f"precision={self.precision:g} is not a standard error between 0 and 1; try 0.003")


def diagnostics(
    method: str, batches: Floats | None, chains: Floats | None, precision: float = PRECISION
) -> Diagnostics:
    """Agreement of chains, from batch means (batches, chains, watched targets, values) and chain means of all."""
    if chains is None or batches is None:
        return Diagnostics(method)
    error = chains.std(axis=0, ddof=1).max(axis=1, initial=0.0) / np.sqrt(len(chains))
    spread = (chains.max(axis=0) - chains.min(axis=0)).max(axis=1, initial=0.0)
    facts: dict[str, float | str] = {
        "chains": float(len(chains)),
        "precision": precision,
        "error_q99": _q99(error),
        "error_max": float(error.max(initial=0.0)),
        "disagreement_q99": _q99(spread),
    }
    apart, r_hat = 0.0, None
    if len(batches) >= 4 and batches.shape[2]:
        # A tenth first: most of the time goes into watching, and what is far from precise shows in few.
        found = _watched(batches[:, :, ::10]) if batches.shape[2] > 10 * FEW else None
        if found is None or _q99(found["error"]) <= 1.3 * precision:
            found = _watched(batches)
        r_hat = found["r_hat"]
        apart = float((r_hat > R_HAT).mean())
        facts |= {
            "r_hat_share_above_1.1": apart,
            "r_hat_max": float(r_hat.max()),
            "ess_q01": float(np.quantile(found["ess"], 0.01)),
            # A mode of this weight may well have been met by nobody: no interval is narrower.
            "unseen_mode": 1 / max(float(np.quantile(found["ess"], 0.01)), 1.0),
            "error_q99": _q99(found["error"]),
            "watched": float(len(found["error"])),
            "batches": float(len(batches)),
        }
        # Few people: what was estimated from 50 batch means a chain, not from four chain means, is the surer figure.
        if len(found["error"]) == chains.shape[1]:
            facts["error_max"] = float(found["error"].max())
    else:
        apart = 1.0  # only the chains' means are there: far apart is far apart
    far = float(facts["disagreement_q99"]) > FAR
    most, largest = float(facts["error_q99"]), float(facts["error_max"])
    over = largest if len(error) < MANY else max(most, largest / ERROR_OF_ALL)  # at most `precision`, if precise
    converged = not (apart > MOST_APART and far)
    return Diagnostics(
        method,
        converged,
        converged and over <= precision,
        facts,
        () if converged else modes_of(chains),
        r_hat,
        (over / precision) ** 2,
    )


def _q99(values: Floats) -> float:
    return float(np.quantile(values, 0.99)) if len(values) else 0.0


def _watched(batches: Floats) -> dict[str, Floats]:
    """R-hat, effective batches and error of each watched target's belief, in the value that moves most."""
    moves = batches.var(axis=(0, 1)).argmax(axis=1)
    belief = np.take_along_axis(batches, moves[None, None, :, None], axis=3)[..., 0].transpose(1, 0, 2)
    still = belief.std(axis=1).max(axis=0) < 1e-9  # within every chain
    together = np.ptp(belief.mean(axis=1), axis=0) < 1e-6
    r_hat, size, error = (np.ones(belief.shape[2]), np.full(belief.shape[2], np.inf), np.zeros(belief.shape[2]))
    r_hat[still & ~together] = np.inf  # chains that stand still apart
    if not still.all():
        moving = np.ascontiguousarray(belief[:, :, ~still])
        r_hat[~still] = split_r_hat(moving)
        size[~still] = effective_size(moving)
        error[~still] = moving.std(axis=(0, 1), ddof=1) / np.sqrt(size[~still])
    each = belief.mean(axis=1)  # never surer than the chains are of each other
    between = each.std(axis=0, ddof=1) / np.sqrt(len(each))
    error[still | ~np.isfinite(error)] = between[still | ~np.isfinite(error)]
    return {"r_hat": np.nan_to_num(r_hat, nan=np.inf), "ess": np.minimum(size, 1e9), "error": error}


def split_r_hat(draws: Floats) -> Floats:
    """(numbers,) split R-hat of `draws` (chains, draws, numbers), which must move in every half."""
    halves = _halves(draws)
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = length * halves.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((between / within + length - 1) / length))


def effective_size(draws: Floats) -> Floats:
    """(numbers,) effective sample size for the mean of `draws` (chains, draws, numbers).

    Autocorrelations are summed in pairs while a pair is positive, none larger than the one before (Geyer 1992), and
    half of the first number that is left out.
    """
    halves = _halves(draws)
    chains, length, _ = halves.shape
    means = halves.mean(axis=1)
    wave = np.fft.rfft(halves - means[:, None], n=2 * length, axis=1)
    covariance = np.fft.irfft(wave * wave.conj(), n=2 * length, axis=1)[:, :length].mean(axis=0) / length
    within = covariance[0] * length / (length - 1)
    whole = covariance[0] + means.var(axis=0, ddof=1)
    correlation = 1 - (within - covariance) / whole
    correlation[0] = 1
    last = max((length - 3) // 2, 0)  # pairs beyond rest on too few draws
    pairs = correlation[0 : 2 * last + 1 : 2] + correlation[1 : 2 * last + 2 : 2]
    ends = pairs <= 0
    stop = np.where(ends.any(axis=0), ends.argmax(axis=0), last)
    kept = np.arange(last + 1)[:, None] < stop
    total = np.where(kept, np.minimum.accumulate(pairs, axis=0), 0).sum(axis=0)
    number = np.arange(pairs.shape[1])
    after = correlation[2 * stop, number]
    time = 2 * total - 1 + np.where((after > 0) | (pairs[stop, number] >= 0), after, 0)
    size = chains * length
    return np.asarray(size / np.maximum(time, 1 / np.log10(size)))


def _halves(draws: Floats) -> Floats:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def modes_of(chains: Floats) -> tuple[tuple[int, ...], ...]:
    """Chains that lie together, the largest company first: each is one mode of the posterior."""
    number = list(range(len(chains)))
    for a, b in combinations(range(len(chains)), 2):
        if _q99(np.abs(chains[a] - chains[b]).max(axis=1, initial=0.0)) <= FAR:
            old, new = max(number[a], number[b]), min(number[a], number[b])
            number = [new if n == old else n for n in number]
    found = [tuple(i for i, n in enumerate(number) if n == mode) for mode in sorted(set(number))]
    return tuple(sorted(found, key=lambda mode: (-len(mode), mode)))


def geweke(draws: Floats, *, first: float = 0.1, last: float = 0.5) -> Floats:
    """(parameters,) z of the mean of the first part of a chain (draws, parameters) against the last (Geweke 1992).

    The variance of a part's mean comes from means of batches, so that autocorrelated draws do not look surer.
    """
    count = len(draws)
    batch = max(count // 50, 1)
    means = draws[: count // batch * batch].reshape(-1, batch, *draws.shape[1:]).mean(axis=1)
    head, tail = means[: max(int(first * len(means)), 1)], means[-max(int(last * len(means)), 1) :]
    variance = means.var(axis=0, ddof=1) * (1 / len(head) + 1 / len(tail))
    gap = head.mean(axis=0) - tail.mean(axis=0)
    return np.asarray(np.divide(gap, np.sqrt(variance), out=np.zeros_like(gap), where=variance > 1e-300))


def weiss(states: NDArray[np.integer], values: int, *, parts: int = 5) -> Floats:
    """(rows,) p-value: are the parts of a chain of categorical states (draws, rows) alike? (Weiss' procedure)

    A chi-square test of homogeneity, divided by (1 + k) / (1 - k) for the autocorrelation, where k is Cohen's kappa
    at lag 1 (Deonovic and Smith 2017, section 2.3; Boreale et al. 2020, VI-D). Rows with one state have p = 1.
    """
    from scipy.special import chdtrc

    length = len(states) // parts
    used = states[: length * parts]
    counts = np.stack([(used == s).reshape(parts, length, -1).sum(axis=1) for s in range(values)])  # (values, parts, …)
    overall = counts.sum(axis=1) / len(used)
    expected = overall[:, None] * length
    terms = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(expected * counts), where=expected > 0)
    statistic = terms.sum(axis=(0, 1))
    same, chance = (used[1:] == used[:-1]).mean(axis=0), (overall**2).sum(axis=0)
    kappa = np.divide(same - chance, 1 - chance, out=np.zeros_like(chance), where=chance < 1)
    kappa = np.clip(kappa, 0.0, 0.999)
    freedom = (parts - 1) * ((overall > 0).sum(axis=0) - 1)
    found = chdtrc(np.maximum(freedom, 1), statistic * (1 - kappa) / (1 + kappa))
    return np.where(freedom > 0, found, 1.0)
