"""Masking methods by hand, and against searches that share no code with them."""

from itertools import combinations
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray

from small import INSENSITIVE, QI, SENSITIVE, made_schema, made_table, masked_release
from unveil import catalog
from unveil.anonymizers.microaggregation import _near
from unveil.data.release import Anonymized
from unveil.data.rows import as_published, origin_of, rows_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import ReleaseError, RequirementError, SchemaError, Stopped, UsageError
from unveil.formats.releases import read_release, release_files, write_release
from unveil.formats.releases.assignments import read_assignment
from unveil.kernels import masking

NUMBER = {"role": QI, "kind": "numeric"}


def numbers(*columns: NDArray[np.floating] | list[float]) -> Table:
    schema = made_schema({f"v{i}": NUMBER for i in range(len(columns))} | {"s": {"role": SENSITIVE}})
    return made_table(schema, *[(*row, "x") for row in zip(*(map(float, c) for c in columns), strict=True)])


def masked_by(text: str, table: Table, seed: int = 1) -> list[NDArray[np.float64]]:
    """The published columns in the original's order of rows."""
    made = catalog.anonymizer(text).anonymize(table, Engine(seed=seed))
    assert made.release.perturbed
    back = made.group_of_row
    return [column[back] for column in rows_of(made.release).columns]


def test_mdav_by_hand() -> None:
    # The mean is 5.5; 20 lies farthest, its nearest are 9 and 8; farthest from 20 is 0, with 1 and 2.
    (column, *_) = masked_by("microaggregation:k=3", numbers([0, 1, 2, 3, 4, 5, 8, 9, 20, 3]))
    assert np.allclose(column[[0, 1, 2]], 1)
    assert np.allclose(column[[6, 7, 8]], 37 / 3)
    assert np.allclose(column[[3, 4, 5, 9]], 3.75)  # fewer than 2k are left: one group


def test_mdav_weighs_attributes_by_their_deviation() -> None:
    wide, narrow = [0.0, 1000, 0, 1000], [0.0, 0, 1, 1.001]
    column = masked_by("microaggregation:k=2", numbers(wide, narrow))[0]
    assert column.tolist() == [500, 500, 500, 500]  # of equal weight, the pairs are those alike in the second


def test_mdav_groups_hold_k_and_leave_means_alone() -> None:
    random = np.random.default_rng(2)
    point = random.normal(size=(103, 3))
    table = numbers(*point.T)
    found = np.stack(masked_by("microaggregation:k=5", table)[:3], axis=1)
    _, count = np.unique(found.round(9), axis=0, return_counts=True)
    assert 5 <= count.min() <= count.max() <= 9
    assert np.allclose(found.mean(axis=0), point.mean(axis=0))


