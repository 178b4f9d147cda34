"""A belief of its own for each person (Kifer's tuple-independent model), against listing every assignment."""

from itertools import permutations
from math import prod
from pathlib import Path

import numpy as np
import pytest
from test_attack import command, folder, read_csv, released  # noqa: F401  fixtures
from test_cli import run

from enumeration import AGE, ILL, SEX, written_release
from one_round import attack
from unveil.attackers.fixed_prior import FixedPrior
from unveil.data.belief import Known, Prior, Targets, known_exactly
from unveil.data.regions import Regions
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.formats.priors import read_held

PEOPLE = ((0, 0), (0, 0), (2, 1), (1, 1), (3, 0))  # age and sex of the rows, by group: three and two
VALUES = ((0, 0, 1), (1, 2))
RELEASE = written_release(
    (AGE, SEX, ILL),
    {"age sex": "20 f; 20 f; 22 m / 21 m; 23 f", "disease": "flu; flu; hiv / hiv; none"},
)
ALPHA = np.array([2.0, 1.0, 1.0])
BETA = {0: np.array([[3.0, 1, 1, 1], [1, 1, 2, 1], [1, 2, 1, 4]]), 1: np.array([[2.0, 1], [1, 3], [1, 1]])}
PRIOR = Prior(ALPHA, BETA)


def by_listing(fits: list[float], own: list[float], group: int | None) -> np.ndarray:
    """Every assignment of the values, and every row that may be the target's, which has a distribution of its own."""
    pi = ALPHA / ALPHA.sum()
    theta = [BETA[a] / BETA[a].sum(axis=1, keepdims=True) for a in (0, 1)]
    # What is known of the target, given a value: the share of rows with it that fit.
    known = [sum(f * prod(theta[a][s][r[a]] for a in (0, 1)) for r, f in fits_by_cell(fits)) for s in range(3)]
    belief = np.zeros(3)
    for first in permutations(VALUES[0]):
        for second in permutations(VALUES[1]):
            row = [*first, *second]
            chance = [pi[s] * theta[0][s][a] * theta[1][s][b] for s, (a, b) in zip(row, PEOPLE, strict=True)]
            for j, s in enumerate(row):
                if group is None or group == (0 if j < 3 else 1):
                    mine = own[s] * theta[0][s][PEOPLE[j][0]] * theta[1][s][PEOPLE[j][1]] * fits[j] / known[s]
                    belief[s] += mine * prod(chance[:j] + chance[j + 1 :])
    return belief / belief.sum()


def fits_by_cell(fits: list[float]) -> list[tuple[tuple[int, int], float]]:
    """Knowledge is a function of the cell; the tests below know age 20 or 22, or nothing of the age."""
    ages = {PEOPLE[j][0]: f for j, f in enumerate(fits)}
    return [((age, sex), ages[age]) for age in range(4) for sex in range(2)]


@pytest.mark.parametrize("group", [None, 0])
@pytest.mark.parametrize("own", [[0.2, 0.5, 0.3], [0.0, 0.9, 0.1], [1 / 3, 1 / 3, 1 / 3]])
def test_equal_to_listing_every_assignment(own: list[float], group: int | None) -> None:
    knowledge = {
        "age 20": (Known.exactly(AGE, np.array([0])), [1.0, 1.0, 0.0, 0.0, 0.0]),
        "age 20 or 22": (Known(Regions.sets(4, [[0, 2]]), np.zeros(1, dtype=np.int64)), [1.0, 1.0, 1.0, 0.0, 0.0]),
        "anything": (None, [1.0] * 5),
    }
    for name, (known, fits) in knowledge.items():
        at = None if group is None else np.array([group])
        targets = Targets(2, {} if known is None else {0: known}, 1, at)
        found = attack(FixedPrior(own=np.array([own])), RELEASE, targets, PRIOR, Engine(seed=0))
        assert found.probability[0] == pytest.approx(by_listing(fits, own, group), abs=1e-12), name
        assert found.threat.target.endswith(", and for each a belief of its own")


