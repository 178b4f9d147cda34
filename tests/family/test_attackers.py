"""Every attacker there is: what must be true of its beliefs, whatever it assumes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import Published, releases

from enumeration import AGE, ILL, SEX, written_release
from one_round import attack as believe
from thorough import THOROUGH
from unveil import catalog
from unveil.attackers import fixed_prior
from unveil.attackers.posterior.contract import Chains, Unread, posterior
from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Belief, Known, Prior, Targets, known_exactly
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError

SHORT = Chains(chains=2, sweeps=100, burn_in=50, keep=50, most_sweeps=0, every=10)


@dataclass(frozen=True)
class Case:
    """How a member is tried."""

    options: Mapping[str, Any]
    membership: bool  # whether it knows that the target is in the table
    learns: bool  # whether it must sample where the link is hidden
    draws: bool = False  # whether it samples even where the posterior is closed form
    cells: bool = False  # whether it needs everybody's cells to be published, or a roster


CONFIGURATIONS: dict[str, Case] = {
    "background": Case({}, membership=True, learns=False, cells=True),
    "bayesian": Case({}, membership=True, learns=True),
    "boosted": Case({}, membership=True, learns=False),
    "conditional_learner": Case({}, membership=False, learns=True, draws=True),
    "fixed_prior": Case({}, membership=True, learns=False),
    "learner": Case({}, membership=False, learns=True),
    "learner_without": Case({}, membership=False, learns=True),
    "random_worlds": Case({}, membership=True, learns=False),
}
NAMES = sorted(CONFIGURATIONS)
MEMBERS = [name for name in NAMES if CONFIGURATIONS[name].membership]

LINKED = "age sex disease"
BLOCKS: dict[str, dict[str, str]] = {
    "nested": {LINKED: "20,21 f flu; 20,21 f hiv / 22,23 * hiv; 22,23 * hiv / 20 m flu; 20 m none"},
    "overlapping": {LINKED: "20,21 * flu; 20,21 * hiv / 21,22 * flu; 21,22 * hiv; 21,22 * none / 22,23 m hiv"},
    "anatomy": {
        "age sex": "20 f; 21 m / 20 f; 20 f; 22 m / 23 m; 22 f",
        "disease": "flu; hiv / flu; none; flu / hiv; none",
    },
    "slices": {"age": "20; 21 / 20; 22; 20", "sex disease": "f flu; m hiv / f none; f flu; m flu"},
    "suppressed": {LINKED: "20,21 f flu; 20,21 f * / 22,23 m hiv; 22,23 m flu; 22,23 m flu,hiv"},
    "suppressed, three blocks": {
        "age": "20; 21 / 20; 22; 20",
        "sex": "f; m / f; m; m",
        "disease": "flu; * / flu,hiv; hiv; none",
    },
}
EXACT = ("nested",)
ATTRIBUTES = (AGE, SEX, ILL)
DISEASE = 2
PEOPLE = {"age": ["20", "20", "22", "20"], "sex": ["f", "m", "m", "f"]}  # the last one is the first one again


def release_of(blocks: Mapping[str, str], attributes: Sequence[Attribute] = ATTRIBUTES) -> Release:
    return written_release(attributes, blocks)


def made(name: str) -> Any:
    return catalog.member("attackers", name)(**CONFIGURATIONS[name].options)


def people(release: Release, known: Mapping[str, Sequence[str]] = PEOPLE, wrong: float = 0.0) -> Targets:
    found, count = {}, 0
    for name, values in known.items():
        index = release.index(name)
        attribute = release.attributes[index]
        codes = np.array([attribute.values.index(v) for v in values])
        found[index], count = Known.exactly(attribute, codes, wrong), len(codes)
    return Targets(DISEASE, found, count)


def attack(
    name: str, release: Release, targets: Targets, *, prior: Prior | None = None, engine: Engine | None = None
) -> Belief:
    prior = Prior.uninformative(release, DISEASE) if prior is None else prior
    try:
        belief = believe(made(name), release, targets, prior, Engine(seed=3) if engine is None else engine, SHORT)
    except NotApplicable as reason:
        if CONFIGURATIONS[name].cells and "roster" in str(reason):
            assert len(release.blocks) != 2 or len(release.block_of(DISEASE).attributes) > 1, "cells are published"
            pytest.skip("the release does not show everybody's cells")
        raise
    assert isinstance(belief, Belief)
    return belief


@pytest.fixture(autouse=True, scope="module")
def short_chains() -> Iterator[None]:
    """fixed_prior has no option for the length of its chains; most releases need none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixed_prior, "KEPT_BY_ROW", 50)
        yield


def test_every_member_is_tried() -> None:
    assert set(CONFIGURATIONS) == set(catalog.members("attackers")), "add the new member's configuration above"


