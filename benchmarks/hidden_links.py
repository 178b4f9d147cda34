"""A Gibbs sweep through the hidden links of Anatomy, against the algorithm of Kifer (2009) as he states it."""

import itertools
import random
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import read_adult
from unveil.anonymizers.anatomy import Anatomy
from unveil.attackers.posterior.chain import Chain
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.data.belief import Prior
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.engine import Engine

KNOWN = ("workclass", "relationship", "sex", "salary-class")
SWEEPS = 200


def measure() -> Iterator[Row]:
    """Groups of 2, 3 and 4 rows; 30,162 rows, four quasi-identifiers, occupation."""
    columns = read_adult()
    names = [name if name in columns else "salary" for name in KNOWN]
    roles = {name: {"role": "quasi-identifier"} for name in names} | {"occupation": {"role": "sensitive"}}
    schema = Schema(SchemaDocument.model_validate({"version": 1, "confirmed": True, "attributes": roles}))
    table = Table.from_columns(schema, {name: columns[name] for name in roles})
    asked = table.index("occupation")
    known = np.stack([table.columns[i] for i in range(len(names))], axis=1).astype(np.int64)
    for l, floor in ((2, 300), (3, 300), (4, 400)):
        made = Anatomy(l=l).anonymize(table, Engine(seed=1))
        model = HiddenModel.of(made.release, asked, Prior.uninformative(made.release, asked))
        chain = Chain.start(model, Engine(seed=1))
        _sweeps(chain, model, 20)
        ours = best_cpu(lambda chain=chain, model=model: _sweeps(chain, model, SWEEPS), 5) / SWEEPS  # type: ignore[misc]
        secret = table.columns[asked].astype(np.int64)
        by_group = np.argsort(made.group_of_row, kind="stable")
        groups = np.split(by_group, np.cumsum(np.bincount(made.group_of_row))[:-1])
        domains = [table.attributes[i].codes for i in range(len(names))]
        plain = as_stated(groups, known, secret, domains, table.attributes[asked].codes)
        slow = best_cpu(plain, 2)
        yield Row(f"a sweep, groups of {l}, against plain Python", ours, slow, "s CPU", f">= {floor}", True)
        arrays = with_numpy([g for g in groups if len(g) == l], known, secret, domains, table.attributes[asked].codes)
        arrays()
        yield Row(f"a sweep, groups of {l}, against NumPy", ours, best_cpu(arrays, 5), "s CPU", ">= 4", True)


def _sweeps(chain: Chain, model: HiddenModel, sweeps: int) -> None:
    for _ in chain.run_to(model, chain.sweep + sweeps, burn_in=0, anneal=False, every=1 << 30):
        pass


def as_stated(
    groups: list[np.ndarray], known: np.ndarray, secret: np.ndarray, domains: list[int], values: int
) -> Callable[[], None]:
    """Draw the parameters; then for each group weigh every permutation of its values, and draw one."""
    rows = known.tolist()
    members = [g.tolist() for g in groups]
    held = [secret[g].tolist() for g in groups]
    matched = secret.tolist()
    generator = np.random.default_rng(0)
    dice = random.Random(0)

    def sweep() -> None:
        counts = [np.ones((n, values)) for n in domains]
        for row, value in zip(rows, matched, strict=True):
            for attribute, code in enumerate(row):
                counts[attribute][code, value] += 1
        share = [generator.standard_gamma(c) for c in counts]
        theta = [(s / s.sum(axis=0)).tolist() for s in share]
        for people, group in zip(members, held, strict=True):
            ways = list(itertools.permutations(group))
            weights = []
            for way in ways:
                weight = 1.0
                for person, value in zip(people, way, strict=True):
                    for attribute, code in enumerate(rows[person]):
                        weight *= theta[attribute][code][value]
                weights.append(weight)
            (chosen,) = dice.choices(ways, weights)
            for person, value in zip(people, chosen, strict=True):
                matched[person] = value

    return sweep


def with_numpy(
    groups: list[np.ndarray], known: np.ndarray, secret: np.ndarray, domains: list[int], values: int
) -> Callable[[], None]:
    """The same for all groups of one size at once."""
    people = np.stack(groups)  # (groups, l)
    size = people.shape[1]
    cells, cell_of = np.unique(known, axis=0, return_inverse=True)
    cell, held = cell_of[people], secret[people]
    ways = np.array(list(itertools.permutations(range(size))))
    generator = np.random.default_rng(0)
    state = {"matched": held}

    def sweep() -> None:
        tally = np.bincount((cell * values + state["matched"]).ravel(), minlength=len(cells) * values)
        tally = tally.reshape(len(cells), values)
        weight = np.ones((len(cells), values))
        for attribute, codes in enumerate(domains):
            count = np.ones((codes, values))
            np.add.at(count, cells[:, attribute], tally)
            share = generator.standard_gamma(count)
            weight *= (share / share.sum(axis=0))[cells[:, attribute]]
        pair = weight[cell[:, :, None], held[:, None, :]]
        chance = np.cumsum(pair[:, np.arange(size)[None, :], ways].prod(axis=2), axis=1)
        pick = (generator.random(len(people))[:, None] * chance[:, -1:] < chance).argmax(axis=1)
        state["matched"] = np.take_along_axis(held, ways[pick], axis=1)

    return sweep