def test_by_hand() -> None:
    """One group, two people, flu and hiv; the population says nothing, so that what is held of each stays."""
    release = written_release((AGE, ILL), {"age": "20; 21", "disease": "flu; hiv"})
    prior = Prior.uninformative(release, 1)
    own = np.array([[0.1, 0.9, 0.0], [0.5, 0.5, 0.0]])
    found = attack(
        FixedPrior(own=own), release, known_exactly(release, {0: np.array([0, 1])}, 1), prior, Engine(seed=0)
    )
    assert found.probability == pytest.approx(np.array([[0.1, 0.9, 0], [0.5, 0.5, 0]]), abs=1e-12)


def test_the_populations_own_word_changes_nothing() -> None:
    targets = known_exactly(RELEASE, {0: np.array([0, 2, 0, 3]), 1: np.array([0, 1, 0, 0])}, 2)
    plain = attack(FixedPrior(), RELEASE, targets, PRIOR, Engine(seed=0)).probability
    pi, theta = ALPHA / ALPHA.sum(), {a: BETA[a] / BETA[a].sum(axis=1, keepdims=True) for a in BETA}
    said = np.stack([pi * theta[0][:, a] * theta[1][:, b] for a, b in ((0, 0), (2, 1), (0, 0), (3, 0))])
    own = said / said.sum(axis=1, keepdims=True)
    found = attack(FixedPrior(own=own), RELEASE, targets, PRIOR, Engine(seed=0))
    assert found.probability == pytest.approx(plain, abs=1e-12)
    own[2] = [0, 0, 1]  # the third looks like the first, and something else is held of them
    with pytest.raises(UsageError, match="prior of target 3 is ruled out"):
        attack(FixedPrior(own=own), RELEASE, targets, PRIOR, Engine(seed=0))


@pytest.mark.parametrize("own", [[[0.5, 0.4, 0.0]], [[-0.5, 1.5, 0.0]], [[np.nan, 0.5, 0.5]], [0.5, 0.5, 0.0]])
def test_what_is_no_distribution(own: list[object]) -> None:
    with pytest.raises(UsageError, match="must be a distribution"):
        FixedPrior(own=np.array(own))


def test_one_row_for_each_target() -> None:
    targets = known_exactly(RELEASE, {0: np.array([0, 2])}, 2)
    with pytest.raises(UsageError, match="need 2 rows of 3 values, not 1 of 3"):
        attack(FixedPrior(own=np.array([[0.5, 0.5, 0.0]])), RELEASE, targets, PRIOR, Engine(seed=0))


BAD = {
    "hiv,flu\n0.5,0.5\n": "has 1 rows; it needs one for each of the 2 targets",
    "hiv,rabies\n0.5,0.5\n1,0\n": "header",
    "hiv,flu\n0.5,0.2\n1,0\n": "line 2: the probabilities add up to 0.7, not to 1",
    "hiv,flu\n0.5,0.5\n1,-0.5\n": "line 3, flu: '-0.5' is not a probability",
    "hiv,flu\n0.5,0.5\n1,x\n": "line 3, flu: 'x' is not a probability",
}


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_wrong(text: str, tmp_path: Path) -> None:
    (tmp_path / "held.csv").write_text(text)
    with pytest.raises(UsageError, match=BAD[text]):
        read_held(tmp_path / "held.csv", ILL, 2)


def test_a_file_that_is_right(tmp_path: Path) -> None:
    (tmp_path / "held.csv").write_text("hiv,flu\n0.333,0.666\n1,\n")
    assert read_held(tmp_path / "held.csv", ILL, 2) == pytest.approx(np.array([[2 / 3, 1 / 3, 0], [0, 1, 0]]))


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    (folder / "held.csv").write_text('flu,"""hiv, late"""\n' + "0.9,0.1\n" * 8)
    people = folder / "people.csv"
    rest = ("--attacker", "fixed_prior", "--own-prior", folder / "held.csv", "--people", people)
    code, out, err = run(*command(folder, *rest), capsys=capsys)
    assert code == 0, err
    assert "Known to fixed_prior: all quasi-identifiers, and for each a belief of its own." in " ".join(out.split())
    _, rows = read_csv(people)
    assert all(float(row["attacker:=cmd()"]) == 0 for row in rows)
    code, _, err = run(*command(folder, "--own-prior", folder / "held.csv"), capsys=capsys)
    assert code == 2
    assert err == "unveil: --own-prior is a belief of fixed_prior; add --attacker fixed_prior\n"
