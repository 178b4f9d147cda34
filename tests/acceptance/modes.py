"""Ten seeds of every table with a known posterior: who is called converged, and how wrong that is."""

import ast
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import unveil
from tests.mode_oracles import MOST, by_counts, countable, exact_beliefs, integrated_over, listed, second_way
from tests.modes import WITHHELD, Hidden, blind_tables, odd_tables, tables
from tests.more_shapes import late_shapes, morning_shapes, sixteen_shapes
from tests.shapes import Shape, exact, shapes
from unveil.attackers import Chains, learn
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior import contract
from unveil.data.belief import Belief
from unveil.engine import Engine

SEEDS, SHAPE_SEEDS = 10, 2  # of each table; of each release of another shape, of which there are many
RIGHT = 5.0  # standard errors
LEARNING = ("hidden", "hidden_posterior", "hidden_terms", "questions", "integrated", "chain", "chain_facts", "flips")
LEARNING += ("tempering", "averages", "convergence", "parameters", "products", "contract", "fits")
SWEEPS = (
    "gibbs",
    "matching",
    "tempering",
    "closed_forms",
    "swaps",
    "used_counts",
    "repeated_groups",
    "distributions",
    "possible",
)
TRIED = (
    *(f"attackers/posterior/{name}.py" for name in LEARNING),
    *(f"attackers/{name}.py" for name in ("learner", "bayesian")),
    *(f"kernels/{name}.py" for name in (*SWEEPS, "random")),
)
LINKED = (  # what releases without hidden links go through as well
    *(f"attackers/posterior/linked{name}.py" for name in ("", "_posterior", "_support")),
    *(f"attackers/posterior/{name}.py" for name in ("share_chains", "control", "partial_sums")),
    *(f"kernels/{name}.py" for name in ("allotments", "shares", "wide_cells")),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one reader on one table."""

    table: str
    rows: int
    seed: int
    reader: str
    method: str
    converged: bool
    precise: bool
    error: float
    stated: float
    alarm: str
    seconds: float  # of CPU, of both readers together
    facts: dict[str, float]
    code: str  # see `code_digest`

    @property
    def fooled(self) -> bool:
        """Called converged, and wrong by more than it says."""
        return self.converged and self.error > RIGHT * self.stated

    @property
    def good(self) -> bool:
        """Converged and right."""
        return self.converged and not self.fooled


@dataclass(frozen=True, slots=True)
class Part:
    """Some tables, and how they are run."""

    name: str
    file: str  # where runs are kept
    tables: Mapping[str, Hidden | Shape]
    seeds: int = SEEDS
    chains_only: bool = False  # never by a grid
    tried: tuple[str, ...] = TRIED  # the code

    @property
    def runs(self) -> int:
        """How many there are in all."""
        return len(self.tables) * self.seeds


def stated(belief: Belief, exact: np.ndarray) -> tuple[float, float]:
    """The largest error, and the standard error that is stated; of an exact belief what rounding allows."""
    error = float(np.abs(belief.probability - exact).max())
    if belief.chains is None:
        return error, float(belief.diagnostics.facts.get("error_max", 1e-9))
    facts = belief.diagnostics.facts
    between = float(belief.chains.std(axis=0, ddof=1).max()) / len(belief.chains) ** 0.5
    return error, max(between, float(facts["error_max"]), float(facts["unseen_mode"]))


def starts(table: Hidden) -> list[dict[int, np.ndarray]]:
    """As an audit hands them: the shares of the table itself, and with two values in each other's place."""
    counts = {a: np.full((table.values, n), 0.5) for a, n in enumerate(table.codes)}
    for cells, values in table.groups:
        for cell, value in zip(cells, values, strict=True):
            for a, code in enumerate(cell if value != WITHHELD else ()):
                counts[a][value, code] += 1
    truth = {a: c / c.sum(axis=1, keepdims=True) for a, c in counts.items()}
    order = [1, 0, *range(2, table.values)]
    return [truth, {a: shares[order] for a, shares in truth.items()}]


def run(table: Hidden | Shape, seed: int, chains: Chains | None = None, *, probed: bool = False) -> dict[str, Belief]:
    """What learner and attacker believe of everybody who can be told apart; `probed`: from the truth as well."""
    if isinstance(table, Shape):
        release, example = table.release()
        asked, prior, targets, begun = table.asked, table.prior(), table.targets(example), table.starts()
    else:
        release = table.release()
        asked, prior, targets, begun = len(table.codes), table.prior(release), table.targets(release), starts(table)
    both = {"learner": (Learner(), targets), "bayesian": (Bayesian(), targets)}
    ask = release, asked, prior, Engine(seed=seed), chains or Chains(), both
    return learn(*ask, None, None, begun if probed else ())[0]


def _small(tables: Mapping[str, Hidden]) -> dict[str, Hidden | Shape]:
    """Those with two parameters."""
    return {n: t for n, t in tables.items() if t.values == 2 and t.codes == (2,) and not t.withheld}


def everybody() -> dict[str, Hidden]:
    """Every table by its name, those that were invented last first."""
    return {table.name: table for table in (*odd_tables(), *blind_tables(), *tables())}


def other_shapes() -> dict[str, Shape]:
    """Releases of any shape by name, those that were invented last first."""
    return {one.name: one for one in (*morning_shapes(), *sixteen_shapes(), *late_shapes(), *shapes())}


def parts() -> list[Part]:
    """Everything that is run."""
    tables = everybody()
    return [
        Part("As the product does it", "product", tables),
        Part("By chains where a grid would do", "chains", _small(tables), chains_only=True),
        Part("Releases of other shapes", "shapes", other_shapes(), SHAPE_SEEDS, tried=TRIED + LINKED),
    ]


def code_digest(tried: Sequence[str] = TRIED) -> str:
    """Of what is tried, but for comments and docstrings: runs of other code do not count."""
    digest = hashlib.blake2b(digest_size=5)
    package = Path(unveil.__file__).parent
    for path in sorted(package / name for name in tried):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if (
                isinstance(body, list)
                and body
                and isinstance(body[0], ast.Expr)
                and isinstance(body[0].value, ast.Constant)
            ):
                body[0].value.value = ""
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()


@contextmanager
def without_grid() -> Iterator[None]:
    """Chains even where a grid would do."""
    before, contract.integrated_posterior = contract.integrated_posterior, lambda *_: None
    try:
        yield
    finally:
        contract.integrated_posterior = before


def kept_trials(folder: Path, part: Part) -> dict[tuple[str, int, str], Trial]:
    """Runs of before, of the same code."""
    found, code, kept = {}, code_digest(part.tried), folder / f"{part.file}.jsonl"
    for line in kept.read_text().splitlines() if kept.exists() else ():
        facts = json.loads(line)
        if facts.get("code") == code:
            one = Trial(**facts)
            found[one.table, one.seed, one.reader] = one
    return found


def second_ways(kept: Path, most: float = MOST) -> dict[str, tuple[str, float]]:
    """Of every table that takes no more than `most` states: which other algorithm gives its posterior too, and how far
    apart they are; those of before from `kept`."""
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name, table in everybody().items():
        if name not in found and countable(table) and min(listed(table), integrated_over(table)) <= most:
            how, second = second_way(table)
            apart = max(float(np.abs(one - other).max()) for one, other in zip(by_counts(table), second, strict=True))
            found[name] = how, apart
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(found))
    return {name: (how, apart) for name, (how, apart) in found.items()}


