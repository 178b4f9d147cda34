"""Joined attributes: the same as one column made by hand, and what naive Bayes misses."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from test_cli import run

from enumeration import AGE, ILL, SEX, enumerate_attacker, enumerate_learner, pseudo_counts, written_release
from one_round import attack, run_attack
from small import made_release, made_schema, made_table
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.posterior.joined import join
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Prior, Targets, known_exactly
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.utility.faithfulness import faithfulness

DISEASE = 2
JOINED = [["age", "sex"]]
BOTH = Attribute(
    "both", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(f"{a}{s}" for a in AGE.values for s in SEX.values)
)
CHAINS = Chains(chains=8, sweeps=800, burn_in=200, most_sweeps=0, every=10)
SHAPES = {
    "nested": {"age sex disease": "20 f flu; 20,21 * flu / 20,21 * hiv; 22 m flu / 23 f none; 22,23 f hiv"},
    "overlapping": {"age sex disease": "20,21 f flu; 21 * flu / 21,22 f hiv; 22 m flu / 21,22 f hiv; 22 * hiv"},
    "anatomy": {"age sex": "20 f; 21 m / 20 m; 20,21 *; 22 m", "disease": "flu; hiv / flu; none; flu"},
}


def cells(text: str) -> str:
    """A row's cells of age and sex as one cell of `both`."""
    age, sex, *rest = text.split()
    ages = AGE.values if age == "*" else age.split(",")
    sexes = SEX.values if sex == "*" else sex.split(",")
    return " ".join([",".join(f"{a}{s}" for a in ages for s in sexes), *rest])


def by_hand(blocks: dict[str, str]) -> Release:
    """The same release with one column in place of two."""
    made = {}
    for names, text in blocks.items():
        if "age" in names:
            text = " / ".join("; ".join(map(cells, group.split(";"))) for group in text.split("/"))
        made[names.replace("age sex", "both")] = text
    return written_release((BOTH, ILL), made)


