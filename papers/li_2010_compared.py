"""Li 2010, Privacy Preservation in Data Publishing and Sharing (thesis, Purdue): chapter 4, three schemes audited."""

from collections.abc import Iterator

import numpy as np

from papers import Figure
from papers.li_2010_slicing import EIGHT, F, shares, table_4_1
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.mondrian import Mondrian
from unveil.anonymizers.slicing import Slicing, sliced
from unveil.attackers import attack
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import run_audit
from unveil.data.belief import Prior
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.privacy.models import ProbabilisticL

ROWS = 1000  # of Adult, drawn: chains on slices of all 30,162 take some minutes a scheme
L = 3  # the largest whole l that {sex, occupation} allows by definition 4.2.2
SCHEMES = {
    "generalisation": Mondrian(require=(ProbabilisticL(l=L),), recoding="order"),
    "Anatomy": Anatomy(l=L),
    "slicing": Slicing(require=(ProbabilisticL(l=L),), alpha=2),
}
MEASURES = {
    "learner.global_threat": "share right, learner",
    "random_worlds.global_threat": "share right, random worlds",
    "bayesian.global_threat": "share right, learning attacker",
    "bayesian.relative_threat.share_2x": "people twice as exposed",
    "bayesian.relative_threat.q95": "relative threat, 95% quantile",
    "faithfulness": "faithfulness",
    "query_error": "error of random counts",
}


def reproduce() -> Iterator[Figure]:
    """On Table 4.1(f) the simple reader of the thesis and the one who weighs buckets by their size agree."""
    table, group = table_4_1(EIGHT)
    release = sliced(table, F, group).release
    asked = release.index("disease")
    belief = attack(
        RandomWorlds(),
        release,
        targets_of_table(table, release, asked),
        Prior.uninformative(release, asked),
        Engine(seed=0),
    )
    apart = float(np.abs(belief.probability - shares(table, F, group)[0]).max())
    reading = "everybody matches one bucket, so its size does not matter"
    yield Figure(
        "Table 4.1(f), p(t, s) against random worlds, largest difference", "4.2.1", None, apart, reading=reading
    )


def compared(table: Table, chains: Chains) -> dict[tuple[str, str], float]:
    """By scheme and finding: one audit of all of them."""
    releases = {name: scheme.anonymize(table, Engine(seed=1)).release for name, scheme in SCHEMES.items()}
    found = run_audit(releases, original=table, chains=chains, engine=Engine(seed=1))
    return {
        (f.release, f.id): float(f.value)
        for f in found.document.findings
        if f.id in MEASURES and isinstance(f.value, float)
    }


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Generalisation, Anatomy and slicing of the same people at the same l, read by the same attackers."""
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    everybody = Table.from_columns(adult_schema(columns), {name: columns[name] for name in names})
    rows = np.sort(np.random.default_rng(0).choice(everybody.rows, ROWS, replace=False))
    table = Table(everybody.attributes, tuple(column[rows] for column in everybody.columns))
    found = compared(table, Chains(sweeps=500, burn_in=500, most_sweeps=500))
    for id, words in MEASURES.items():
        for scheme in SCHEMES:
            reading = f"`{id}`; {ROWS:,} people drawn, every p(t, s) ≤ 1/{L}" if scheme == "generalisation" else ""
            yield Figure(f"{words}: {scheme}", "ours alone", None, found[scheme, id], reading=reading)
