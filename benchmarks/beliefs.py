"""Beliefs: time to the quality of Kifer's Table 7, what averaging over matchings gains, exact cases, cost by rows."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import Row
from benchmarks._timing import best_cpu
from benchmarks.hidden_links import KNOWN, as_stated
from realdata.adult import adult_schema, read_adult
from unveil.anonymizers.anatomy import Anatomy
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.posterior.hidden import Chain, HiddenModel
from unveil.attackers.posterior.hidden_terms import chances
from unveil.audit.attack import run_attack
from unveil.catalog import anonymizer
from unveil.data.belief import Belief, Prior
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.kernels import matching
from unveil.risk import absolute_error

QUALITY = {2: 600, 3: 1000, 4: 1500}  # sweeps after which ABS of the chains lies within 1 per 1,000 rows
KIFERS_SWEEPS = 50_000
ROUNDS = 200


def measure() -> Iterator[Row]:
    """30,162 rows; the last two rows of the table in 300 thousand and 3 million copies."""
    columns = read_adult()
    names = [name if name in columns else "salary" for name in KNOWN]
    table = Table.from_columns(
        adult_schema(columns, tuple(names)), {name: columns[name] for name in (*names, "occupation")}
    )
    asked = table.index("occupation")
    truth = table.columns[asked]
    known = np.stack([table.columns[i] for i in range(len(names))], axis=1).astype(np.int64)
    domains = [table.attributes[i].codes for i in range(len(names))]
    for l, sweeps in QUALITY.items():
        made = Anatomy(l=l).anonymize(table, Engine(seed=1))
        targets = targets_of_table(table, made.release, asked, group=made.group_of_row)
        chains = Chains(sweeps=sweeps, burn_in=sweeps // 2, most_sweeps=0)
        prior = Prior.uninformative(made.release, asked)
        Bayesian(chains=Chains(sweeps=50, burn_in=0, most_sweeps=0)).attack(
            made.release, targets, prior, Engine(seed=0)
        )
        begun = time.process_time()
        belief = Bayesian(chains=chains).attack(made.release, targets, prior, Engine(seed=1))
        ours = (time.process_time() - begun) / chains.chains
        assert belief.chains is not None
        each = [1000 * absolute_error(Belief(chain), truth).value for chain in belief.chains]
        by_group = np.argsort(made.group_of_row, kind="stable")
        groups = np.split(by_group, np.cumsum(np.bincount(made.group_of_row))[:-1])
        slow = best_cpu(as_stated(groups, known, truth.astype(np.int64), domains, table.attributes[asked].codes), 1)
        note = (
            f"a run of {sweeps} sweeps with all beliefs against {KIFERS_SWEEPS:,} sweeps; ABS within {np.ptp(each):.2f}"
        )
        yield Row(f"Table 7 quality, groups of {l}", ours, slow * KIFERS_SWEEPS, "s CPU", ">= 3000", True, note)
        yield Row(f"Table 7 quality, groups of {l}: range of ABS between chains", float(np.ptp(each)), floor="<= 1.0")
        if l == 3:
            yield _gain(HiddenModel.of(made.release, asked, Prior.uninformative(made.release, asked)))
    yield _full_domain(columns)
    yield from _growth(table, asked)


def _gain(model: HiddenModel) -> Row:
    """Variance between chains of row beliefs from visits over that from chances, the same sweeps."""
    (block,) = model.hidden
    smooth, visited = [], []
    for number in range(8):
        chain = Chain.start(model, Engine(seed=number))
        chance, visits = np.zeros(len(block.entry)), np.zeros(len(block.entry))
        for draw in chain.run_to(model, 300 + ROUNDS, burn_in=300, anneal=True, every=1):
            if draw is not None:
                chance += chances(model, block, draw) * block.rows
                weights = model.weights(block, draw.theta, draw.pi, draw.current)
                visits += matching.draw(block.groups, weights, draw.key, np.empty(0, np.int32))  # type: ignore[arg-type]
        smooth.append(chance / ROUNDS)
        visited.append(visits / ROUNDS)
    ours = float(np.var(smooth, axis=0, ddof=1).mean())
    theirs = float(np.var(visited, axis=0, ddof=1).mean())
    return Row("variance of a row's belief, groups of 3, against visit counts", ours, theirs, "", ">= 8", True)


def _full_domain(columns: dict[str, list[str]]) -> Row:
    names = ("age", "workclass", "education", "marital-status", "race", "sex")
    table = Table.from_columns(adult_schema(columns, names), {n: columns[n] for n in (*names, "occupation")})
    release = anonymizer("full_domain:k=5,levels=1+1+1+0+0+0,suppress=0.05").anonymize(table, Engine(seed=0)).release
    asked = release.index("occupation")
    targets = targets_of_table(table, release, asked)

    def ask() -> None:
        found = run_attack(release, targets, {"bayesian": Bayesian()}, engine=Engine(seed=0))
        assert found.learner.exact

    ask()
    return Row(
        "full-domain recoding, learner and attacker of 30,162 people, exact", best_cpu(ask, 3), None, "s CPU", "<= 1"
    )


def _growth(table: Table, asked: int) -> Iterator[Row]:
    before = 0.0
    for times in (1, 10, 100):
        many = Table(table.attributes, tuple(np.tile(column, times) for column in table.columns))
        release = Anatomy(l=3).anonymize(many, Engine(seed=1)).release
        model = HiddenModel.of(release, asked, Prior.uninformative(release, asked))
        chain = Chain.start(model, Engine(seed=1))

        def sweeps(chain: Chain = chain, model: HiddenModel = model, many: int = max(100 // times, 3)) -> None:
            for _ in chain.run_to(model, chain.sweep + many, burn_in=0, anneal=False, every=1 << 30):
                pass

        sweeps()
        cost = best_cpu(sweeps, 3) / max(100 // times, 3)
        yield Row(f"a sweep of {many.rows:,} rows", cost, None, "s CPU")
        if before:
            yield Row(f"a sweep of {many.rows:,} rows: growth for ten times the rows", cost / before, floor="<= 12")
        before = cost
