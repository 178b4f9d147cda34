"""Differential inference testing: the paper's examples, fast paths against slow ones, and every way to be asked."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier

from documents import check_document
from tests.small import QI, SENSITIVE, made_release, made_schema
from unveil import UnveilError, run_differential
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import ReleaseError, UsageError
from unveil.privacy.distances import Geometry
from unveil.privacy.models import EntropyL, KAnonymity
from unveil.risk.differential.evidence import counts_of, encoded_rows
from unveil.risk.differential.measures import distance_of
from unveil.risk.differential.models import BernoulliNaiveBayes, Conditional, inference_model
from unveil.risk.differential.sanitizers import parse_sweep, sanitizer_of, sweep

EXAMPLE = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 120}},
        "gender": {"role": QI, "domain": ["M", "F"]},
        "disease": {"role": SENSITIVE, "domain": ["Flu", "Cancer"]},
    }
)
TABLE_1A = Table.from_columns(
    EXAMPLE,
    {
        "age": [28, 36, 47, 53, 72],
        "gender": ["M", "M", "F", "M", "F"],
        "disease": ["Flu", "Flu", "Cancer", "Flu", "Flu"],
    },
)
TABLE_1B = [1, 1, 2 / 3, 1 / 3, 1 / 3]
TWO = Mondrian(require=(KAnonymity(k=2),), regions="cut", median="lower")


@pytest.fixture(scope="module")
def patients() -> Table:
    """Sixty made-up people, whose disease depends on their age."""
    random = np.random.default_rng(5)
    age = random.integers(20, 60, 60)
    disease = np.array(["flu", "ulcer", "cough"])[
        np.where(random.random(60) < 0.5, age // 20 - 1, random.integers(0, 3, 60))
    ]
    columns = {
        "age": age.tolist(),
        "town": random.choice(["a", "b", "c", "d"], 60, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
        "disease": disease.tolist(),
    }
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 60}},
            "town": {"role": QI, "domain": ["a", "b", "c", "d"]},
            "disease": {"role": SENSITIVE, "domain": ["flu", "ulcer", "cough"]},
        }
    )
    return Table.from_columns(schema, columns)


def distances(found: Any) -> np.ndarray:
    (tested,) = found.tests.values()
    return np.asarray(tested.distance)


@pytest.mark.parametrize("fast", [True, False])
def test_table_1b(fast: bool) -> None:
    found = run_differential(TABLE_1A, TWO, model="conditional", fast=fast)
    np.testing.assert_allclose(distances(found), TABLE_1B, atol=1e-15)
    (tested,) = found.tests.values()
    assert tested.path == ("replay" if fast else "every record run again")
    np.testing.assert_allclose(tested.within, [[1, 0], [1, 0], [2 / 3, 1 / 3], [2 / 3, 1 / 3], [2 / 3, 1 / 3]])
    np.testing.assert_allclose(tested.without, [[0.5, 0.5], [0.5, 0.5], [1, 0], [0.5, 0.5], [0.5, 0.5]])
    assert found.delta == 1


def test_table_1b_by_drawn_halves_where_nothing_is_tied() -> None:
    halves = Mondrian(require=(KAnonymity(k=2),), regions="cut", relaxed=True)
    np.testing.assert_allclose(distances(run_differential(TABLE_1A, halves, model="conditional")), TABLE_1B, atol=1e-15)


def test_total_variation_of_the_fourth_record_is_2_by_coordinates_and_a_sixth_between_vectors() -> None:
    by_coordinate = run_differential(TABLE_1A, TWO, model="conditional", distance="tv")
    assert distances(by_coordinate)[3] == 2
    between = run_differential(TABLE_1A, TWO, model="conditional", distance="tv", reading="vectors")
    assert distances(between)[3] == pytest.approx(1 / 6, abs=1e-15)


def test_the_encoding_of_section_4_3() -> None:
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 15, "to": 25}},
            "sex": {"role": QI, "domain": ["Male", "Female"]},
            "country": {"role": QI, "domain": ["France", "Germany", "Italy"]},
            "s": {"role": SENSITIVE, "domain": ["a", "b"]},
        }
    )
    table = Table.from_columns(
        schema, {"age": [15, 25], "sex": ["Male", "Female"], "country": ["France", "Italy"], "s": ["a", "b"]}
    )
    ages = [str(a) for a in range(15, 26)]
    release = made_release(
        table.attributes,
        [
            (
                (0, 1, 2, 3),
                [(0, ages, "Female", ["France", "Germany"], "a"), (1, ages[2:6], "Male", ["Italy", "Germany"], "b")],
            )
        ],
    )
    rows = encoded_rows(release, 3, np.array([1, 0, 0]))  # (16, Male, France)
    assert {(tuple(o), v) for o, v in zip(rows.ones.astype(int).tolist(), rows.value.tolist(), strict=True)} == {
        ((1, 0, 1), 0),
        ((0, 1, 0), 1),
    }


def test_naive_bayes_is_scikit_learns_on_the_encoded_rows(patients: Table) -> None:
    release = Mondrian(require=(KAnonymity(k=4),)).anonymize(patients, Engine(seed=0)).release
    asked, values = 2, 3
    codes = np.stack([np.asarray(patients.columns[i], np.int64) for i in (0, 1)], axis=1)
    prior = tuple((np.arange(1, values + 1) / np.arange(1, values + 1).sum()).tolist())
    ours, ours_with = (BernoulliNaiveBayes(prior=p).predict(release, asked, codes) for p in (None, prior))
    for row in range(0, patients.rows, 7):
        rows = encoded_rows(release, asked, codes[row])
        for p, mine in ((None, ours), (prior, ours_with)):
            present = np.unique(rows.value)
            if p is not None and len(present) < values:
                continue
            theirs = BernoulliNB(class_prior=p).fit(rows.ones, rows.value, sample_weight=rows.weight)
            expected = np.zeros(values)
            expected[theirs.classes_] = theirs.predict_proba(np.ones((1, codes.shape[1])))[0]
            np.testing.assert_allclose(mine[row], expected, atol=1e-12)


@pytest.mark.parametrize("model", ["bernoulli_nb", "conditional"])
@pytest.mark.parametrize("text", ["mondrian:k=4", "mondrian:k=3,l=2,regions=cut,median=lower"])
def test_the_replayed_path_is_the_slow_one(patients: Table, model: str, text: str) -> None:
    fast = run_differential(patients, sanitizer_of(text), model=model)
    slow = run_differential(patients, sanitizer_of(text), model=model, fast=False)
    assert [t.path for t in (*fast.tests.values(), *slow.tests.values())] == ["replay", "every record run again"]
    np.testing.assert_allclose(distances(fast), distances(slow), atol=1e-12)
    assert distances(fast).max() > 0.05


def test_a_requirement_that_cannot_be_replayed_goes_the_slow_way(patients: Table) -> None:
    found = run_differential(patients, Mondrian(require=(EntropyL(l=1.5),)), records=3, engine=Engine(seed=1))
    (tested,) = found.tests.values()
    assert (tested.path, len(tested.row)) == ("every record run again", 3)
    finding = next(f for f in found.document.findings if f.id == "delta")
    assert (finding.low, finding.high) == (finding.value, "inf")  # a sample is a lower bound


def test_any_function_of_a_table_and_any_classifier() -> None:
    def coarse(table: Table) -> Release:
        return TWO.anonymize(table, Engine(seed=0)).release

    np.testing.assert_allclose(distances(run_differential(TABLE_1A, coarse, model="conditional")), TABLE_1B, atol=1e-15)
    by_name = run_differential(TABLE_1A, coarse, model="LogisticRegression:C=0.5")
    by_object = run_differential(TABLE_1A, coarse, model=LogisticRegression(C=0.5))
    np.testing.assert_allclose(distances(by_name), distances(by_object), atol=1e-12)
    assert distances(by_name).max() > 0.1
    assert distances(run_differential(TABLE_1A, coarse, model=KNeighborsClassifier(3))).max() > 0.1  # takes no weights


def test_what_a_function_raises_is_told_with_its_record_and_the_rest_goes_on() -> None:
    def fails(table: Table) -> Any:
        if table.rows == 4 and 28 not in [int(table.attributes[0].values[c]) for c in table.columns[0]]:
            raise ValueError("no young people")
        return TWO.anonymize(table, Engine(seed=0))

    found = run_differential(TABLE_1A, fails, model="conditional")
    (tested,) = found.tests.values()
    np.testing.assert_allclose(tested.distance, TABLE_1B[1:], atol=1e-15)
    assert [(f.row, f.message) for f in tested.failures] == [(0, "ValueError: no young people")]
    assert found.exit_code == 3
    assert found.document.diagnostics["failures"][0]["row"] == 1
    with pytest.raises(ReleaseError, match="gave a int"):
        run_differential(TABLE_1A, lambda table: 3)


def test_a_release_that_hides_the_link_counts_every_link_alike() -> None:
    schema = made_schema({"q": {"role": QI, "domain": ["x", "y"]}, "s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    attributes = Table.from_columns(schema, {"q": ["x", "y"], "s": ["a", "b"]}).attributes
    release = made_release(
        attributes, [((0,), [(0, "x"), (0, "x"), (0, "y"), (1, "y")]), ((1,), [(0, "a"), (0, "a"), (0, "b"), (1, "b")])]
    )
    counts = counts_of(release, 1, np.array([[0], [1]]))
    np.testing.assert_allclose(counts.each[:, 0], [[4 / 3, 2 / 3], [2 / 3, 4 / 3]])
    np.testing.assert_allclose(counts.joint, counts.each[:, 0])
    np.testing.assert_allclose(Conditional().from_counts(counts), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])


def test_a_sanitizer_that_draws_needs_samples_and_tells_its_noise_floor(patients: Table) -> None:
    with pytest.raises(UsageError, match="the sanitizer draws"):
        run_differential(patients, Anatomy(l=2))
    found = run_differential(patients, Anatomy(l=2), samples=3, records=5)
    (tested,) = found.tests.values()
    assert tested.floor is not None
    assert (tested.floor > 0).all()
    delta = next(f for f in found.document.findings if f.id == "delta")
    assert delta.low == pytest.approx(max(0, (tested.distance - 2 * tested.floor).max()))
    assert delta.low < delta.value
    again = run_differential(patients, Anatomy(l=2), samples=3, records=5, engine=Engine(seed=0, workers=1))
    np.testing.assert_array_equal(distances(again), tested.distance)  # whatever the number of workers


def test_full_domain_draws_nothing(patients: Table) -> None:
    found = run_differential(
        patients, FullDomain(levels=(1, 0), require=(KAnonymity(k=2),), suppress=0.5), samples=4, records=4
    )
    (tested,) = found.tests.values()
    assert (tested.samples, tested.floor) == (1, None)


def test_priors_of_the_classes() -> None:
    plain = run_differential(TABLE_1A, TWO, model="conditional", prior={"Flu": 4, "Cancer": 1})
    (tested,) = plain.tests.values()
    # Record 3: one of three has cancer, who are all with cancer; shares 4/5 and 1/5 are those of the table itself.
    np.testing.assert_allclose(tested.within[2], [2 / 3, 1 / 3])
    even = run_differential(TABLE_1A, TWO, model="conditional", prior={"Flu": 1, "Cancer": 1})
    (tested,) = even.tests.values()
    np.testing.assert_allclose(tested.within[2], [1 / 3, 2 / 3])  # (2/4 : 1/1) · (1 : 1)
    with pytest.raises(UsageError, match="'Cold', which is not a sensitive value"):
        run_differential(TABLE_1A, TWO, prior={"Cold": 1})


def test_distances_by_hand() -> None:
    one, other = np.array([[[0.2, 0.8], [0.4, 0.6]]]), np.array([[[0.5, 0.5], [0.2, 0.8]]])
    apart = {n: distance_of(n, "coordinates", Geometry(), ordered=False) for n in ("emd", "tv", "js", "max_ratio")}
    assert apart["emd"](one, other)[0] == pytest.approx(0.1)  # (|.2-.2| + |.4-.5|) / 2, twice
    assert apart["tv"](one, other)[0] == pytest.approx(1.0)  # one of two atoms differs, in both coordinates
    assert apart["js"](one, other)[0] == pytest.approx(np.log(2))
    assert np.isinf(apart["max_ratio"](one, other)[0])
    single = [x[:, :1] for x in (one, other)]
    assert apart["tv"](*single)[0] == 2
    assert apart["js"](*single)[0] == pytest.approx(2 * np.log(2))
    vector = {n: distance_of(n, "vectors", Geometry(), ordered=False) for n in ("emd", "tv", "js", "max_ratio")}
    assert vector["emd"](*single)[0] == vector["tv"](*single)[0] == pytest.approx(0.3)
    assert vector["max_ratio"](*single)[0] == pytest.approx(np.log(2.5))
    for name in ("emd", "tv", "js", "max_ratio"):
        assert apart[name](one, one)[0] == vector[name](one, one)[0] == 0
    with pytest.raises(UsageError, match="unknown distance"):
        distance_of("far", "vectors", Geometry(), ordered=False)


def test_membership_by_hand() -> None:
    found = run_differential(TABLE_1A, TWO, model="conditional")
    values = {f.id: f.value for f in found.document.findings}
    # Scores in: 1 1 1/3 2/3 2/3; out: 1/2 1/2 0 1/2 1/2. Of 25 pairs 20 + 1 rank right: 1/3 beats only 0.
    assert values["membership_auc"] == pytest.approx(21 / 25)
    assert values["membership_auc.paired"] == 1
    assert (values["delta"], values["distance.median"]) == (1, pytest.approx(2 / 3))
    assert values["distance.mean"] == pytest.approx(2 / 3)


def test_outliers_are_removed_from_the_original_until_delta_is_small(patients: Table) -> None:
    found = run_differential(patients, sanitizer_of("mondrian:k=8"), until=0.4)
    (removal,) = found.removals.values()
    assert removal.ended == "reached"
    assert len(removal.removed) == sum(len(r.removed) for r in removal.rounds) > 0
    assert removal.rounds[0].delta == found.delta > 0.4
    assert removal.rounds[-1].delta <= 0.4
    # By hand: the same table without these rows, tested anew.
    rest = np.setdiff1d(np.arange(patients.rows), removal.removed)
    table = Table(patients.attributes, tuple(c[rest] for c in patients.columns))
    again = run_differential(table, sanitizer_of("mondrian:k=8"))
    np.testing.assert_allclose(distances(again), removal.last.distance, atol=1e-12)
    assert (removal.last.row == rest).all()
    first = found.tests[next(iter(found.tests))]
    assert set(first.row[first.distance > 0.4]) <= set(removal.removed.tolist())
    assert set(found.people().filter(removed=True)["row"]) == set((removal.removed + 1).tolist())


def test_until_out_of_reach_is_a_missed_limit() -> None:
    found = run_differential(TABLE_1A, TWO, model="conditional", until=0.1)
    assert next(iter(found.removals.values())).ended == "too many"
    assert found.exit_code == 1


def test_a_sweep() -> None:
    points = sweep(["mondrian:k=8,l=2"], ["k=2+4"], lambda texts: sanitizer_of(texts[0], texts[1:]))
    assert [p.name for p in points] == ["mondrian:l=2,k=2", "mondrian:l=2,k=4"]
    assert [p.sanitizer.require[0].k for p in points] == [2, 4]
    points = sweep(
        ["mondrian", "distinct_l:l={l}", "probabilistic_l:l={l}"],
        ["l=2+3"],
        lambda texts: sanitizer_of(texts[0], texts[1:]),
    )
    assert [[m.threshold for m in p.sanitizer.require] for p in points] == [[2, 2], [3, 3]]
    assert [p.name for p in points] == ["mondrian (l=2)", "mondrian (l=3)"]
    for wrong in ("k", "k=", "k=2+2", "k=a", "=2"):
        with pytest.raises(UsageError):
            parse_sweep(wrong)
    with pytest.raises(UsageError, match="in the command where the value goes"):
        sweep(["tool {input} {output}"], ["k=2"], lambda texts: None, command=True)


def test_a_sweep_in_one_document() -> None:
    points = sweep(["mondrian:regions=cut,median=lower"], ["k=2+5"], lambda texts: sanitizer_of(texts[0], texts[1:]))
    with pytest.raises(UnveilError, match="cannot be met"):
        run_differential(TABLE_1A, sweep(["mondrian"], ["k=6"], lambda t: sanitizer_of(t[0])))
    found = run_differential(TABLE_1A, points[:1], model="conditional", limits=["delta <= 0.5", "distance.mean <= 1"])
    check_document(found.to_dict())
    assert found.exit_code == 1
    verdicts = {f.id: f.verdict for f in found.document.findings}
    assert (verdicts["delta"], verdicts["distance.mean"]) == ("exceeded", "within")
    chart = found.document.charts["cumulative"]["mondrian:regions=cut,median=lower,k=2"]
    at = dict(zip(chart["edges"], chart["counts"], strict=True))
    assert (at[0.0], chart["counts"][-1]) == (0, 5)
    assert [p["value"] for p in found.document.charts["delta"]] == [2.0]
    json.dumps(found.to_dict(), allow_nan=False)


def test_an_interrupted_test_goes_on_where_it_stopped(tmp_path: Path) -> None:
    stop, calls = threading.Event(), []

    def slow(table: Table) -> Release:
        calls.append(table.rows)
        if len(calls) == 4:  # two runs on the whole table, then two records
            stop.set()
        return TWO.anonymize(table, Engine(seed=0)).release

    engine = Engine(seed=0, workers=1, stop=stop, checkpoints=tmp_path)
    found = run_differential(TABLE_1A, slow, model="conditional", engine=engine)
    (tested,) = found.tests.values()
    assert not tested.complete
    assert found.exit_code == 3
    (saved,) = tmp_path.iterdir()
    assert saved.stat().st_mode & 0o777 == 0o600
    reached = len(tested.row)
    calls.clear()
    again = run_differential(
        TABLE_1A, slow, model="conditional", engine=replace(engine, stop=threading.Event(), workers=2)
    )
    np.testing.assert_allclose(distances(again), TABLE_1B, atol=1e-15)
    assert calls.count(4) == 5 - reached
    assert not list(tmp_path.iterdir())


def test_an_interrupted_sweep_does_not_begin_again(tmp_path: Path) -> None:
    stop, calls = threading.Event(), {"one": 0, "two": 0}

    def sanitizer(name: str) -> Any:
        def made(table: Table) -> Release:
            calls[name] += 1
            if calls["two"] == 3:
                stop.set()
            return TWO.anonymize(table, Engine(seed=0)).release

        return made

    both = {name: sanitizer(name) for name in calls}
    engine = Engine(seed=0, workers=1, stop=stop, checkpoints=tmp_path)
    found = run_differential(TABLE_1A, both, model="conditional", engine=engine)
    assert found.tests["one"].complete
    assert not found.tests["two"].complete
    assert len(list(tmp_path.iterdir())) == 2
    calls |= {"one": 0, "two": 0}
    again = run_differential(TABLE_1A, both, model="conditional", engine=replace(engine, stop=threading.Event()))
    for tested in again.tests.values():
        np.testing.assert_allclose(tested.distance, TABLE_1B, atol=1e-15)
    assert calls["one"] == 2  # the whole table, twice
    assert not list(tmp_path.iterdir())


def test_what_makes_no_sense_is_one_line() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"samples": 0}, "at least one"),
        ({"until": -1.0}, "0 or more"),
        ({"records": 0}, "at least one"),
        ({"records": 2, "until": 0.1}, "every record"),
        ({"limits": ["delt <= 1"]}, "unknown measure"),
        ({"limits": ["removed <= 1"]}, "needs --remove-until"),
        ({"asked": "age"}, "not a sensitive attribute"),
        ({"model": "nonsense"}, "unknown inference model"),
        ({"model": "bernoulli_nb:beta=1"}, "unknown option"),
        ({"model": "bernoulli_nb:alpha=x"}, "is not a number"),
        ({"model": "LinearSVC"}, "gives no probabilities"),
        ({"model": 3}, "is not an inference model"),
        ({"reading": "tea"}, "unknown reading"),
    ]
    for options, text in cases:
        with pytest.raises(UsageError, match=text) as error:
            run_differential(TABLE_1A, TWO, **options)
        assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="is not a sanitizer"):
        run_differential(TABLE_1A, 3)
    assert inference_model("conditional").name == "conditional"