def plain_mdav(point: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Maximum distance to average vector as it is written (Domingo-Ferrer and Torra 2005), all pairs compared.

    The first of equals is taken; sums are made in the same order as the kernel's.
    """
    order = np.lexsort(point.T[::-1])
    point, group, number = point[order], np.full(len(point), -1), 0
    total = np.zeros(point.shape[1])
    for row in point:
        total = total + row

    def distances(place: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros(len(point))
        for a in range(point.shape[1]):
            found = found + (point[:, a] - place[a]) ** 2
        return np.where(group < 0, found, np.nan)

    def take(seed: int) -> None:
        nonlocal number, total
        far = distances(point[seed])
        far[seed] = -1
        for row in np.argsort(far, kind="stable")[:k]:
            group[row] = number
            total = total - point[row]
        number += 1

    while (left := int((group < 0).sum())) >= 2 * k:
        first = int(np.nanargmax(distances(total / left)))
        second = int(np.nanargmax(distances(point[first])))
        take(first)
        if left >= 3 * k:
            take(second if group[second] < 0 else int(np.nanargmax(distances(point[first]))))
    group[group < 0] = number
    found = np.empty_like(group)
    found[order] = group
    return found


@pytest.mark.parametrize(
    ("rows", "width", "k", "grid"),
    [
        *((600, 3, 5, 0), (400, 2, 3, 6), (11, 1, 3, 4), (7, 2, 3, 4)),
        *((3, 1, 3, 4), (120, 8, 2, 0), (90, 2, 40, 3), (99, 3, 4, 1)),
    ],
)
def test_mdav_takes_the_groups_that_comparing_all_rows_gives(rows: int, width: int, k: int, grid: int) -> None:
    """`grid`: few values, so that many rows are equal and most choices are between equals."""
    random = np.random.default_rng(rows)
    point = random.integers(0, grid, (rows, width)) / 3 if grid else random.normal(size=(rows, width))
    assert np.array_equal(_near(point, k, Engine()), plain_mdav(point, k))


def test_mdav_tells_how_far_it_is_and_stops() -> None:
    told: list[tuple[int, int]] = []
    stop = Event()

    def progress(task: str, done: int, total: int) -> None:
        told.append((done, total))
        stop.set()

    table = numbers(*np.random.default_rng(1).normal(size=(2, 5000)))
    with pytest.raises(Stopped, match="stopped before all rows were grouped"):
        catalog.anonymizer("microaggregation:k=5").anonymize(table, Engine(seed=1, progress=progress, stop=stop))
    assert told == [(500, 5000)]


def test_kernels_compiled_and_not_give_the_same() -> None:
    with np.errstate(over="ignore"):
        partners = [np.full(40, -1, dtype=np.int64) for _ in range(2)]
        masking.swap_ranks(40, 6, np.uint64(9), partners[0])
        masking.swap_ranks.py_func(40, 6, np.uint64(9), partners[1])
    assert np.array_equal(*partners)


def best_line(value: NDArray[np.float64], k: int) -> float:
    """The least sum of squares of any cut into runs of at least k, by trying all."""
    rows, best = len(value), np.inf
    for parts in range(1, rows // k + 1):
        for cuts in combinations(range(1, rows), parts - 1):
            runs = np.split(value, cuts)
            if min(map(len, runs)) >= k:
                best = min(best, sum(((run - run.mean()) ** 2).sum() for run in runs))
    return best


def test_the_univariate_groups_are_the_best_there_are() -> None:
    random = np.random.default_rng(3)
    for rows, k in [(3, 3), (7, 2), (11, 3), (12, 2)]:
        value = np.sort(random.exponential(size=rows).round(3))
        group = np.full(rows, -1, dtype=np.int64)
        found = masking.optimal_line(value, k, group)
        assert sorted(set(group.tolist())) == list(range(found))
        loss = sum(((value[group == g] - value[group == g].mean()) ** 2).sum() for g in range(found))
        assert np.isclose(loss, best_line(value, k))
        assert np.bincount(group).min() >= k


def test_univariate_is_done_attribute_by_attribute() -> None:
    one, other = masked_by("microaggregation:k=2,method=univariate", numbers([0, 1, 10, 11], [5, 1, 6, 2]))[:2]
    assert one.tolist() == [0.5, 0.5, 10.5, 10.5]
    assert other.tolist() == [5.5, 1.5, 5.5, 1.5]


def test_a_missing_number_becomes_its_groups_mean() -> None:
    schema = made_schema({"v": {**NUMBER, "missing": "category"}, "s": {"role": SENSITIVE}}, missing=["?"])
    table = made_table(schema, *[(v, "x") for v in ("0", "2", "?", "4", "100", "102")])
    column = masked_by("microaggregation:k=2", table)[0]
    assert not np.isnan(column).any()
    assert np.unique(column, return_counts=True)[1].min() >= 2


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(RequirementError, match="3 rows are too few for a group of k=4"):
        masked_by("microaggregation:k=4", numbers([1, 2, 3]))


def test_noise_has_the_deviation_and_correlation_asked_for() -> None:
    random = np.random.default_rng(7)
    one = random.normal(size=4000) * 3
    table = numbers(one, 10 * one + random.normal(size=4000) * 5, np.full(4000, 2.0))
    truth = np.stack(as_published(table.attributes, table.columns)[:3], axis=1)
    for kind, correlation in (("independent", 0.0), ("correlated", np.corrcoef(truth[:, :2].T)[0, 1])):
        found = np.stack(masked_by(f"noise:amount=0.5,kind={kind}", table)[:3], axis=1) - truth
        assert np.allclose(found.std(axis=0), truth.std(axis=0) / 2, rtol=0.05)
        assert np.abs(np.corrcoef(found[:, :2].T)[0, 1] - correlation) < 0.05
        assert np.abs(found.mean(axis=0)[:2] / truth.std(axis=0)[:2]).max() < 0.04
        assert np.allclose(found[:, 2], 0)


def test_swapped_ranks_are_near_and_every_value_stays() -> None:
    value = np.random.default_rng(1).permutation(200).astype(float)
    found = masked_by("rank_swapping:p=5", numbers(value))[0]
    assert sorted(found) == sorted(value)
    assert np.abs(found - value).max() == 10  # 5 % of 200 ranks, reached
    assert (found != value).mean() > 0.9


def test_pram_draws_from_its_matrix() -> None:
    schema = made_schema({"c": {"role": QI, "domain": ["a", "b", "c"]}, "s": {"role": SENSITIVE}})
    table = made_table(schema, *[(v, "x") for v in "a" * 3000 + "b" * 2000 + "c" * 1000])
    method = catalog.make(
        catalog.member("anonymizers", "pram"),
        {"matrix": {"c": [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]}, "publish": "true"},
        "pram",
    )
    made = method.anonymize(table, Engine(seed=5))
    found = rows_of(made.release).columns[0][made.group_of_row]
    share = [np.bincount(part, minlength=3) / len(part) for part in np.split(found, [3000, 5000])]
    assert np.allclose(share, made.release.perturbed[0].channel, atol=0.04)
    assert share[0][2] == 0
    assert share[1][1] == 1


def test_pram_uniform_and_invariant_matrices_by_hand() -> None:
    schema = made_schema({"c": {"role": QI, "domain": ["a", "b", "c"]}, "s": {"role": SENSITIVE}})
    table = made_table(schema, *[(v, "x") for v in "aaaabbbccc"])
    run = {
        kind: catalog.anonymizer(f"pram:retain=0.6,kind={kind},publish=true").anonymize(table, Engine(seed=0))
        for kind in ("uniform", "invariant")
    }
    assert np.allclose(run["uniform"].release.perturbed[0].channel, [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    chances = run["invariant"].release.perturbed[0].channel
    assert np.allclose(chances[0], [0.76, 0.12, 0.12])
    assert np.allclose(np.array([0.4, 0.3, 0.3]) @ chances, [0.4, 0.3, 0.3])
    assert run["uniform"].release.method == "pram:retain=0.6,kind=uniform"


def test_top_and_bottom_by_hand() -> None:
    table = numbers([1, 2, 3, 4, 5, 6, 7, 8, 9, 100])
    assert masked_by("top_bottom:top=0.2,bottom=0.1", table)[0].tolist() == [2, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    assert masked_by("top_bottom:top=0.2,by=mean", table)[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 54.5, 54.5]


def test_rounding_by_hand() -> None:
    table = numbers([0, 2.4, 2.5, 7, -2.5, -3])
    assert masked_by("rounding:base=5", table)[0].tolist() == [0, 0, 5, 5, 0, -5]
    many = numbers([0, 2.4, 2.5, 7, -2.5, -3] * 400)
    drawn = masked_by("rounding:base=5,kind=random", many)[0].reshape(400, 6)
    assert np.allclose(drawn.mean(axis=0), [0, 2.4, 2.5, 7, -2.5, -3], atol=0.45)
    assert set(np.unique(drawn)) == {-5, 0, 5, 10}
    assert masked_by("rounding:base=0.1", numbers([0.3, 0.7]))[0] == pytest.approx([0.3, 0.7])


def test_a_sample_is_an_ordinary_release_of_fewer_people(tmp_path: Path) -> None:
    table = numbers([1, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    made = catalog.anonymizer("sampling:share=0.5").anonymize(table, Engine(seed=1))
    assert isinstance(made, Anonymized)
    assert made.release.rows == 5 == (made.group_of_row >= 0).sum()
    write_release(made.release, tmp_path / "r.csv")
    assert not (tmp_path / "r.toml").exists()
    found = read_release(tmp_path / "r.csv", made_schema({"v0": NUMBER, "s": {"role": SENSITIVE}}))
    assert found.rows == 5
    with pytest.raises(RequirementError, match="nobody"):
        catalog.anonymizer("sampling:share=0.01").anonymize(table, Engine(seed=0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("microaggregation:k=1", "choose a whole number of at least 2"),
        ("noise:amount=0", "above 0"),
        ("rank_swapping:p=0", "choose a number above 0 and at most 100"),
        ("pram:retain=2", "choose a number of at least 0 and at most 1"),
        ("top_bottom:top=0.6,bottom=0.5", "less than 1"),
        ("rounding:base=-1", "above 0"),
        ("sampling:share=1", "choose a number above 0 and below 1"),
        ("noise:amount=1,attributes=s", "'s' is categorical"),
        ("noise:amount=1,attributes=v0+v0", "twice"),
        ("pram:retain=0.5", "no categorical or ordinal quasi-identifier"),
    ],
)
def test_options_that_make_no_sense(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        masked_by(text, numbers([1, 2, 3]))


def test_a_wrong_matrix_is_refused() -> None:
    pram = catalog.member("anonymizers", "pram")
    table = numbers([1, 2, 3])
    with pytest.raises(UsageError, match="needs 1 rows of 1 probabilities"):
        pram(matrix={"s": [[0.5, 0.5]]}).anonymize(table, Engine(seed=0))
    with pytest.raises(UsageError, match="not among attributes"):
        pram(matrix={"s": [[1.0]]}, attributes=("v0",)).anonymize(table, Engine(seed=0))


SCHEMA = made_schema({"age": NUMBER, "sex": {"role": QI, "domain": ["f", "m"]}, "pay": {"role": INSENSITIVE}})


@pytest.mark.parametrize(
    ("cells", "sidecar", "words"),
    [
        ("zz,f,a", 'masked = ["age"]', "age: no cell names a value"),
        ("1,x,a", 'masked = ["age"]', "line 2, sex: 'x' is not a value"),
        ("1,f,a", 'masked = ["height"]', "'height' is not a column"),
        ("1,f,a", 'masked = ["age"]\ngroup = "age"', "'age' names the groups"),
        ("1,f,a", 'masked = ["sex"]\n[channel]\nsex = [[1.0]]', "not 2 × 2"),
        ("1,f,a", 'masked = ["sex"]\n[channel]\nsex = [[1.0, 1.0], [0.0, 1.0]]', "add up to 1"),
        ("1,f,a", 'masked = ["age"]\n[channel]\nsex = [[1.0, 0.0], [0.0, 1.0]]', "belongs to a perturbed"),
    ],
)
def test_files_that_cannot_be_read(cells: str, sidecar: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(f'age,sex,pay\n"{cells.rsplit(",", 2)[0]}",{",".join(cells.rsplit(",", 2)[1:])}\n')
    (tmp_path / "r.toml").write_text(sidecar + "\n")
    with pytest.raises(ReleaseError, match=words):
        read_release(tmp_path / "r.csv", SCHEMA)


def test_counts_are_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('masked = ["age"]\n')
    for counts, fine in (("1", True), ("2", False)):
        (tmp_path / "r.csv").write_text(f"age,sex,pay,count\n1,f,a,1\n1,f,a,{counts}\n")
        if fine:
            assert read_release(tmp_path / "r.csv", SCHEMA).rows == 2
            continue
        with pytest.raises(ReleaseError, match="'count' says that a row stands for several people; write a row for"):
            read_release(tmp_path / "r.csv", SCHEMA)


def test_another_tools_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("sex,age,pay\nf,37.25,a\n*,*,a\n")
    (tmp_path / "r.toml").write_text('masked = ["age", "sex"]\n')
    found = read_release(tmp_path / "r.csv", SCHEMA)
    assert [a.name for a in found.attributes] == ["age", "sex", "pay"]
    age, sex, _ = rows_of(found).columns
    assert age[0] == 37.25
    assert np.isnan(age[1])
    assert sex.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("cell", "named", "code"),
    [
        ("NA", (), -1),  # sdcMicro: withheld beside what was perturbed
        ("<NA>", (), -1),
        ("?", (), 2),  # the missing category
        ("?", ("suppressed",), -1),
        ("", ("suppressed",), -1),
        ("", ("sex=suppressed",), -1),
        ("f", ("suppressed",), 0),
        (" f ", (), 0),
    ],
)
def test_withheld_cells_of_a_masked_release(cell: str, named: tuple[str, ...], code: int, tmp_path: Path) -> None:
    declared = {"role": "quasi-identifier", "domain": ["f", "m"], "missing": "category"}
    number = {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 0, "to": 9}, "missing": "category"}
    schema = made_schema({"age": number, "sex": declared, "pay": number}, missing=["?"])
    (tmp_path / "r.csv").write_text(f"age,sex,pay\n1,{cell},5.5\nNA,m,*\n")
    (tmp_path / "r.toml").write_text('masked = ["pay"]\n')
    found = rows_of(read_release(tmp_path / "r.csv", schema, cells=named))
    assert found.columns[1].tolist() == [code, 1]
    assert [np.isnan(found.columns[i]).tolist() for i in (0, 2)] == [[False, True], [False, True]]
    with pytest.raises(UsageError, match=r"--cells zip=…: .* publishes no such attribute; it has age, sex, pay"):
        read_release(tmp_path / "r.csv", schema, cells=["zip=list"])


def test_a_masked_table_that_cannot_be_is_never_born() -> None:
    table = numbers([1, 2])
    columns = as_published(table.attributes, table.columns)
    for wrong in [
        {"columns": columns[:1]},
        {"columns": (columns[0][:1], columns[1])},
        {"columns": (columns[0].astype(np.int64), columns[1])},
        {"columns": (columns[0], columns[1] + 9)},
        {"masked": (1, 0)},
        {"channel": {1: np.ones((1, 1))}},
    ]:
        with pytest.raises(ReleaseError):
            masked_release(**{"attributes": table.attributes, "columns": columns, "masked": (0,), **wrong})
    masked = masked_release(table.attributes, columns, (0,))
    for origin in ([0, 0], [0], [-1, 0]):
        with pytest.raises(UsageError, match="of all 2 published rows, each once"):
            origin_of(masked, np.array(origin))
    assert release_files(masked_release(table.attributes, columns, ()), "r.csv").keys() == {Path("r.csv")}


def test_an_assignment_that_does_not_fit(tmp_path: Path) -> None:
    table = numbers([1, 2, 3])
    columns = as_published(table.attributes, table.columns)
    masked = masked_release(table.attributes, tuple(c[:2] for c in columns), (0,))
    for text, words in [
        ("row,published\n1,1\n2,2\n", "row and group"),
        ("row,group\n1,1\n", "each of the published 2"),
        ("row,group\n1,1\n9,2\n", "'9' is not a row"),
        ("row,group\n1,1\n1,2\n", "appears there twice"),
        ("row,group\n1,1\n2,1\n", "appears there twice"),
    ]:
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises((UsageError, SchemaError), match=words):
            read_assignment(tmp_path / "a.csv", table, masked)
    (tmp_path / "a.csv").write_text("row,group\n3,1\n1,2\n")
    assert read_assignment(tmp_path / "a.csv", table, masked).tolist() == [1, -1, 0]
