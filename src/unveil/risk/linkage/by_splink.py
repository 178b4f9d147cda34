"""Weights as Splink estimates them: an attacker who is told no link, with a tool that anybody can have (extra linkage).

u is taken from random pairs, m by expectation maximisation among pairs that agree on a few attributes (blocking);
twice, so that every attribute is once not among these. Rows are then weighed by the exact patterns of all pairs.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage.patterns import CodedFiles
from unveil.risk.linkage.probabilistic import LEAST, Agreement

__all__ = ["SplinkEstimate", "blocking_sets", "estimate_by_splink"]

MOST_PAIRS = 2_000_000  # of one training session; of more a sample is taken
MOST_TOGETHER = 3  # attributes of a blocking rule
FEWEST_LEFT = 2  # attributes that a session must estimate: with one, m and the share of links cannot be told apart
MOST_ROUNDS = 500
STILL = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class SplinkEstimate:
    """What Splink found, and among which pairs."""

    model: Agreement
    blocks: tuple[tuple[int, ...], ...]  # attributes on which the pairs of each session agreed
    pairs: tuple[int, ...]  # how many pairs do; over MOST_PAIRS a sample of them was taken
    untrained: tuple[int, ...]  # attributes of which it could say nothing: they have no weight

    def remark(self, names: Sequence[str]) -> str:
        """Which pairs were learned from, and which were not."""
        sets = " and ".join(" + ".join(names[a] for a in block) for block in self.blocks)
        text = (
            f"Splink learned how often links agree from pairs that agree on {sets} "
            f"({' and '.join(f'{p:,}' for p in self.pairs)} pairs"
        )
        text += f", of which samples of about {MOST_PAIRS:,} were taken)" if max(self.pairs) > MOST_PAIRS else ")"
        text += "; links that differ in them taught it nothing. All pairs are weighed."
        if self.untrained:
            text += f" It could say nothing of {', '.join(names[a] for a in self.untrained)}."
        return text


def estimate_by_splink(
    files: CodedFiles, counts: NDArray[np.integer], *, share: float, engine: Engine | None = None
) -> SplinkEstimate:
    """m and u of Splink's own estimation. `counts` (patterns,): pairs, to choose blocks; `share`: links among pairs."""
    try:
        import duckdb
        import pyarrow as pa
        from splink import DuckDBAPI, Linker, SettingsCreator, block_on
        from splink.comparison_library import ExactMatch
    except ImportError:
        raise NotApplicable("Splink is not installed; install unveil[linkage]") from None
    blocks = blocking_sets(files.attributes, counts, share)
    seed = (Engine(seed=0) if engine is None else engine).named("splink").generator().integers(1, 2**31)
    columns = [f"a{i}" for i in range(files.attributes)]

    def table(values: NDArray[np.int64]) -> Any:
        coded = {c: pa.array(v, mask=v < 0) for c, v in zip(columns, values.T, strict=True)}
        return pa.table({"unique_id": np.arange(len(values)), **coded})

    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[ExactMatch(c) for c in columns],
        probability_two_random_records_match=float(np.clip(share, LEAST, 0.5)),
        em_convergence=STILL,
        max_iterations=MOST_ROUNDS,
        retain_matching_columns=False,
    )
    # One thread: sums of several come in any order. No folder for what does not fit: nothing of people on the disk.
    connection = duckdb.connect(":memory:", config={"threads": 1, "temp_directory": ""})
    try:
        with _silenced():
            database = DuckDBAPI(connection)
            inputs = [
                database.register(table(files.people[files.of_person]), dataset_display_name="people"),
                database.register(table(files.rows[files.of_row]), dataset_display_name="published"),
            ]
            linker = Linker(inputs, settings, log_level=None)
            linker.training.estimate_u_using_random_sampling(
                max_pairs=2 * MOST_PAIRS, seed=int(seed), min_count_per_level=None, num_chunks=1
            )
            rounds = 0
            for block in blocks:
                session = linker.training.estimate_parameters_using_expectation_maximisation(
                    block_on(*(columns[a] for a in block)),
                    estimate_without_term_frequencies=True,
                    max_pairs=MOST_PAIRS if _at_least(counts, block) > MOST_PAIRS else None,
                )
                rounds = max(rounds, len(session._core_model_settings_history) - 1)
            found = linker.misc.save_model_to_json()["comparisons"]
    except duckdb.Error as error:
        raise NotApplicable(f"Splink's database failed: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()
    levels = [one["comparison_levels"][1] for one in found]  # null, equal, everything else
    values = [(level.get("m_probability"), level.get("u_probability")) for level in levels]
    untrained = tuple(a for a, pair in enumerate(values) if not all(isinstance(p, float) for p in pair))
    m, u = (np.array([0.5 if a in untrained else pair[i] for a, pair in enumerate(values)]) for i in (0, 1))
    model = Agreement(
        np.clip(m, LEAST, 1 - LEAST), np.clip(u, LEAST, 1 - LEAST), share, rounds, converged=rounds < MOST_ROUNDS
    )
    return SplinkEstimate(model, blocks, tuple(_at_least(counts, b) for b in blocks), untrained)


def blocking_sets(attributes: int, counts: NDArray[np.integer], share: float) -> tuple[tuple[int, ...], ...]:
    """Two disjoint sets of attributes to block on: as few as leave one pair in 100 a link, else those of fewest pairs.

    Splink's advice is 1% of links or more among the pairs of a session. Fewer pairs than half the links teach nothing.
    """
    if attributes < FEWEST_LEFT + 1:
        raise NotApplicable(
            f"estimating without being told links needs {FEWEST_LEFT + 1} attributes, of which one tells pairs apart; "
            f"{attributes} {'is' if attributes == 1 else 'are'} known"
        )
    sets = [
        chosen
        for size in range(1, min(MOST_TOGETHER, attributes - FEWEST_LEFT) + 1)
        for chosen in combinations(range(attributes), size)
    ]
    pairs = {chosen: _at_least(counts, chosen) for chosen in sets}
    links = share * float(counts.sum())
    most = min(100 * links, MOST_PAIRS)
    apart = [(a, b) for a, b in combinations(sets, 2) if not set(a) & set(b) and min(pairs[a], pairs[b]) >= links / 2]
    if not apart:
        raise NotApplicable("too few pairs agree on anything for weights to be learned without being told links")

    def price(both: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[float, int, int]:
        large = max(pairs[both[0]], pairs[both[1]])
        return (large if large > most else 0, len(both[0]) + len(both[1]), pairs[both[0]] + pairs[both[1]])

    return min(apart, key=price)


def _at_least(counts: NDArray[np.integer], block: Sequence[int]) -> int:
    """Pairs that agree on all of these attributes."""
    bits = sum(1 << a for a in block)
    return int(counts[np.arange(len(counts)) & bits == bits].sum())


@contextmanager
def _silenced() -> Iterator[None]:
    """Splink says what it does, with shares of people in it, to whoever listens; nobody is to."""
    logger = logging.getLogger("splink")
    before = logger.level, logger.propagate
    nobody = logging.NullHandler()
    logger.addHandler(nobody)
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(nobody)
        logger.setLevel(before[0])
        logger.propagate = before[1]
