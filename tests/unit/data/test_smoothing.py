"""Kernels over ordered codes, what they do to regions, and how they are asked for."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from test_attack import command, folder, released  # noqa: F401  fixtures
from test_cli import run

from one_round import run_attack
from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data import smoothing
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Prior
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.data.smoothing import Centres, bandwidths, gaussian, smoothing_kernels, tied
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, UsageError


def attribute(name: str, **declared: object) -> Attribute:
    schema = made_schema(
        {name: {"role": QI, **declared}, "disease": {"role": SENSITIVE, "domain": ["a", "b"]}}, missing=["?"]
    )
    domain = declared["domain"]
    first = str(domain["from"]) if isinstance(domain, dict) else domain[0]  # type: ignore[index]
    return made_table(schema, (first, "a")).attributes[0]


def test_a_gaussian_by_hand() -> None:
    age = attribute("age", kind="numeric", domain={"from": 20, "to": 22})
    near, far = np.exp(-1 / 8), np.exp(-1 / 2)  # one and two years at a bandwidth of two
    expected = np.array([[1, near, far], [near, 1, near], [far, near, 1]])
    expected /= expected.sum(axis=1, keepdims=True)
    assert gaussian(age, 2.0) == pytest.approx(expected, abs=1e-15)


def test_units_are_the_attributes_own() -> None:
    """Tens of years at a bandwidth of 20 are steps at a bandwidth of 2; days are days; bins stand at their middles."""
    steps = gaussian(attribute("grade", kind="ordinal", domain=["a", "b", "c"]), 2.0)
    tens = gaussian(attribute("age", kind="numeric", domain={"from": 20, "to": 40, "step": 10}), 20.0)
    assert tens == pytest.approx(steps, abs=1e-15)
    days = gaussian(attribute("day", kind="date", domain={"from": date(2024, 2, 28), "to": date(2024, 3, 1)}), 2.0)
    assert days == pytest.approx(steps, abs=1e-15)
    bins = attribute("age", kind="numeric", domain={"from": 0, "to": 59}, bins=[20, 30])
    place = np.array([9.5, 24.5, 44.5])
    height = np.exp(-0.5 * ((place[:, None] - place) / 7) ** 2)
    assert gaussian(bins, 7.0) == pytest.approx(height / height.sum(axis=1, keepdims=True), abs=1e-12)


def test_missing_is_outside_the_order() -> None:
    age = attribute("age", kind="numeric", domain={"from": 20, "to": 22}, missing="category")
    whole = attribute("age", kind="numeric", domain={"from": 20, "to": 22})
    kernel = gaussian(age, 5.0)
    assert kernel.shape == (4, 4)
    assert (kernel[3] == [0, 0, 0, 1]).all()
    assert (kernel[:, 3] == [0, 0, 0, 1]).all()
    assert np.array_equal(kernel[:3, :3], gaussian(whole, 5.0))


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-3, 0.1])
def test_a_narrow_kernel_ties_nothing(bandwidth: float) -> None:
    assert np.array_equal(
        gaussian(attribute("age", kind="numeric", domain={"from": 20, "to": 60}), bandwidth), np.eye(41)
    )


def test_a_wide_kernel_makes_all_alike() -> None:
    kernel = gaussian(attribute("age", kind="numeric", domain={"from": 20, "to": 60}), 1e9)
    assert kernel == pytest.approx(np.full((41, 41), 1 / 41), abs=1e-12)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bandwidth_is_a_number_above_zero(bandwidth: float) -> None:
    with pytest.raises(UsageError, match=r"smooth age=.*above 0"):
        gaussian(attribute("age", kind="numeric", domain={"from": 20, "to": 22}), bandwidth)


def test_what_cannot_be_smoothed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="sex is categorical"):
        gaussian(attribute("sex", domain=["f", "m"]), 1.0)
    age = attribute("age", kind="numeric", domain={"from": 20, "to": 22})
    with pytest.raises(UsageError, match="age is asked about"):
        smoothing_kernels([age], {0: 1.0}, 0)
    monkeypatch.setattr(smoothing, "MOST_CODES", 2)
    with pytest.raises(NotApplicable, match="declare bins"):
        gaussian(age, 1.0)
    monkeypatch.setattr(smoothing, "MOST_PAIRS", 8)
    with pytest.raises(NotApplicable, match="smaller bandwidth"):
        Centres.of(Regions.singles(3), np.full((3, 3), 1 / 3))


@pytest.mark.parametrize("piece", [1, 2, 1000])
def test_centres_by_hand(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoothing, "PIECE", piece)
    kernel = np.array([[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])
    near = Centres.of(Regions.sets(3, [[0], [1, 2], [0, 2]]), kernel)
    assert near.start.tolist() == [0, 2, 5, 8]
    assert near.centre.tolist() == [0, 1, 0, 1, 2, 0, 1, 2]
    assert near.weight.tolist() == [0.75, 0.25, 0.25, 0.75, 1.0, 0.75, 0.5, 0.5]


def test_bandwidths_as_they_are_written() -> None:
    names = [Attribute(n, Role.QUASI_IDENTIFIER, Kind.ORDINAL, ("a", "b")) for n in ("age", "visit", "x=y")]
    assert bandwidths([], names) == {}
    assert bandwidths(["age=5"], names) == {0: 5.0}
    assert bandwidths(["visit = 2.5 , age=5", "x=y=1"], names) == {0: 5.0, 1: 2.5, 2: 1.0}
    for text, said in {
        "age": "such as age=5",
        "=5": "such as age=5",
        "age=5,": "such as age=5",
        "height=5": "no attribute 'height'",
        "age=wide": "age=wide: a bandwidth is a number",
        "age=5,age=6": "given twice",
    }.items():
        with pytest.raises(UsageError, match=said) as caught:
            bandwidths([text], names)
        assert "\n" not in str(caught.value)


def test_a_prior_checks_its_kernels() -> None:
    alpha, beta = np.ones(2), {0: np.ones((2, 3))}
    good = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    prior = Prior(alpha, beta, {0: good})
    with pytest.raises(ValueError, match="read-only"):
        prior.smooth[0][0, 0] = 1.0
    assert prior.shares(0) == pytest.approx(np.tile([1 / 6, 1 / 3, 1 / 2], (2, 1)))
    for kernel, said in (
        (np.eye(2), "3 × 3"),
        (good * 2, "distributions"),
        (np.array([[2.0, -1, 0], [0, 1, 0], [0, 0, 1]]), "distributions"),
        (np.full((3, 3), np.nan), "distributions"),
        (np.array([[1.0, 0, 0], [1, 0, 0], [0, 0, 1]]), "without a centre"),
    ):
        with pytest.raises(UsageError, match=said):
            Prior(alpha, beta, {0: kernel})
    with pytest.raises(UsageError, match="pseudo-counts"):
        Prior(alpha, beta, {1: np.eye(3)})


@pytest.mark.thorough
def test_beliefs_say_what_is_tied(released: tuple[Release, object]) -> None:  # noqa: F811
    release, table = released
    targets = targets_of_table(table, release, 2)  # type: ignore[arg-type]
    readers = {"b": Bayesian(), "f": FixedPrior(), "r": RandomWorlds()}
    plain = run_attack(release, targets, readers)
    prior = Prior.uninformative(release, 2, smooth={0: 5.0})
    found = run_attack(release, targets, readers, prior=prior)
    alike = "; neighbouring values of age are alike"
    assert tied(["age"]) == alike
    assert found.learner.threat.population == plain.learner.threat.population + alike
    assert found.attackers["b"].threat.population == "an uninformative prior" + alike
    assert found.attackers["f"].threat.population.endswith("nothing is learned" + alike)
    assert found.attackers["r"].threat.population == plain.attackers["r"].threat.population
    assert found.attackers["b"].diagnostics.method == "sampled on counts: age"
    again = replace(prior, smooth={})
    assert again.population(release) == "an uninformative prior"


def test_the_command_smooths(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    code, out, err = run(*command(folder, "--smooth", "age=5", "--sweeps", "20000"), capsys=capsys)
    assert (code, err) == (0, "")
    assert "sampled on counts: age" in " ".join(out.replace("│", " ").split())
    for option, said in {
        "sex=1": "sex is categorical",
        "weight=1": "no attribute 'weight'",
        "age=0": "number above 0",
        "age=-2": "number above 0",
        "age=wide": "number above 0",
        "age=nan": "number above 0",
        "disease=1": "is asked about",
    }.items():
        code, out, err = run(*command(folder, "--smooth", option), capsys=capsys)
        assert (code, out) == (2, "")
        assert said in " ".join(err.split())
