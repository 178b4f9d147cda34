"""Linkage by one who knows the masking: by hand, and never fewer right links than by distance alone."""

import numpy as np
import pytest

from small import QI, made_schema, made_table, masked_release
from unveil.anonymizers.microaggregation import Microaggregation
from unveil.anonymizers.noise import Noise
from unveil.anonymizers.pram import Pram
from unveil.anonymizers.rank_swapping import RankSwapping
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.published import published_of
from unveil.risk.linkage.register import Register, register_of_table
from unveil.risk.linkage.transparency import Method, link_by_method


def people(seed: int = 1, rows: int = 60) -> Table:
    spread = [[100, 80, 30], [80, 100, 20], [30, 20, 60]]
    values = np.random.default_rng(seed).multivariate_normal([50, 40, 30], spread, rows).round(1)
    schema = made_schema({name: {"role": QI, "kind": "numeric"} for name in "abc"})
    return made_table(schema, *([f"{v:.1f}" for v in row] for row in values))


def line(*values: float) -> tuple[Table, Register]:
    schema = made_schema({"a": {"role": QI, "kind": "numeric"}, "sex": {"role": QI}})
    table = made_table(schema, *((f"{v:g}", "m") for v in values))
    return table, register_of_table(table, table.attributes)


@pytest.mark.parametrize(
    "method",
    [Microaggregation(k=4), Microaggregation(k=4, method="univariate"), RankSwapping(p=4), RankSwapping(p=15)],
)
@pytest.mark.parametrize("some", [60, 25])
def test_nobody_is_lost_by_ruling_rows_out(method: Method, some: int) -> None:
    table = people()
    made = method.anonymize(table, Engine(seed=2))
    held = register_of_table(table, table.attributes).some(np.arange(some))
    published = published_of(made.release, ("a", "b", "c"), made.group_of_row)
    told = link_by_method(made.release, held, method, made.group_of_row)
    assert reid(told).value >= reid(link_by_distance(published, held)).value
    plain = link_by_distance(published, held, scales=(told.scale,))  # type: ignore[arg-type]
    assert plain.chance is not None
    assert told.chance is not None
    assert (told.chance >= plain.chance - 1e-12).all()
    if method in (Microaggregation(k=4), RankSwapping(p=4)) and some == 60:
        assert reid(told).value > reid(plain).value


def test_whoever_can_do_microaggregation_again_knows_every_group() -> None:
    table, method = people(), Microaggregation(k=4)
    made = method.anonymize(table, Engine(seed=2))
    told = link_by_method(made.release, register_of_table(table, table.attributes), method, made.group_of_row)
    assert reid(told).value == pytest.approx(1 / 4)  # 15 groups of 4
    assert (told.size == 4).all()


def test_rank_swapping_by_hand() -> None:
    # Values 0 1 2 30 31 32; with p = 17% of six rows, one rank away. 2 and 30 changed places, as did 31 and 32.
    table, held = line(0, 1, 2, 30, 31, 32)
    published = np.array([0.0, 1.0, 30.0, 2.0, 32.0, 31.0])
    sex = np.zeros(6, dtype=np.int64)
    masked = masked_release(table.attributes, (published, sex), (0,))
    told = link_by_method(masked, held, RankSwapping(p=17), np.arange(6))
    # Whoever has 2 may have 1, 2 or 30: 2 is nearest, and wrong. Nobody else may have it but those next to it.
    assert told.row.tolist() == [0, 1, 3, 2, 5, 4]
    assert told.chance.tolist() == [1, 1, 0, 0, 0, 0]  # type: ignore[union-attr]