def people(release: Release) -> Targets:
    """20 f; someone of 20 or 21; a man."""
    ages = Regions.sets(4, [[0], [0, 1], [0, 1, 2, 3]])
    sexes = Regions.sets(2, [[0], [0, 1], [1]])
    each = np.arange(3)
    return Targets(DISEASE, {0: Known(ages, each), 1: Known(sexes, each.copy())}, 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_equals_enumeration_of_the_column_made_by_hand(shape: str) -> None:
    release, hand = written_release((AGE, SEX, ILL), SHAPES[shape]), by_hand(SHAPES[shape])
    found = run_attack(release, people(release), {"a": Bayesian()}, engine=Engine(seed=4), chains=CHAINS, joined=JOINED)
    prior = pseudo_counts(hand, 1)
    for number, allowed in enumerate([{"20f"}, {"20f", "20m", "21f", "21m"}, {f"{a}m" for a in AGE.values}]):
        knowledge = {0: tuple(Fraction(int(v in allowed)) for v in BOTH.values)}
        exact = [float(p) for p in enumerate_attacker(hand, 1, prior, knowledge)]
        _agrees(found.attackers["a"], number, exact)
        _agrees(found.learner, number, [float(p) for p in enumerate_learner(hand, 1, prior, knowledge)])


def _agrees(belief: object, number: int, exact: list[float]) -> None:
    probability, chains = belief.probability[number], belief.chains  # type: ignore[attr-defined]
    error = np.zeros(3) if chains is None else chains[:, number].std(axis=0, ddof=1) / np.sqrt(len(chains))
    assert (np.abs(probability - exact) <= 5 * np.maximum(error, np.median(error)) + 1e-9).all(), (probability, exact)


def test_the_joined_release_is_the_one_made_by_hand() -> None:
    for blocks in SHAPES.values():
        one, hand = join(written_release((AGE, SEX, ILL), blocks), JOINED, DISEASE).release, by_hand(blocks)
        assert one.regions == hand.regions
        assert one.attributes[0].name == "age × sex"
        for mine, theirs in zip(one.blocks, hand.blocks, strict=True):
            assert np.array_equal(mine.cells, theirs.cells)
            assert np.array_equal(mine.cell, theirs.cell)
            assert np.array_equal(mine.start, theirs.start)
            assert np.array_equal(mine.count, theirs.count)


def test_dependence_that_naive_bayes_misses() -> None:
    """Young women and old men have flu, the others hiv: neither age nor sex alone says anything of the disease."""
    rows = [("20", "f", "flu"), ("23", "m", "flu"), ("20", "m", "hiv"), ("23", "f", "hiv")]
    release = made_release((AGE, SEX, ILL), [((0, 1, 2), [(g, *row) for g, row in enumerate(rows * 5)])])
    targets = known_exactly(release, {0: np.array([0]), 1: np.array([0])}, DISEASE)
    apart = run_attack(release, targets, {}).learner.probability[0]
    assert apart[0] == pytest.approx(apart[1])
    together = run_attack(release, targets, {}, joined=JOINED).learner.probability[0]
    # Of 20 f there are 5 with flu; with pseudo-counts of 1 over 8 combinations: 11/23 · 6/18 and 11/23 · 1/18, 1/23/8.
    weight = np.array([11 * 6 / 18, 11 * 1 / 18, 1 / 8])
    assert together == pytest.approx(weight / weight.sum())


def test_readers_that_do_not_learn_are_as_before() -> None:
    for blocks in SHAPES.values():
        release = written_release((AGE, SEX, ILL), blocks)
        readers = {"worlds": RandomWorlds(), "fixed": FixedPrior()}
        chains = Chains(chains=2, sweeps=50, burn_in=10, most_sweeps=0, every=10)
        found = [run_attack(release, people(release), readers, chains=chains, joined=joined) for joined in ((), JOINED)]
        for name in readers:
            assert found[0].attackers[name].probability == pytest.approx(found[1].attackers[name].probability)


def test_the_threat_names_the_releases_own_attributes() -> None:
    release = written_release((AGE, SEX, ILL), SHAPES["nested"])
    targets = known_exactly(release, {0: np.array([0])}, DISEASE)
    found = run_attack(release, targets, {"a": RandomWorlds()}, joined=JOINED)
    assert found.learner.threat.target == found.attackers["a"].threat.target == "age"
    assert found.targets is targets
    assert found.known_texts(release) == {"age": ["20"]}


def test_a_known_group_is_found_again() -> None:
    """Joining orders groups anew: the same group must be meant."""
    blocks = {"age sex disease": "20 m none; 20 m none / 20,21 f flu; 20,21 f hiv / 23 * flu; 23 * none"}
    release = written_release((AGE, SEX, ILL), blocks)
    group = np.arange(3)
    known = Known(Regions.intervals(4, [0], [3]), np.zeros(3, dtype=np.int64))
    targets = Targets(DISEASE, {0: known}, 3, group)
    for name, attacker in (("worlds", RandomWorlds()), ("bayesian", Bayesian())):
        plain = attack(attacker, release, targets, Prior.uninformative(release, DISEASE), Engine(seed=0)).probability
        found = run_attack(release, targets, {name: attacker}, joined=JOINED).attackers[name].probability
        assert found == pytest.approx(plain)
    one = join(release, JOINED, DISEASE)
    assert one.group.tolist() == [1, 0, 2]  # {20, 21} × f holds the first combination, 20 × m only the second


def test_what_cannot_be_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    release = written_release((AGE, SEX, ILL), SHAPES["nested"])
    with pytest.raises(UsageError, match=r"disease is asked about, so it cannot be joined \(sex, disease\)"):
        join(release, [["disease", "sex"]], DISEASE)
    sliced = written_release((AGE, SEX, ILL), {"age": "20; 21", "sex disease": "f flu; m hiv"})
    with pytest.raises(NotApplicable, match="age, sex are joined, but the release publishes them in different blocks"):
        join(sliced, JOINED, DISEASE)
    noisy = Targets(DISEASE, {0: Known.exactly(AGE, np.array([0]), 0.1)}, 1)
    with pytest.raises(NotApplicable, match="age × sex: what is known of joined attributes cannot be wrong"):
        join(release, JOINED, DISEASE).targets(noisy)
    uneven = Prior(np.ones(3), {0: np.ones((3, 4)), 1: np.tile([1.0, 2.0], (3, 1))})
    with pytest.raises(UsageError, match="age × sex: joined attributes share one pseudo-count"):
        join(release, JOINED, DISEASE).prior(uneven, DISEASE)
    monkeypatch.setattr("unveil.attackers.posterior.joined.MOST_CODES", 7)
    with pytest.raises(NotApplicable, match="8 combinations of values are over 7"):
        join(release, JOINED, DISEASE)
    monkeypatch.undo()
    monkeypatch.setattr("unveil.attackers.posterior.joined.MOST_MEMBERS", 5)
    with pytest.raises(NotApplicable, match="too wide"):
        join(release, JOINED, DISEASE)


def test_attributes_that_are_not_released_are_passed_over() -> None:
    release = written_release((AGE, SEX, ILL), SHAPES["nested"])
    assert join(release, [["age", "name"], ["zip", "town"], ["sex"]], DISEASE).release is release
    even = Prior.uninformative(release, DISEASE, alpha=2, beta=3)
    joined = join(release, [["sex", "name", "age"]], DISEASE)
    made = joined.prior(even, DISEASE)
    assert (made.beta[0] == 3).all()
    assert made.beta[0].shape == (3, 8)
    assert made.source == even.source
    assert joined.position(DISEASE) == 1


SCHEMA = made_schema(
    {
        "age": {"role": "quasi-identifier", "domain": ["20", "23"]},
        "sex": {"role": "quasi-identifier", "domain": ["f", "m"]},
        "disease": {"role": "sensitive", "domain": ["flu", "hiv"]},
    },
    joined=JOINED,
)
ROWS = [("20", "f", "flu"), ("23", "m", "flu"), ("20", "m", "hiv"), ("23", "f", "hiv")] * 4


def test_faithfulness_with_joined_attributes() -> None:
    """The original is wholly faithful either way; * for all is not, and less so where dependence was to be learned."""
    table = made_table(SCHEMA, *ROWS)
    assert faithfulness(table.as_release(), table, 2, joined=JOINED).value == pytest.approx(1)
    nothing = made_release(table.attributes, [((0, 1, 2), [(0, "*", "*", row[2]) for row in ROWS])])
    apart, together = (faithfulness(nothing, table, 2, joined=j).value for j in ((), JOINED))
    # Given a disease (8 rows) two of four combinations have (4 + 1)/12, two 1/12, learned as 1/4 each.
    assert apart == pytest.approx(1)
    assert together == pytest.approx(1 - 2 * (5 / 12 - 1 / 4))


def test_the_command_reads_joined_from_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'version = 1\nconfirmed = true\njoined = [["age", "sex"]]\n'
    for name, declared in SCHEMA.document.attributes.items():
        text += f'[attributes.{name}]\nrole = "{declared.role}"\ndomain = {list(declared.domain)}\n'  # type: ignore[arg-type]
    (tmp_path / "schema.toml").write_text(text)
    (tmp_path / "data.csv").write_text("\n".join(["age,sex,disease", *(",".join(row) for row in ROWS)]) + "\n")
    (tmp_path / "r.csv").write_bytes((tmp_path / "data.csv").read_bytes())
    command = (
        "attack",
        "attribute",
        tmp_path / "r.csv",
        "--schema",
        tmp_path / "schema.toml",
        "--original",
        tmp_path / "data.csv",
    )
    code, out, _ = run(*command, capsys=capsys)
    assert code == 0
    assert "Guessed right (global threat)" in out
    assert "100%   100%" in " ".join(out.replace("│", " ").split()).replace("% ", "%   ")
    table = made_table(SCHEMA, *ROWS)
    release = table.as_release()
    plain = run_attack(release, targets_of_table(table, release, 2), {}).learner
    assert plain.probability == pytest.approx(np.full((16, 2), 0.5))  # without joining the learner guesses
    code, out, err = run(*command, "--wrong", "0.1", capsys=capsys)
    assert (code, out) == (2, "")
    assert "cannot be wrong with a probability" in err
