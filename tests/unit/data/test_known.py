"""What a belief says is known of its targets."""

import numpy as np
import pytest

from enumeration import AGE, ILL, JOB, PAY, SEX, written_release
from one_round import attack
from unveil import catalog
from unveil.attackers.posterior.contract import Chains
from unveil.data.belief import Known, Targets, describe_targets
from unveil.data.regions import Regions

RELEASE = written_release(
    (AGE, SEX, JOB, ILL, PAY), {"age sex job disease pay": "20 f nurse flu low / 21 m clerk hiv high"}
)
PLAIN = written_release((AGE, SEX, ILL), {"age sex disease": "20 f flu; 20 f hiv / 21 m hiv; 21 m none"})


def known(index: int, *sets: list[int], wrong: float = 0.0) -> Known:
    """A piece of knowledge a target; [] = the whole domain."""
    codes = RELEASE.attributes[index].codes
    regions = Regions.sets(codes, [s or list(range(codes)) for s in sets])
    return Known(regions, np.arange(len(sets)), wrong)


FULL = {i: known(i, [0], [1]) for i in (0, 1, 2)}


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (FULL, "all quasi-identifiers"),
        ({}, "nothing"),
        ({0: known(0, [], [])}, "nothing"),
        ({0: known(0, [1], [0]), 1: known(1, [0], [0])}, "age, sex"),
        ({0: known(0, [1, 2], [0]), 1: known(1, [0], [0])}, "age (coarser), sex"),
        ({0: known(0, [1], []), 1: known(1, [0], [0])}, "age (of some), sex"),
        ({0: known(0, [1, 3], []), 1: known(1, [], [])}, "age (coarser, of some)"),
        ({**FULL, 1: known(1, [], [0])}, "age, sex (of some), job"),
        ({**FULL, 4: known(4, [0], [1])}, "all quasi-identifiers, pay"),
        ({0: known(0, [1], [0], wrong=0.05)}, "age, each wrong with probability 0.05"),
        (
            {i: known(i, [0], [1], wrong=0.05) for i in (0, 1, 2)},
            "all quasi-identifiers, each wrong with probability 0.05",
        ),
        (
            {0: known(0, [0], [1], wrong=0.2), 1: known(1, [0], [1]), 2: known(2, [0], [0, 1], wrong=0.1)},
            "age (wrong with probability 0.2), sex, job (coarser, wrong with probability 0.1)",
        ),
    ],
)
def test_what_is_known_in_a_few_words(what: dict[int, Known], said: str) -> None:
    assert describe_targets(RELEASE, Targets(3, what, 2)) == said


def test_regions_that_no_target_has_do_not_count() -> None:
    regions = Regions.sets(4, [[0], [0, 1], [0, 1, 2, 3]])
    assert describe_targets(RELEASE, Targets(3, {0: Known(regions, np.array([0, 0]))}, 2)) == "age"


@pytest.mark.parametrize("name", catalog.members("attackers"))
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({0: [0], 1: [0]}, "all quasi-identifiers"),
        ({0: [0, 1]}, "age (coarser)"),
        ({}, "nothing"),
    ],
)
def test_every_attacker_says_it(name: str, what: dict[int, list[int]], said: str) -> None:
    chains = Chains(chains=2, sweeps=50, burn_in=0, most_sweeps=0)
    pieces = {
        i: Known(Regions.sets(PLAIN.attributes[i].codes, [codes]), np.zeros(2, dtype=np.int64))
        for i, codes in what.items()
    }
    belief = attack(catalog.attacker(name), PLAIN, Targets(2, pieces, 2), chains=chains)
    assert belief.threat.target == said