@pytest.mark.parametrize("wrong", [0.0, 0.2])
@pytest.mark.parametrize("shape", BLOCKS)
@pytest.mark.parametrize("name", NAMES)
def test_beliefs_are_distributions(name: str, shape: str, wrong: float) -> None:
    release = release_of(BLOCKS[shape])
    who = {"age": ["20", "22"], "sex": ["f", "m"]}
    belief = attack(name, release, people(release, who, wrong))
    assert belief.probability.shape == (2, ILL.codes)
    for probability in (belief.probability, *(() if belief.chains is None else belief.chains)):
        assert (probability >= 0).all()
        assert probability.sum(axis=1) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("shape", ["nested", "anatomy", "overlapping"])
@pytest.mark.parametrize("name", NAMES)
def test_renaming_the_sensitive_codes_permutes_the_columns(name: str, shape: str) -> None:
    """Up to rounding where it is exact; a sampler draws anew, so that it agrees up to its error."""
    order = [2, 0, 1]
    renamed = replace(ILL, values=tuple(ILL.values[i] for i in order))
    one, other = release_of(BLOCKS[shape]), release_of(BLOCKS[shape], (AGE, SEX, renamed))
    alpha = np.array([1.0, 2.0, 0.5])
    beta = {0: 0.5 + np.arange(12.0).reshape(3, 4) % 5, 1: 1.0 + np.arange(6.0).reshape(3, 2)}
    priors = Prior(alpha, beta), Prior(alpha[order], {i: b[order] for i, b in beta.items()})
    who = {"age": ["20", "22"], "sex": ["f", "m"]}
    before = attack(name, one, people(one, who), prior=priors[0])
    after = attack(name, other, people(other, who), prior=priors[1])
    exact = before.exact and after.exact
    assert exact == ((shape in EXACT or not CONFIGURATIONS[name].learns) and not CONFIGURATIONS[name].draws)
    assert after.probability == pytest.approx(before.probability[:, order], abs=1e-12 if exact else 0.12)


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize(
    "blocks",
    [
        {LINKED: "20,21 f flu; 20,21 f flu / 20,22 f hiv; 20,22 f none"},
        {"age sex": "20 f; 21 m / 20 f; 22 m", "disease": "flu; flu / hiv; none"},
        {"age": "20; 21 / 20; 22", "sex disease": "f flu; m flu / f hiv; m none"},
    ],
)
def test_a_homogeneous_group_is_certain_to_whoever_knows_the_group(name: str, blocks: dict[str, str]) -> None:
    release = release_of(blocks)
    flu = ILL.values.index("flu")
    group = next(g for g in range(release.groups) if _values_of(release, g) == {flu})
    targets = replace(people(release, {"age": ["20"], "sex": ["f"]}), group=np.array([group]))
    belief = attack(name, release, targets)
    assert belief.probability[0, flu] == pytest.approx(1, abs=1e-12)
    assert belief.threat.group == "known"
    alone = people(release, {"age": ["21"]})  # only the homogeneous group holds a 21-year-old
    assert attack(name, release, alone).probability[0, flu] == pytest.approx(1, abs=1e-12)


def _values_of(release: Release, group: int) -> set[int]:
    block = release.block_of(DISEASE)
    entries = slice(int(block.start[group]), int(block.start[group + 1]))
    return set(release.regions[DISEASE].single()[block.region(DISEASE)[entries]].tolist())


@pytest.mark.parametrize("shape", BLOCKS)
@pytest.mark.parametrize("name", NAMES)
def test_shuffling_a_block_within_its_groups_changes_nothing(name: str, shape: str) -> None:
    """Not even the draws: the release is the same object, whatever order its rows came in."""
    random = np.random.default_rng(4)
    groups = [group.split(";") for group in next(iter(BLOCKS[shape].values())).split("/")]
    turn = random.permutation(len(groups))
    shuffled = {}
    for block, text in BLOCKS[shape].items():
        rows = [group.split(";") for group in text.split("/")]
        rows = [[row[i] for i in random.permutation(len(row))] for row in rows]
        shuffled[block] = "/".join(";".join(rows[g]) for g in turn)
    one, other = release_of(BLOCKS[shape]), release_of(shuffled)
    assert one == other
    who = {"age": ["20", "22"], "sex": ["f", "m"]}
    before, after = (attack(name, r, people(r, who)).probability for r in (one, other))
    assert np.array_equal(before, after)


@pytest.mark.parametrize("name", MEMBERS)
def test_the_original_is_certain_about_unique_rows(name: str) -> None:
    release = release_of({LINKED: "20 f flu / 20 m hiv / 21 m none / 23 m flu / 22 f hiv / 22 f none"})
    who = {"age": ["20", "20", "21", "23"], "sex": ["f", "m", "m", "m"]}
    belief = attack(name, release, people(release, who))
    assert belief.probability == pytest.approx(np.eye(3)[[0, 1, 2, 0]], abs=1e-12)
    twins = attack(name, release, people(release, {"age": ["22"], "sex": ["f"]}))
    assert twins.probability[0, 0] == 0
    assert (twins.probability[0, 1:] > 0).all()


