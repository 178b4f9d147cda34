"""The exact figures of Li 2010 on utility and privacy loss, named once more."""

from collections import Counter
from math import log

import numpy as np
import pytest

from papers import Figure, li_2010
from realdata.adult import SHARED, AdultMissing, read_adult
from unveil.data.belief import Belief
from unveil.risk import privacy_loss


def entropy(*counts: int) -> float:
    return -sum(c / sum(counts) * log(c / sum(counts)) for c in counts)


def test_entropies_of_table_2_4() -> None:
    found = {f.name: f.ours for f in li_2010.reproduce()}
    loss = (600 * entropy(1, 1) + 2000 * entropy(1, 9) + 400 * entropy(1, 1)) / 3000
    assert found["information loss IL"] == pytest.approx(loss)
    large = (2000 * entropy(1, 9) + 1000 * entropy(1, 1)) / 3000
    assert found["utility U about groups of at least 1,000"] == pytest.approx(entropy(700, 2300) - large)
    assert found["utility U beyond that"] == pytest.approx(0, abs=1e-12)


@pytest.fixture(scope="module")
def adult() -> dict[str, list[str]]:
    try:
        return read_adult(download=False)
    except AdultMissing as missing:
        pytest.skip(str(missing))


def test_what_a_revealed_value_costs(adult: dict[str, list[str]]) -> None:
    counts = Counter(adult["occupation"])
    share = np.array([counts[value] / len(adult["occupation"]) for value in sorted(counts)])
    shown = [sorted(counts).index(value) for value in ("Armed-Forces", "Craft-repair")]
    loss = privacy_loss(Belief(np.eye(len(share))[shown]), Belief(share[None, :]))
    assert loss == pytest.approx([0.6918, 0.4876], abs=5e-5)


def test_large_populations_of_adult(adult: dict[str, list[str]]) -> None:
    if not (SHARED / "hierarchies").is_dir():
        pytest.skip("the counts are those of the hierarchies in ../shared/data/adult")
    found: dict[str, Figure] = {f.name: f for f in li_2010._large_populations(adult)}
    assert found["large populations, minSup 5%"].ours == 2027
    assert found["large populations, minSup 2%"].ours == 5881
    assert found["U_loss with every quasi-identifier removed"].ours == pytest.approx(0.0470, abs=5e-4)
    assert found["P_loss of the original"].ours == pytest.approx(0.6918, abs=1e-4)
    assert found["U_loss of the original"].ours == pytest.approx(0, abs=1e-9)