def test_a_row_beyond_the_window_is_ruled_out() -> None:
    schema = made_schema({"a": {"role": QI, "kind": "numeric"}, "b": {"role": QI, "kind": "numeric"}})
    table = made_table(schema, ("10", "0"), ("12", "50"), ("20", "1"), ("30", "40"), ("40", "2"), ("50", "3"))
    held = register_of_table(table, table.attributes).some(np.array([0]))
    b = np.array([1.0, 40.0, 0.0, 50.0, 3.0, 2.0])
    masked = masked_release(table.attributes, (np.array([12.0, 10.0, 20.0, 40.0, 30.0, 50.0]), b), (0, 1))
    told = link_by_method(masked, held, RankSwapping(p=17), np.arange(6))
    assert told.row.tolist() == [0]
    assert told.size.tolist() == [1]
    # 10 may show as 10 or 12, and 0 as 0 or 1: only row 0 has both, however far.
    plain = link_by_distance(published_of(masked, ("a", "b"), np.arange(6)), held, scales=("moments",))
    assert plain.row.tolist() != [0]


def test_means_of_each_attribute_lie_next_to_the_value() -> None:
    table, held = line(0, 1, 2, 10, 11, 12, 20, 21, 22)
    means = np.repeat([1.0, 11.0, 21.0], 3)
    masked = masked_release(table.attributes, (means, np.zeros(9, dtype=np.int64)), (0,))
    two = held.some(np.array([2, 3]))
    # Standardised, 2 and 10 are -1 and 1, and the means -1.22, 0 and 1.22; but 10 lies between 1 and 11.
    plain = link_by_distance(published_of(masked, ("a", "sex"), np.arange(9)), two, scales=("moments",))
    assert plain.chance.tolist() == pytest.approx([1 / 3, 0])  # type: ignore[union-attr]
    told = link_by_method(masked, two, Microaggregation(k=3, method="univariate"), np.arange(9))
    assert told.chance.tolist() == pytest.approx([1 / 3, 1 / 3])  # type: ignore[union-attr]


def test_columns_that_were_not_masked_are_the_persons_own() -> None:
    schema = made_schema({"a": {"role": QI, "kind": "numeric"}, "sex": {"role": QI}})
    table = made_table(schema, ("1", "m"), ("2", "f"), ("9", "m"), ("8", "f"))
    masked = masked_release(table.attributes, (np.array([2.0, 1.0, 9.0, 8.0]), np.array([1, 0, 1, 0])), (0,))
    told = link_by_method(masked, register_of_table(table, table.attributes), Noise(amount=1.0), np.arange(4))
    assert table.columns[1].tolist() == [1, 0, 1, 0]
    assert told.chance is not None
    assert (table.columns[1][told.row] == table.columns[1]).all()


def test_the_likelihood_of_noise_by_hand() -> None:
    # One person held of two; published 0 and 4: mean 2, variance 4; amount 1, so that the noise has variance 2.
    table, held = line(0, 4)
    masked = masked_release(table.attributes, (np.array([0.0, 4.0]), np.zeros(2, dtype=np.int64)), (0,))
    told = link_by_method(masked, held.some(np.array([0])), Noise(amount=1.0), np.arange(2))
    assert told.row.tolist() == [0]
    mine, other = 1.0, np.sqrt(1 / 2) * np.exp(-(2.0**2) / 4 / 2)  # densities of row 0, over 1 / sqrt(2 pi 2)
    assert told.score[0] ** 2 == pytest.approx(-2 * np.log(mine / (mine + other)))


@pytest.mark.parametrize("kind", ["independent", "correlated"])
def test_knowing_the_noise_links_more_on_average(kind: str) -> None:
    method, gain = Noise(amount=0.3, kind=kind), 0.0  # type: ignore[arg-type]
    for seed in range(6):
        table = people(seed)
        made = method.anonymize(table, Engine(seed=seed))
        held = register_of_table(table, table.attributes)
        plain = link_by_distance(published_of(made.release, ("a", "b", "c"), made.group_of_row), held)
        gain += reid(link_by_method(made.release, held, method, made.group_of_row)).value - reid(plain).value
    assert gain / 6 > 0.02


def test_other_methods_tell_nothing_here() -> None:
    table, held = line(0, 4)
    masked = masked_release(table.attributes, (np.array([0.0, 4.0]), np.zeros(2, dtype=np.int64)), (0,))
    with pytest.raises(NotApplicable, match="Pram"):
        link_by_method(masked, held, Pram(retain=0.5), np.arange(2))  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match="was masked"):
        link_by_method(masked, held.only(["sex"]), Noise(amount=1.0), np.arange(2))
