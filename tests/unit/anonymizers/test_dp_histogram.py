"""Differentially private histograms: noise of OpenDP of the stated scale, and nothing else of the table gets out."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil import catalog, cli
from unveil.anonymizers import dp_histogram
from unveil.anonymizers.dp_histogram import mechanism, noisy_counts
from unveil.data.release import Anonymized
from unveil.data.rows import rows_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, RequirementError, UsageError
from unveil.formats.releases import read_release, write_release

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99}, "bins": [30, 60]},
        "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv"]},
    },
    missing=["?"],
)


def people() -> Table:
    rows = [(20, "f", "flu")] * 5 + [(40, "m", "flu")] * 3 + [(70, "?", "hiv")]
    return made_table(SCHEMA, *rows)


def run(text: str, seed: int = 1) -> Anonymized:
    made = catalog.anonymizer(text).anonymize(people(), Engine(seed=seed))
    assert made.release.synthetic
    return made


def test_counts_become_rows_and_what_is_below_the_least_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def noise(counts: Any, epsilon: float) -> Any:
        seen.append((counts.tolist(), epsilon))
        return counts + np.array([0, 0, 2, 1] + [0] * 4 + [-4, -1] + [0] * 8)

    monkeypatch.setattr(dp_histogram, "noisy_counts", noise)
    made = run("dp_histogram:epsilon=0.5,least=2")
    # 3 ages × (f, m, missing) × 2: five young women with flu, three middle-aged men with flu, one old unknown with hiv.
    true = np.zeros((3, 3, 2), dtype=int)
    true[0, 0, 0], true[1, 1, 0], true[2, 2, 1] = 5, 3, 1
    assert seen == [(true.ravel().tolist(), 0.5)]
    age, sex, disease = rows_of(made.release).columns
    rows = sorted(zip(age.tolist(), sex.tolist(), disease.tolist(), strict=True))
    # Five stay; two appear; one is too few to be released, as the three less four.
    assert rows == [(rows[0][0], 0, 0)] * 5 + [(rows[0][0], 1, 0)] * 2
    assert 0 < rows[0][0] < 30  # a bin stands for its middle
    assert tuple(made.release.perturbed) == (0, 1, 2)
    assert made.release.method == "dp_histogram:epsilon=0.5,least=2"
    assert "18 combinations; 2 are released" in made.note
    assert (made.group_of_row == -1).all()  # the rows are nobody's
    with pytest.raises(RequirementError, match="all noisy counts are below 9"):
        run("dp_histogram:epsilon=0.5,least=9")
    monkeypatch.undo()
    assert [a.name for a in run("dp_histogram:epsilon=2,attributes=sex").release.attributes] == ["sex"]


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 3.0])
def test_the_noise_is_that_of_the_stated_scale(epsilon: float) -> None:
    made = mechanism(epsilon)
    assert made.map(1) <= epsilon  # OpenDP's own account of one person more or fewer
    assert made.map(1) == pytest.approx(epsilon, rel=1e-9)
    cells = 4000
    noise = noisy_counts(np.full(cells, 7), epsilon) - 7
    # Discrete Laplace: P(k) = (1-q)/(1+q) q^|k| with q = e^-epsilon. The noise cannot be seeded, so bounds are six
    # standard errors: one run in 10^9 fails by chance.
    q = math.exp(-epsilon)
    variance = 2 * q / (1 - q) ** 2
    assert abs(noise.mean()) < 6 * math.sqrt(variance / cells)
    zero = (1 - q) / (1 + q)
    assert abs((noise == 0).mean() - zero) < 6 * math.sqrt(zero * (1 - zero) / cells)
    k = np.arange(-4000, 4001)
    law = zero * q ** np.abs(k)
    fourth = float((law * k**4.0).sum())
    assert abs((noise**2).mean() - variance) < 6 * math.sqrt((fourth - variance**2) / cells)
    wide = dp.discrete_laplacian_scale_to_accuracy(1 / epsilon, 0.05)
    beyond = float(law[np.abs(k) >= wide].sum())
    assert beyond <= 0.05 + 1e-9  # OpenDP's accuracy: at least as far away with probability 5% at most
    assert abs((np.abs(noise) >= wide).mean() - beyond) < 6 * math.sqrt(0.05 * 0.95 / cells)


def test_what_would_give_the_table_away_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    observed = made_table(made_schema({"a": {"role": QI}, "b": {"role": QI, "domain": ["x"]}}), ("u", "x"), ("v", "x"))
    member = catalog.anonymizer("dp_histogram:epsilon=1")
    with pytest.raises(RequirementError, match="the domain of a is what the table holds"):
        member.anonymize(observed, Engine(seed=0))
    with pytest.raises(UsageError, match="nothing to count"):
        member.anonymize(made_table(made_schema({"a": {"role": "insensitive"}}), ("u",)), Engine(seed=0))
    for options, words in (("epsilon=0", "epsilon"), ("epsilon=1,least=0", "least"), ("epsilon=1,attributes=a+a", "")):
        with pytest.raises(UsageError, match=words or "twice"):
            run(f"dp_histogram:{options}")
    with monkeypatch.context() as patch:
        patch.setattr(dp_histogram, "MOST_CELLS", 17)
        with pytest.raises(RequirementError, match="have 18 combinations"):
            run("dp_histogram:epsilon=1")
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(NotApplicable, match=r"install unveil\[dp\]"):
        run("dp_histogram:epsilon=1")


def test_its_file_is_read_as_a_masked_release_and_the_command_refuses_an_assignment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run("dp_histogram:epsilon=3")
    write_release(made.release, tmp_path / "r.csv")
    assert read_release(tmp_path / "r.csv", SCHEMA) == made.release
    assert "epsilon=3" in (tmp_path / "r.toml").read_text()
    (tmp_path / "s.toml").write_text(
        'version = 1\nconfirmed = true\n[attributes.sex]\nrole = "quasi-identifier"\ndomain = ["f", "m"]\n'
    )
    (tmp_path / "d.csv").write_text("sex\n" + "f\n" * 30)
    monkeypatch.chdir(tmp_path)
    base = ["unveil", "anonymize", "d.csv", "-s", "s.toml", "--with", "dp_histogram:epsilon=2", "-o", "o.csv"]
    for more, code, words in (([], 0, "columns perturbed"), (["--assignment", "a.csv"], 2, "nobody's")):
        monkeypatch.setattr(sys, "argv", [*base, *more])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert (stopped.value.code or 0) == code
        assert words in capsys.readouterr().err
    assert 'method = "dp_histogram:epsilon=2,least=1"' in (tmp_path / "o.toml").read_text()