@pytest.mark.parametrize("shape", ["nested", "anatomy"])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_target_gets_the_same_belief(name: str, shape: str) -> None:
    release = release_of(BLOCKS[shape])
    who = {"age": ["20", "22", "20", "22", "20"], "sex": ["f", "m", "f", "m", "f"]}
    together = attack(name, release, people(release, who))
    assert np.array_equal(together.probability[[0, 1]], together.probability[[2, 3]])
    assert np.array_equal(together.probability[0], together.probability[4])
    alone = attack(name, release, people(release, {"age": ["22"], "sex": ["m"]}))
    assert np.array_equal(alone.probability[0], together.probability[1])  # who else is asked about does not matter


@pytest.mark.parametrize("shape", BLOCKS)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_numbers_for_any_number_of_workers(name: str, shape: str) -> None:
    release = release_of(BLOCKS[shape])
    who = people(release, {"age": ["20", "22"], "sex": ["f", "m"]})
    found = [attack(name, release, who, engine=Engine(seed=8, workers=w)) for w in (1, 2, 5)]
    for other in found[1:]:
        assert np.array_equal(found[0].probability, other.probability)
    if not found[0].exact:
        another = attack(name, release, who, engine=Engine(seed=9))
        assert not np.array_equal(found[0].chains, another.chains)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", ["nested", "overlapping", "anatomy", "slices"])
@pytest.mark.parametrize("name", NAMES)
def test_a_target_that_fits_no_group(name: str, shape: str) -> None:
    release = release_of(BLOCKS[shape])
    who = {"age": ["20", "23", "20"], "sex": ["f", "f", "f"]}
    if shape == "nested":
        who["sex"][1], who["age"][1] = "m", "21"
    if shape == "overlapping":
        who["age"][1], who["sex"][1] = "23", "f"
    targets = people(release, who)
    if not CONFIGURATIONS[name].membership:
        assert attack(name, release, targets).probability.shape == (3, ILL.codes)
        return
    with pytest.raises(UsageError, match=r"target 2 does not fit any group .*\(1 of 3 targets") as caught:
        attack(name, release, targets)
    assert "\n" not in str(caught.value)
    mistaken = people(release, who, wrong=0.1)  # if what is known may be wrong, anyone may be there
    assert attack(name, release, mistaken).probability.shape == (3, ILL.codes)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_target_that_does_not_fit_its_own_group(name: str) -> None:
    release = release_of({"age sex": "20 f; 21 m / 22 f; 23 m", "disease": "flu; hiv / hiv; none"})
    own = next(g for g in range(2) if "20" in _ages(release, g))
    targets = people(release, {"age": ["20"], "sex": ["f"]})
    attack(name, release, replace(targets, group=np.array([own])))
    with pytest.raises(UsageError, match="does not fit its group"):
        attack(name, release, replace(targets, group=np.array([1 - own])))
    with pytest.raises(UsageError, match="none of the release's groups"):
        attack(name, release, replace(targets, group=np.array([2])))


def _ages(release: Release, group: int) -> set[str]:
    block = release.block_of(0)
    entries = slice(int(block.start[group]), int(block.start[group + 1]))
    return {AGE.values[int(code)] for r in block.region(0)[entries] for code in release.regions[0].members(int(r))}


@pytest.mark.parametrize("name", NAMES)
def test_targets_that_do_not_speak_of_the_release(name: str) -> None:
    release = release_of(BLOCKS["nested"])
    with pytest.raises(UsageError, match="outside the domain of age"):
        known_exactly(release, {0: np.array([AGE.codes])}, DISEASE)
    with pytest.raises(UsageError, match="cannot be known"):
        Targets(DISEASE, {DISEASE: Known.exactly(ILL, np.array([0]))}, 1)
    foreign = Known(Regions.singles(AGE.codes + 1), np.array([0]))
    prior = Prior.uninformative(release, DISEASE)
    for targets in (
        Targets(DISEASE, {0: foreign}, 1),
        Targets(DISEASE, {7: Known.exactly(AGE, np.array([0]))}, 1),
        Targets(9, {0: Known.exactly(AGE, np.array([0]))}, 1),
        Targets(-1, {0: Known.exactly(AGE, np.array([0]))}, 1),
    ):
        with pytest.raises(UsageError):
            believe(made(name), release, targets, prior, Engine(seed=0), SHORT)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_pseudo_counts_must_be_above_zero(alpha: float) -> None:
    release = release_of(BLOCKS["nested"])
    with pytest.raises(UsageError, match="above 0"):
        Prior.uninformative(release, DISEASE, alpha=alpha)
    with pytest.raises(UsageError, match="above 0"):
        Prior.uninformative(release, DISEASE, beta=alpha)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "random_worlds"])  # which uses no prior
