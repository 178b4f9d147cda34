"""Pseudo-counts from a file: what they mean, and what is wrong with one."""

from pathlib import Path

import numpy as np
import pytest
from test_attack import command, folder, read_csv, released  # noqa: F401  fixtures
from test_cli import run

from enumeration import AGE, ILL, SEX, enumerate_attacker, enumerate_learner, exactly, written_release
from one_round import attack
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.learner import Learner
from unveil.data.belief import Prior, known_exactly
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.formats.priors import read_prior

RELEASE = written_release(
    (AGE, SEX, ILL), {"age sex disease": "20,21 f flu; 20,21 f hiv / 22,23 * hiv; 22,23 * hiv / 20 m flu; 20 m none"}
)
DISEASE = 2
GOOD = """attribute,value,given,count
disease,hiv,,0.5
age,20,,3
sex,f,flu,4
age,20,hiv,7
age,23,hiv,2.5
"""


def made(tmp_path: Path, text: str, **rest: float) -> Prior:
    path = tmp_path / "prior.csv"
    path.write_text(text)
    return read_prior(path, RELEASE, DISEASE, **rest)


def test_what_is_named_and_what_is_not(tmp_path: Path) -> None:
    prior = made(tmp_path, GOOD, alpha=2, beta=1.5)
    assert prior.alpha.tolist() == [2, 0.5, 2]
    # 20 beside every disease 3, beside hiv 7: the row with `given` goes first, wherever it stands.
    assert prior.beta[0].tolist() == [[3, 1.5, 1.5, 1.5], [7, 1.5, 1.5, 2.5], [3, 1.5, 1.5, 1.5]]
    assert prior.beta[1].tolist() == [[4, 1.5], [1.5, 1.5], [1.5, 1.5]]
    assert prior.source == "a prior from prior.csv"
    lines = GOOD.splitlines()
    turned = made(tmp_path, "\n".join([lines[0], *lines[:0:-1]]) + "\n", alpha=2, beta=1.5)
    assert all(np.array_equal(turned.beta[i], prior.beta[i]) for i in (0, 1))


def test_beliefs_equal_enumeration_with_these_pseudo_counts(tmp_path: Path) -> None:
    prior = made(tmp_path, GOOD)
    targets = known_exactly(RELEASE, {0: np.array([0]), 1: np.array([0])}, DISEASE)
    knowledge = {0: exactly(AGE, "20"), 1: exactly(SEX, "f")}
    exact = enumerate_attacker(RELEASE, DISEASE, prior, knowledge)
    belief = attack(Bayesian(), RELEASE, targets, prior, Engine(seed=0))
    assert belief.probability[0] == pytest.approx([float(p) for p in exact])
    assert belief.threat.population == "a prior from prior.csv"
    learner = attack(Learner(), RELEASE, targets, prior, Engine(seed=0))
    assert learner.probability[0] == pytest.approx(
        [float(p) for p in enumerate_learner(RELEASE, DISEASE, prior, knowledge)]
    )
    assert learner.threat.population == "a prior from prior.csv"
    plain = Prior.uninformative(RELEASE, DISEASE)
    assert attack(Learner(), RELEASE, targets, plain, Engine(seed=0)).threat.population == "an uninformative prior"


def test_a_fixed_prior_means_something_with_a_file(tmp_path: Path) -> None:
    """Two rows fit 20 f, one of flu and one of hiv: weights are the shares of 20 within {20, 21}."""
    prior = made(tmp_path, GOOD)
    targets = known_exactly(RELEASE, {0: np.array([0]), 1: np.array([0])}, DISEASE)
    belief = attack(FixedPrior(), RELEASE, targets, prior, Engine(seed=0))
    weight = np.array([3 / 4, 7 / 8, 0])
    assert belief.probability[0] == pytest.approx(weight / weight.sum())
    assert belief.threat.population == "known beforehand (a prior from prior.csv), nothing is learned"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("attribute,value,count\nage,20,3\n", "the header must be attribute,value,given,count; it is 'attribute'"),
        (GOOD + "name,Ann,,3\n", "line 7: the release has no attribute 'name'; it has age, sex, disease"),
        (GOOD + "age,19,,3\n", "line 7, age: '19' is not a value, interval or set of the domain"),
        (GOOD + 'age,"[20,21]",,3\n', "line 7, age: '[20,21]' stands for several values"),
        (GOOD + "age,*,,3\n", "line 7, age: '*' stands for several values"),
        (GOOD + "age,22,cough,3\n", "line 7, given: 'cough' is not a value"),
        (GOOD + "age,22,*,3\n", "line 7, given: '*' stands for several values"),
        (GOOD + "disease,flu,hiv,3\n", "line 7: disease is asked about, so its count is given nothing"),
        (GOOD + "age,22,,0\n", "line 7: '0' is not a valid pseudo-count; write a number above 0"),
        (GOOD + "age,22,,-1\n", "line 7: '-1' is not a valid pseudo-count"),
        (GOOD + "age,22,,many\n", "line 7: 'many' is not a valid pseudo-count"),
        (GOOD + "age,22,,nan\n", "line 7: 'nan' is not a valid pseudo-count"),
        (GOOD + "age,22,,\n", "line 7: '' is not a valid pseudo-count"),
        (GOOD + "age,20,hiv,3\n", "line 7: age '20' stands in line 5 already; keep one"),
        (GOOD + "disease,hiv,,3\n", "line 7: disease 'hiv' stands in line 2 already; keep one"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        made(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "prior.csv"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"prior\.csv"):
        read_prior(tmp_path / "prior.csv", RELEASE, DISEASE)


def test_values_are_read_like_cells(folder: Path, released: tuple[Release, object]) -> None:  # noqa: F811
    """Numbers in any spelling, missing tokens, values with commas."""
    release = released[0]
    path = folder / "p.csv"
    path.write_text('attribute;value;given;count\nage;20,0;"hiv, late";2,5\nage;?;;4\ndisease;"=cmd()";;9\n')
    prior = read_prior(path, release, 2)
    assert prior.beta[0][1, 0] == 2.5
    assert (prior.beta[0][:, 30] == 4).all()
    assert prior.alpha.tolist() == [1, 1, 9]


def test_the_command_takes_a_prior(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    (folder / "p.csv").write_text('attribute,value,given,count\ndisease,flu,,1000\nage,40,"hiv, late",50\n')
    people = folder / "people.csv"
    rest = ("--prior", folder / "p.csv", "--attacker", "learner", "--attacker", "fixed_prior", "--people", people)
    code, out, _ = run(*command(folder, *rest), capsys=capsys)
    assert code == 0
    assert "beforehand: a prior from p.csv." in " ".join(out.split())
    _, rows = read_csv(people)
    assert all(float(row["learner:flu"]) > 0.9 for row in rows if row["known:age"] != "40")
    before = people.read_bytes()
    code, out, _ = run(*command(folder, "--attacker", "learner", "--people", people), capsys=capsys)
    assert code == 0
    assert people.read_bytes() != before
    assert "beforehand: an uninformative prior." in " ".join(out.split())
    (folder / "p.csv").write_text("attribute,value,given,count\ndisease,flu,,0\n")
    code, out, err = run(*command(folder, "--prior", folder / "p.csv"), capsys=capsys)
    assert (code, out) == (2, "")
    assert err == f"unveil: {folder / 'p.csv'}, line 2: '0' is not a valid pseudo-count; write a number above 0\n"
    code, _, err = run(*command(folder, "--prior", folder / "p.csv", "--people", folder / "p.csv"), capsys=capsys)
    assert code == 2
    assert "choose another file to write to" in err