def run_trials(folder: Path, some: Sequence[Part]) -> Iterator[Trial]:
    """Every run that `folder` does not hold yet, which is added to it: a seed of everything, then the next seed."""
    done = {part.file: kept_trials(folder, part) for part in some}
    code = {part.file: code_digest(part.tried) for part in some}  # of what is loaded, whatever becomes of the files
    known: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for seed in range(max(part.seeds for part in some)):
        for part in some:
            for name, table in part.tables.items() if seed < part.seeds else ():
                if (name, seed, "bayesian") in done[part.file]:
                    continue
                if name not in known:
                    known[name] = exact(table) if isinstance(table, Shape) else exact_beliefs(table)
                found = _trial(part, name, seed, known[name], code[part.file])
                folder.mkdir(parents=True, exist_ok=True)
                with (folder / f"{part.file}.jsonl").open("a") as file:
                    file.writelines(json.dumps(asdict(one)) + "\n" for one in found)
                yield from found


def _trial(part: Part, name: str, seed: int, exact: tuple[np.ndarray, np.ndarray], code: str) -> list[Trial]:
    """One run, of learner and attacker."""
    table, begun = part.tables[name], time.process_time()
    with without_grid() if part.chains_only else nullcontext():
        found = run(table, seed, probed=True)
    seconds, trials = time.process_time() - begun, []
    for (reader, belief), truth in zip(found.items(), exact, strict=True):
        judged = belief.diagnostics
        facts = {k: v for k, v in judged.facts.items() if isinstance(v, float) and "log_fit" not in k}
        alarm = str(judged.facts.get("alarm", ""))
        verdict = judged.method, judged.converged, judged.precise, *stated(belief, truth)
        trials.append(Trial(name, table.rows, seed, reader, *verdict, alarm, seconds, facts, code))
    return trials
