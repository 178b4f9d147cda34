"""Releases in which some columns are perturbed, others widened, withheld or exact: read, written, linked, attacked."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enumeration import enumerate_attacker, enumerate_learner, enumerate_random_worlds, pseudo_counts
from foreign import ARX, SDCMICRO, needs_foreign_files
from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table, masked_release
from unveil import catalog, read_release, read_schema, read_table
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.attack import Attack, run_attack
from unveil.audit.linking import run_link
from unveil.data.mixture import mixture_of
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Perturbation, Release, build_release
from unveil.data.rows import as_published, groups_of_origin, origin_of, rows_of, shown_numbers
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, ReleaseError
from unveil.formats.releases import write_release
from unveil.formats.releases.assignments import assignment_bytes, read_assignment
from unveil.risk.perturbation import read_unpaired
from unveil.risk.perturbation.channels import with_channels

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 79, "step": 1}},
        "town": {"role": QI, "domain": ["a", "b", "c"]},
        "income": {"role": SENSITIVE, "kind": "numeric", "domain": {"from": 0, "to": 9, "step": 1}},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    }
)


def people(rows: int = 300, seed: int = 3) -> Table:
    random = np.random.default_rng(seed)
    age, town = random.integers(20, 80, rows), random.integers(0, 3, rows)
    income = np.clip(age // 8 + random.integers(-1, 2, rows), 0, 9)
    disease = (income + random.integers(0, 2, rows)) % 3
    return made_table(
        SCHEMA,
        *[(a, "abc"[t], i, ["flu", "hiv", "none"][d]) for a, t, i, d in zip(age, town, income, disease, strict=True)],
    )


TABLE = people()


def mixed(noise: float = 3.0, seed: int = 5) -> tuple[Release, np.ndarray]:
    """Age with noise, town in sets or withheld, income moved by chance, disease as it is; and whose row each is."""
    random = np.random.default_rng(seed)
    age, town, income, disease = as_published(TABLE.attributes, TABLE.columns)
    regions = Regions.sets(3, [[0, 1], [2], [0, 1, 2]])
    cell = np.where(random.random(TABLE.rows) < 0.1, 2, np.array([0, 0, 1])[town])
    regions, number = regions.canonical(cell)
    cell = number[cell]
    shown = np.where(random.random(TABLE.rows) < 0.2, random.integers(0, 10, TABLE.rows), income).astype(np.float64)
    columns = (age + random.normal(0, noise, TABLE.rows), regions.single()[cell], shown, disease)
    order = random.permutation(TABLE.rows)
    masked = masked_release(
        TABLE.attributes, tuple(c[order] for c in columns), (0, 2), wide={1: (regions, cell[order].astype(np.int64))}
    )
    return masked, groups_of_origin(order, TABLE.rows)


def asked(
    release: Release, table: Table, index: int, readers: dict[str, Any], group: np.ndarray | None = None
) -> Attack:
    read, _ = with_channels(release, table, group)
    return run_attack(
        read, targets_of_table(table, read, index), readers, engine=Engine(seed=1, workers=1), lenient=True
    )


def test_a_mixed_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    masked, _ = mixed()
    write_release(masked, tmp_path / "r.csv")
    assert read_release(tmp_path / "r.csv", SCHEMA, attributes=TABLE.attributes) == masked
    text = (tmp_path / "r.csv").read_text().splitlines()
    assert {line.rsplit(",", 3)[1] for line in text[1:]} >= {"c", "*"}
    wrong = text[1].split(",", 1)
    (tmp_path / "s.csv").write_text("\n".join([text[0], f"[20-30],{wrong[1]}"]) + "\n")
    (tmp_path / "s.toml").write_text('masked = ["age"]\n')
    band = rows_of(read_release(tmp_path / "s.csv", SCHEMA, attributes=TABLE.attributes))
    assert (band.columns[0].tolist(), band.wide) == ([25.0], {})  # which band it is counts, not what it holds
    (tmp_path / "s.csv").write_text("\n".join([text[0], f"[20-3x],{wrong[1]}"]) + "\n")
    with pytest.raises(ReleaseError, match=r"age: '\[20-3x\]' .*; a perturbed column holds single values, bands or"):
        read_release(tmp_path / "s.csv", SCHEMA, attributes=TABLE.attributes)


def test_groups_are_rows_that_look_alike() -> None:
    masked, _ = mixed()
    mixture = mixture_of(masked)
    assert mixture.release.rows == TABLE.rows
    town = mixture.release.regions[1]
    assert sorted(town.members(i).tolist() for i in range(len(town))) == [[0, 1], [0, 1, 2], [2]]
    rows = rows_of(masked)
    tens = rows.columns[0].round(-1)
    rounded = masked_release(rows.attributes, (tens, *rows.columns[1:]), (0, 2), wide=rows.wide)
    sizes = mixture_of(rounded).release.class_sizes()
    keys = list(zip(tens.tolist(), rows.wide[1][1].tolist(), strict=True))
    assert sorted(sizes.tolist()) == sorted(keys.count(k) for k in set(keys))


def test_a_channel_is_what_pairs_say() -> None:
    masked, group = mixed()
    origin = origin_of(masked, group)
    release, _ = with_channels(masked, TABLE, group)
    income = release.perturbed[2].behind
    assert income is not None
    true = TABLE.columns[2][origin]
    shown = rows_of(masked).columns[2].astype(int)
    assert income[4].argmax() == 4
    assert 0.5 < income[4, 4] < 1
    assert income.sum(axis=1) == pytest.approx(1)
    assert all(income[s, t] > 0 for s, t in zip(shown, true, strict=True))  # everybody's own value is possible
    age = release.perturbed[0].behind
    assert age is not None
    spread = np.array([np.sqrt(p @ (np.arange(60) - p @ np.arange(60)) ** 2) for p in age])
    assert 2 < np.median(spread) < 5  # noise of 3
    assert {one.source for one in release.perturbed.values()} == {"estimated"}


def test_a_channel_is_found_without_pairs() -> None:
    """Whoever agrees in the other columns is matched: noise of 3 is found as noise of about 3, its centre as zero."""
    masked, _ = mixed()
    release, _ = with_channels(masked, TABLE, None)
    assert {one.source for one in release.perturbed.values()} == {"estimated from classes"}
    age, places = release.perturbed[0].behind, mixture_of(masked).places[0]
    assert age is not None
    centre = age @ (np.arange(60) + 20)
    assert np.abs(centre - places)[(places > 30) & (places < 70)].mean() < 4
    spread = np.array([np.sqrt(p @ (np.arange(60) - p @ np.arange(60)) ** 2) for p in age])
    assert 2 < np.median(spread) < 6
    withheld, _ = with_channels(masked, None, None)
    assert withheld.regions[0].whole.all()
    with pytest.raises(NotApplicable, match="income was perturbed, and nothing says how"):
        run_attack(withheld, targets_of_table(TABLE, withheld, 2), {"counting": RandomWorlds()})


def test_readers_of_a_mixture_equal_enumeration() -> None:
    """A stated channel, a widened column and a withheld cell; a person's value is a likelihood of what is shown."""
    schema = made_schema(
        {
            "job": {"role": QI, "domain": ["x", "y", "z"]},
            "town": {"role": QI, "domain": ["a", "b", "c"]},
            "ill": {"role": SENSITIVE, "domain": ["no", "yes"]},
        }
    )
    rows = [("x", "a", "no"), ("y", "b", "yes"), ("z", "c", "no"), ("x", "b", "yes"), ("x", "a", "yes")]
    table = made_table(schema, *rows)
    chances = np.array([[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
    regions = Regions.sets(3, [[0, 1], [2], [0, 1, 2]])
    shown = (np.array([0, 1, 2, 1, -1]), np.array([-1, -1, 2, -1, -1]), np.array([0, 1, 0, 1, 1]))
    masked = masked_release(table.attributes, shown, (0,), {0: chances}, wide={1: (regions, np.array([0, 0, 1, 0, 2]))})
    readers = {"bayesian": Bayesian()}
    found = asked(masked, table, 2, readers)
    release = mixture_of(masked).release
    share = np.bincount(table.columns[0], minlength=3) / 5
    behind = (chances * share[:, None]).T  # (shown, true)
    behind = behind / behind.sum(axis=1, keepdims=True)
    held = pseudo_counts(release, 2)
    for person, (job, town, _) in enumerate(rows):
        knowledge = {
            0: tuple(Fraction(float(x)) for x in behind[:, "xyz".index(job)]),
            1: tuple(Fraction(int(t == town)) for t in "abc"),
        }
        for belief, exact in (
            (found.learner, enumerate_learner(release, 2, held, knowledge)),
            (found.attackers["bayesian"], enumerate_attacker(release, 2, held, knowledge)),
        ):
            error = 1e-9 if belief.exact else 0.03
            assert belief.probability[person] == pytest.approx([float(x) for x in exact], abs=error)


def test_beliefs_about_a_perturbed_attribute_are_about_true_values() -> None:
    masked, origin = mixed()
    found = asked(masked, TABLE, 2, {"counting": RandomWorlds()}, origin)
    belief = found.attackers["counting"].probability
    assert belief.shape == (TABLE.rows, 10)
    right = belief[np.arange(TABLE.rows), TABLE.columns[2]].mean()
    assert right > found.learner.probability[np.arange(TABLE.rows), TABLE.columns[2]].mean() > 0.1
    unread = masked  # no channel
    with pytest.raises(NotApplicable, match="age was perturbed, and nothing says how"):
        run_attack(unread, targets_of_table(TABLE, unread, 3), {"counting": RandomWorlds()})


def test_more_noise_tells_less() -> None:
    truth = TABLE.columns[3]
    right = []
    for noise in (0.5, 5.0, 40.0):
        masked, origin = mixed(noise)
        found = asked(masked, TABLE, 3, {"counting": RandomWorlds()}, origin)
        right.append(found.attackers["counting"].probability[np.arange(TABLE.rows), truth].mean())
    assert right[0] > right[1] + 0.05 > right[2] + 0.05


def test_linkage_reads_widened_cells_beside_perturbed_ones() -> None:
    masked, origin = mixed(noise=0.2)
    linked = run_link(masked, table=TABLE, group=origin, subsets=0).document
    with_town = next(f.value for f in linked.findings if f.id == "distance.reid")
    rows, whole = rows_of(masked), Regions.sets(3, [[0, 1, 2]])
    blank = masked_release(rows.attributes, rows.columns, (0, 2), wide={1: (whole, np.zeros(TABLE.rows, np.int64))})
    without = run_link(blank, table=TABLE, group=origin, subsets=0).document
    assert with_town > next(f.value for f in without.findings if f.id == "distance.reid") + 0.05


def test_a_mixed_release_is_judged_and_what_is_not_is_said() -> None:
    masked, origin = mixed()
    few = {"bayesian": Bayesian(), "random_worlds": RandomWorlds()}
    told: dict[str, Any] = {"original": TABLE, "attackers": few, "engine": Engine(seed=0, workers=1)}
    found = run_audit({"r": masked}, assignments={"r": origin}, **told).document
    kinds = {(k["kind"], k.get("attribute")): k["verdict"] for k in found.diagnostics["judgement"]["r"]["kinds"]}
    assert kinds["inference", "disease"] in ("exceeded", "within", "inconclusive")
    assert kinds["linking", None] in ("exceeded", "within")
    assert next(f.value for f in found.findings if f.id == "k_anonymity") == 1  # of what is shown
    assert kinds["singling out", None] == "exceeded"
    alone = run_audit({"r": masked}, **told).document
    kinds = {(k["kind"], k.get("attribute")): k for k in alone.diagnostics["judgement"]["r"]["kinds"]}
    assert kinds["inference", "disease"]["verdict"] in ("exceeded", "inconclusive")  # by a channel found without pairs
    assert kinds["linking", None]["verdict"] == "inconclusive"


def test_perturbed_columns_beside_hidden_links(tmp_path: Path) -> None:
    """Anatomy with a perturbed column: read, written, and every reader equal to enumeration."""
    schema = made_schema(
        {
            "job": {"role": QI, "domain": ["x", "y", "z"]},
            "town": {"role": QI, "domain": ["a", "b"]},
            "ill": {"role": SENSITIVE, "domain": ["no", "yes"]},
        }
    )
    rows = [("x", "a", "no"), ("y", "b", "yes"), ("z", "a", "no"), ("x", "b", "yes"), ("y", "a", "yes")]
    table = made_table(schema, *rows)
    chances = np.array([[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
    group = np.array([0, 0, 0, 1, 1])
    job, town, ill = np.array([0, 2, 2, 0, 1]), table.columns[1].astype(int), table.columns[2].astype(int)
    regions = [Regions.singles(n) for n in (3, 2, 2)]
    parts = [BlockRows((0, 1), group, (job, town)), BlockRows((2,), group, (ill,))]
    perturbed = {0: Perturbation(table.attributes[0], chances)}
    made, number = build_release(table.attributes, regions, parts, perturbed, "by hand")
    write_release(made, tmp_path / "r.csv")
    back = read_release(tmp_path / "r.csv", schema, attributes=table.attributes)
    assert back == made
    (tmp_path / "whose.csv").write_bytes(assignment_bytes(number[group].astype(np.int32)))
    assert read_assignment(tmp_path / "whose.csv", table, back).tolist() == number[group].tolist()
    readers = {"bayesian": Bayesian(), "random_worlds": RandomWorlds()}
    read, _ = with_channels(back, table, number[group])
    chains = Chains(chains=4, sweeps=1000, burn_in=200, most_sweeps=1000)
    found = run_attack(read, targets_of_table(table, read, 2), readers, engine=Engine(seed=1), chains=chains)
    share = np.bincount(table.columns[0], minlength=3) / 5
    behind = (chances * share[:, None]).T
    behind = behind / behind.sum(axis=1, keepdims=True)
    shown = replace(back, perturbed={})
    held = pseudo_counts(shown, 2)
    for person, (own_job, own_town, _) in enumerate(rows):
        knowledge = {
            0: tuple(Fraction(float(x)) for x in behind[:, "xyz".index(own_job)]),
            1: tuple(Fraction(int(own_town == t)) for t in "ab"),
        }
        for belief, exact in (
            (found.learner, enumerate_learner(shown, 2, held, knowledge)),
            (found.attackers["bayesian"], enumerate_attacker(shown, 2, held, knowledge)),
            (found.attackers["random_worlds"], enumerate_random_worlds(shown, 2, knowledge)),
        ):
            error = 1e-9 if belief.exact else 0.03
            assert belief.probability[person] == pytest.approx([float(x) for x in exact], abs=error)
    audit = run_audit(
        {"r": back}, original=table, assignments={"r": number[group]}, attackers={"random_worlds": RandomWorlds()}
    ).document
    assert {r["reader"] for r in audit.diagnostics["readers"] if r["applicable"]} >= {"learner", "random_worlds"}
    kinds = {k["kind"]: k["verdict"] for k in audit.diagnostics["judgement"]["r"]["kinds"]}
    assert kinds["linking"] == "inconclusive"
    assert any(f.measure == "distinct_l" for f in audit.findings)


def test_a_perturbed_secret_in_a_bucket_is_believed_by_its_channel() -> None:
    """Numbers of a group are matched with the true ones of its people: of one person each, they are the truth."""
    schema = made_schema({"age": {"role": QI, "kind": "numeric"}, "pay": {"role": SENSITIVE, "kind": "numeric"}})
    table = made_table(schema, *[(20 + i % 7, 10 + i % 4) for i in range(60)])
    pay = table.attributes[1].positions()[table.columns[1]] + 0.5
    attribute, code = shown_numbers(table.attributes[1], pay)
    group = np.arange(60) % 20
    parts = [BlockRows((0,), group, (table.columns[0].astype(int),)), BlockRows((1,), group, (code,))]
    regions = [Regions.singles(table.attributes[0].codes), Regions.singles(attribute.codes)]
    made, number = build_release(
        (table.attributes[0], attribute), regions, parts, {1: Perturbation(table.attributes[1])}
    )
    release, told = with_channels(made, table, number[group])
    behind = release.perturbed[1].behind
    assert behind is not None
    assert behind.argmax(axis=1).tolist() == [0, 1, 2, 3]
    found = asked(made, table, 1, {"counting": RandomWorlds()}, number[group])
    assert found.attackers["counting"].probability.shape == (60, 4)
    assert told.tolist() == list(range(made.groups))


def test_a_column_masked_after_mondrian_of_the_others() -> None:
    """Our own widening of one column, class means of another: read as bands, whoever says whose row is whose."""
    table = people(2000, seed=8)
    town, age = table.columns[1].astype(np.int64), table.columns[0].astype(np.int64) + 20
    kind = np.unique(age // 20 * 3 + town, return_inverse=True)[1]
    mean = (np.bincount(kind, weights=age) / np.bincount(kind))[kind]
    columns = as_published(table.attributes, table.columns)
    masked = masked_release(table.attributes, (mean, *columns[1:]), (0,))
    reading = read_unpaired(masked, table)
    assert [c.attribute for c in reading.columns] == ["age"]
    assert "band of 20" in reading.columns[0].words
    low = reading.release.regions[0]
    assert sorted(low.sizes.tolist()) == [20, 20, 20]
    assert read_unpaired(mixed()[0], TABLE).release.perturbed  # noise is not an average


@needs_foreign_files
def test_a_stated_mean_is_the_band_that_arx_took_it_in(tmp_path: Path) -> None:
    schema = read_schema(ARX / "schema.toml").confirmed()
    table = read_table(ARX / "adult.csv", schema)
    (tmp_path / "m.csv").write_bytes((ARX / "k5_micro_mean.csv").read_bytes())
    (tmp_path / "m.toml").write_text('masked = ["age"]\n')
    masked = read_release(tmp_path / "m.csv", schema, attributes=table.attributes)
    assert mixture_of(masked).release.class_sizes().min() == 5
    band = read_release(ARX / "k5_micro_as_band.csv", schema, attributes=table.attributes)
    assert read_unpaired(masked, table).release == band


@needs_foreign_files
def test_sdcmicros_standard_workflow_is_read() -> None:
    schema = read_schema(SDCMICRO / "td.toml").confirmed()
    table = read_table(SDCMICRO / "testdata.csv", schema)
    masked = read_release(SDCMICRO / "testdata_mixed.csv", schema, attributes=table.attributes)
    income = table.index("income")
    found = asked(masked, table, income, {"counting": RandomWorlds()}, np.arange(table.rows))
    right = (found.attackers["counting"].probability.argmax(axis=1) == table.columns[income]).mean()
    assert right > (found.learner.probability.argmax(axis=1) == table.columns[income]).mean() + 0.03


def test_an_anonymizers_masking_is_read_by_every_reader() -> None:
    made = catalog.anonymizer("noise:amount=0.3").anonymize(TABLE, Engine(seed=1))
    readers = {"bayesian": Bayesian(), "counting": RandomWorlds()}
    found = asked(made.release, TABLE, 3, readers, made.group_of_row)
    assert not found.refused
    assert set(found.attackers) == set(readers)
