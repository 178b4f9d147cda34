"""Members that another installed package adds: the very code of the docs, found, run and sharing chains like ours."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from one_round import run_attack
from small import QI, SENSITIVE, made_schema, made_table
from unveil import catalog
from unveil.attackers import Chains
from unveil.attackers.posterior.hidden_posterior import HiddenPosterior
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import UsageError

ROOT = Path(__file__).parents[2]
METADATA = "Metadata-Version: 2.1\nName: your-package\nVersion: 1.0\n"


def documented(page: str, opening: str) -> str:
    """The one Python example of a page that opens like this."""
    (found,) = (b for b in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL) if opening in b)
    return str(found)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A package as pip lays it out, on the path: its modules, and metadata with the entry points of the docs."""
    folder = tmp_path_factory.mktemp("site-packages")
    package, metadata = folder / "your_package", folder / "your_package-1.0.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").touch()
    (package / "shuffle.py").write_text(documented("CONTRIBUTING.md", "class Shuffle"))
    (package / "doubter.py").write_text(documented("docs/attackers.md", "class Doubter"))
    said = re.findall(r"```toml\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    points = next(toml for toml in said if "entry-points" in toml)
    points = re.sub(r'\[project\.entry-points\."(.*)"\]', r"[\1]", points).replace('"', "")
    (metadata / "entry_points.txt").write_text(points)
    (metadata / "METADATA").write_text(METADATA)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder
    for name in [n for n in sys.modules if n.partition(".")[0] == "your_package"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def table() -> Table:
    random = np.random.default_rng(8)
    schema = made_schema(
        {
            "age": {"role": QI, "domain": ["young", "old"]},
            "sex": {"role": QI, "domain": ["f", "m"]},
            "ill": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
        }
    )
    rows = [
        (["young", "old"][a], ["f", "m"][b], ["flu", "hiv", "none"][c]) for a, b, c in random.integers(0, 2, (40, 3))
    ]
    return made_table(schema, *rows)


def test_they_are_listed_and_take_options(installed: Path) -> None:
    assert "doubter" in catalog.members("attackers")
    assert "shuffle" in catalog.members("anonymizers")
    assert catalog.attacker("doubter:doubt=0.2").doubt == 0.2
    assert catalog.anonymizer("shuffle:size=4").size == 4
    with pytest.raises(UsageError, match="doubter: doubt=2 is not a probability"):
        catalog.attacker("doubter:doubt=2")


def test_they_share_chains_with_ours(installed: Path, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    run = HiddenPosterior.run
    monkeypatch.setattr(HiddenPosterior, "run", lambda self: (runs.append(1), run(self))[1])
    made = catalog.anonymizer("shuffle:size=4").anonymize(table, Engine(seed=2))
    assert made.release.groups == 10
    targets = targets_of_table(table, made.release, 2)
    texts = ["doubter:doubt=0.25", "bayesian:membership=0.75", "bayesian", "random_worlds"]
    chains = Chains(chains=2, sweeps=60, burn_in=20, most_sweeps=0)
    found = run_attack(made.release, targets, {t: catalog.attacker(t) for t in texts}, chains=chains)
    assert len(runs) == 1
    ours = found.attackers["bayesian:membership=0.75"]
    assert np.array_equal(found.attackers["doubter:doubt=0.25"].probability, ours.probability)
    assert not np.array_equal(found.attackers["bayesian"].probability, ours.probability)
    assert found.attackers["doubter:doubt=0.25"].diagnostics.facts["sweeps"] == 60


def test_the_command_line_finds_them(installed: Path, tmp_path: Path) -> None:
    """In a process of its own, as a user has it: made by their anonymizer, audited by their attacker."""
    (tmp_path / "people.csv").write_text("age,sex,ill\n" + "young,f,flu\nold,m,hiv\nyoung,m,none\nold,f,flu\n" * 5)
    (tmp_path / "schema.toml").write_text(
        "version = 1\nconfirmed = true\n"
        + '[attributes.age]\nrole = "quasi-identifier"\nkind = "categorical"\ndomain = ["young", "old"]\n'
        + '[attributes.sex]\nrole = "quasi-identifier"\nkind = "categorical"\ndomain = ["f", "m"]\n'
        + '[attributes.ill]\nrole = "sensitive"\nkind = "categorical"\ndomain = ["flu", "hiv", "none"]\n'
    )
    commands = [
        "anonymize people.csv --schema schema.toml --with shuffle:size=4 -o out.csv",
        "audit out.csv --schema schema.toml --original people.csv --attacker doubter:doubt=0.2 --sweeps 50 "
        "--most-sweeps 50 --json audit.json",
    ]
    program = f"""
import sys
sys.path[:0] = {[str(installed), str(ROOT / "src")]!r}
from unveil.cli import main
for words in {commands!r}:
    sys.argv[1:] = words.split()
    try:
        main()
    except SystemExit as ended:
        assert ended.code in (0, 1, 3), ended
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=True)
    assert "doubter" in (tmp_path / "audit.json").read_text()