def test_a_prior_of_another_release_is_refused(name: str) -> None:
    release = release_of(BLOCKS["nested"])
    fitting = Prior.uninformative(release, DISEASE)
    for prior in (
        Prior(np.ones(4), {0: np.ones((4, 4)), 1: np.ones((4, 2))}),
        Prior(fitting.alpha, {0: fitting.beta[0]}),
        Prior(fitting.alpha, {0: fitting.beta[0], 1: np.ones((3, 5))}),
    ):
        with pytest.raises(UsageError, match="prior does not fit"):
            attack(name, release, people(release), prior=prior)


@pytest.mark.parametrize("shape", [s for s in BLOCKS if "suppressed" not in s])
@pytest.mark.parametrize("name", NAMES)
def test_of_someone_unknown_the_population_is_believed(name: str, shape: str) -> None:
    """The shares in the table; the learner asks about the population it comes from, with one pseudo-count a value."""
    release = release_of(BLOCKS[shape])
    count = release.histograms(DISEASE)[0].sum(axis=0)
    whole = Known(Regions.intervals(AGE.codes, [0], [AGE.codes - 1]), np.zeros(2, dtype=np.int64))
    for targets in (Targets(DISEASE, {}, 2), Targets(DISEASE, {0: whole}, 2)):
        belief = attack(name, release, targets)
        shares = count / count.sum() if CONFIGURATIONS[name].membership else (count + 1) / (count + 1).sum()
        error = 0.05 if CONFIGURATIONS[name].draws else 1e-9
        if name == "learner_without" and targets.known:  # any group may be theirs, and each is left out in turn
            error = 0.07
        assert belief.probability == pytest.approx(np.tile(shares, (2, 1)), abs=error)


@pytest.mark.parametrize("name", NAMES)
def test_large_groups(name: str) -> None:
    """Groups too large to be matched exactly: whoever learns nothing about the cells believes the group's shares."""
    random = np.random.default_rng(6)
    rows = [(f"2{random.integers(4)}", "fm"[random.integers(2)], ILL.values[random.integers(3)]) for _ in range(400)]
    halves = rows[:200], rows[200:]
    blocks = {
        "age sex": "/".join(";".join(f"{age} {sex}" for age, sex, _ in half) for half in halves),
        "disease": "/".join(";".join(disease for *_, disease in half) for half in halves),
    }
    release = release_of(blocks)
    belief = attack(name, release, people(release))
    share = np.array([sum(d == value for _, _, d in rows) for value in ILL.values]) / 400
    if not CONFIGURATIONS[name].learns:  # a uniform prior makes the fixed prior random worlds
        assert belief.probability == pytest.approx(np.tile(share, (4, 1)), abs=0.02)
    assert ("swaps" in belief.diagnostics.method) == (name not in ("background", "boosted", "random_worlds"))


@settings(max_examples=40 if THOROUGH else 15)
@given(releases(), st.data())
def test_any_release(published: Published, data: st.DataObject) -> None:
    """Whatever was published and whoever is asked about: a distribution, or one clear line.

    Every member on every example: a release costs more to draw than to attack.
    """
    release = published.release
    sensitive = release.with_role(Role.SENSITIVE)
    assume(sensitive)
    asked = data.draw(st.sampled_from(sensitive))
    count = data.draw(st.integers(1, 3))
    known = {}
    for i in range(len(release.attributes)):
        if i != asked and data.draw(st.booleans()):
            codes: NDArray[np.int64] = np.array(
                data.draw(st.lists(st.integers(0, release.attributes[i].codes - 1), min_size=count, max_size=count))
            )
            known[i] = Known.exactly(release.attributes[i], codes, data.draw(st.sampled_from([0.0, 0.3])))
    targets, prior = Targets(asked, known, count), Prior.uninformative(release, asked)
    everyone = {name: made(name) for name in NAMES}
    questions = [(kind, targets) for kind in sorted({kind for one in everyone.values() for kind in one.asks()})]
    learned = posterior(release, asked, prior, Engine(seed=1), SHORT, questions=questions)  # once for all of them
    unread = Unread(release, prior, Engine(seed=1))
    assert isinstance(learned.alarm(), str)
    assert isinstance(learned.facts(), Mapping)
    learned.finish(done=True)
    for name, one in everyone.items():
        try:
            belief = one.believe(learned if one.asks() else unread, targets)
        except NotApplicable:
            continue
        except UsageError as error:
            if not CONFIGURATIONS[name].membership or "does not fit any group" not in str(error):
                raise
            continue
        assert belief.probability.shape == (count, release.attributes[asked].codes), name
