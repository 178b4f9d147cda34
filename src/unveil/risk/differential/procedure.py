"""The testing procedure of section 3.2: f(D) and f(D without i) for every i, both models, the distance."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine, open_checkpoint, save_checkpoint
from unveil.errors import Stopped, UnveilError, UsageError
from unveil.risk.differential.laplace import CellCounts, LaplaceCounts, count_cells, mean_predictions, noisy_predictions
from unveil.risk.differential.leave_one_out import replayable, without_each
from unveil.risk.differential.models import CountModel, Model
from unveil.risk.differential.sanitizers import Anonymizer, Sanitizer, as_sanitizer, checked_release

__all__ = ["Experiment", "Failure", "Outcome", "SavedProgress", "run_experiment"]

SAVE_EVERY = 5.0  # seconds between two checkpoints
MEMBERSHIP_DRAWS = 4  # of a mechanism whose noise is otherwise integrated out

Distance = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Failure:
    """A record without which the sanitizer failed, and what it said."""

    row: int  # position in the original, from 0
    message: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is asked of a table: which attribute, by which model, how far apart."""

    table: Table
    asked: int
    model: Model
    distance: Distance
    measure: str  # the distance's name and reading
    samples: int = 1
    fast: bool = True
    saved: list[Path] = field(default_factory=list)  # checkpoints so far; gone when the whole run is done

    @property
    def of_means(self) -> bool:
        """Whether mean predictions are all that the distance asks for; eq. 1's is so for the Laplace mechanism."""
        return self.measure == "emd coordinates" or self.measure.endswith("vectors")


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The answer: records in the order of `row`; those that failed are not among them."""

    row: NDArray[np.int64]  # (records,) position in the original, from 0
    distance: NDArray[np.float64]  # (records,) d
    within: NDArray[np.float64]  # (records, values) mean prediction with the record
    without: NDArray[np.float64]  # and without it
    scores: NDArray[np.float64]  # (2, records, draws) prediction of the true value, with the record and without it
    floor: NDArray[np.float64] | None  # (records,) the distance that sampling alone makes, if anything was sampled
    path: str  # replay | closed form | every record run again
    samples: int
    asked_records: int  # how many were to be tested
    failures: tuple[Failure, ...] = ()
    sampled_records: bool = False  # only some of the table's records were to be tested

    @property
    def complete(self) -> bool:
        """Whether every record that was to be tested was."""
        return len(self.row) == self.asked_records


def run_experiment(
    question: Experiment, sanitizer: Any, kept: NDArray[np.int64], records: NDArray[np.int64], engine: Engine
) -> Outcome:
    """Test `records` against the table of the `kept` rows (both positions in the original)."""
    run = _Run(question, question.table.part(kept), kept, records, engine)
    if isinstance(sanitizer, LaplaceCounts):
        return _laplace(run, sanitizer)
    wrapped = as_sanitizer(sanitizer)
    method = wrapped.method if isinstance(wrapped, Anonymizer) else None
    if question.fast and replayable(method) and isinstance(question.model, CountModel):
        return _replayed(run, wrapped, method, question.model)
    return _again(run, wrapped)


@dataclass(frozen=True, slots=True)
class _Run:
    """What every way of testing is given."""

    question: Experiment
    table: Table  # the kept rows
    kept: NDArray[np.int64]
    records: NDArray[np.int64]
    engine: Engine

    @property
    def place(self) -> NDArray[np.intp]:
        """(records,) positions in the table."""
        return np.searchsorted(self.kept, self.records)


def _replayed(run: _Run, sanitizer: Sanitizer, method: Any, model: CountModel) -> Outcome:
    question, records = run.question, run.records
    found = without_each(method, run.table, question.asked, run.engine, joint=model.joint)
    within, without = model.from_counts(found.within), model.from_counts(found.without)
    good = ~np.isin(run.place, found.open)
    done = run.place[good]
    truth = run.table.columns[question.asked][done].astype(np.int64)
    answer = Outcome(
        row=records[good],
        distance=question.distance(within[done, None], without[done, None]),
        within=within[done],
        without=without[done],
        scores=_scores(within[done, None], without[done, None], truth),
        floor=None,
        path="replay",
        samples=1,
        asked_records=len(records),
    )
    if good.all():
        return answer
    # Without these the requirement cannot be met; the anonymizer itself says so.
    others = _again(replace(run, records=records[~good]), sanitizer)
    return replace(answer, failures=others.failures)


def _laplace(run: _Run, mechanism: LaplaceCounts) -> Outcome:
    question, records = run.question, run.records
    cells = count_cells(mechanism, run.table, question.asked)
    cell, value = cells.cell[run.place], cells.value[run.place]
    noise = np.isfinite(mechanism.epsilon)
    means = mean_predictions(cells.counts, mechanism.epsilon)[cell]
    pair, number = np.unique(cell * means.shape[1] + value, return_inverse=True)
    less = cells.counts[pair // means.shape[1]]
    less[np.arange(len(pair)), pair % means.shape[1]] -= 1
    without = mean_predictions(less, mechanism.epsilon)[number]
    if not question.fast or (noise and not question.of_means):
        if noise and question.samples < 2:
            raise UsageError("this distance of the Laplace mechanism has no closed form; give --samples N")
        return _laplace_drawn(run, mechanism, replace(cells, cell=cell, value=value), means, without)
    if question.measure == "emd coordinates":  # as laplace.exact_distances has it
        distance = 2.0 * (means - without)[np.arange(len(value)), value]
    else:
        distance = question.distance(means[:, None], without[:, None])
    random = run.engine.named("membership").generator()
    draws = MEMBERSHIP_DRAWS if noise else 1
    drawn = [noisy_predictions(c, mechanism.epsilon, draws, random) for c in (cells.counts[cell], less[number])]
    scores = _scores(drawn[0], drawn[1], value)
    return Outcome(records, distance, means, without, scores, None, "closed form", 1, len(records))


def _laplace_drawn(
    run: _Run,
    mechanism: LaplaceCounts,
    cells: CellCounts,
    means: NDArray[np.float64],
    without: NDArray[np.float64],
) -> Outcome:
    """As the paper did it: independent draws for both, once a distinct record; `cells` are those of the records."""
    question, records, engine, counts = run.question, run.records, run.engine, cells.counts
    samples = question.samples if np.isfinite(mechanism.epsilon) else 1
    pair, number = np.unique(np.stack([cells.cell, cells.value], axis=1), axis=0, return_inverse=True)
    apart, floor = np.zeros(len(pair)), np.zeros(len(pair))
    scores = np.zeros((2, len(pair), samples))
    random = engine.named("laplace").generator()
    done = 0
    for place, (c, v) in enumerate(pair.tolist()):
        if engine.stop.is_set():
            break
        less = counts[c].copy()
        less[v] -= 1
        one, again, other = (
            noisy_predictions(c[None], mechanism.epsilon, samples, random)[0] for c in (counts[c], counts[c], less)
        )
        scores[0, place], scores[1, place] = one[:, v], other[:, v]
        apart[place] = question.distance(one[None], other[None])[0]
        floor[place] = question.distance(one[None], again[None])[0]
        done = place + 1
        engine.report("drawing", done, len(pair))
    number = number.ravel()
    good = number < done
    drawn = floor[number][good] if samples > 1 else None
    return Outcome(
        records[good],
        apart[number][good],
        means[good],
        without[good],
        scores[:, number[good]],
        drawn,
        "every record run again",
        samples,
        len(records),
    )


def _again(run: _Run, sanitizer: Sanitizer) -> Outcome:
    """Sanitize the whole table, then without each record; workers take records."""
    from joblib import Parallel, delayed

    question, table, kept, records, engine = run.question, run.table, run.kept, run.records, run.engine
    codes = np.stack([np.asarray(table.columns[i], np.int64) for i in table.with_role(Role.QUASI_IDENTIFIER)], axis=1)
    whole = _whole_releases(question, sanitizer, table, kept, engine)
    drawn = len(whole) > 1
    place = run.place
    truth = table.columns[question.asked][place].astype(np.int64)
    within = np.stack([_predicted(question, r, table, codes[place]) for r in whole], axis=1)
    half = within.shape[1] // 2 if drawn else 1
    means = within[:, :half].mean(axis=1)
    said = (question.model.name, repr(question.model), question.asked, question.measure, half)
    state = SavedProgress.start(
        engine, (sanitizer.described(), *said), (*question.table.columns, kept, records), means, half
    )

    def one(number: int) -> tuple[int, NDArray[np.float64] | None, str]:
        if engine.stop.is_set():
            return number, None, ""
        row = int(records[number])
        rest = kept[kept != row]
        try:
            smaller = question.table.part(rest)
            made = []
            for draw in range(half):
                release = sanitizer.sanitize(smaller, rest, engine.named(f"draw {draw} without {row + 1}"))
                checked_release(release, smaller, question.asked)
                made.append(_predicted(question, release, table, codes[place[number]][None])[0])
            return number, np.array(made), ""
        except Stopped:
            return number, None, ""
        except UnveilError as error:
            return number, None, str(error)
        except Exception as error:  # a function of the user's: what it raised is its message
            return number, None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]

    open_ = np.flatnonzero(~state.done)
    engine.report("records", len(records) - len(open_), len(records))
    work = Parallel(n_jobs=engine.workers, backend="threading", return_as="generator_unordered")
    saved = time.monotonic()
    for finished, (number, made, message) in enumerate(work(delayed(one)(int(n)) for n in open_), start=1):
        if made is not None:
            state.without[number] = made.mean(axis=0)
            state.score[number] = made[:, truth[number]]
            state.distance[number] = question.distance(within[number, None, :half], made[None])[0]
            state.done[number] = True
            if drawn:
                state.floor[number] = question.distance(within[number, None, :half], within[number, None, half:])[0]
        elif message:
            state.failed[int(records[number])] = message
            state.done[number] = True
        engine.report("records", len(records) - len(open_) + finished, len(records))
        if time.monotonic() - saved > SAVE_EVERY:
            state.save()
            saved = time.monotonic()
    state.save()
    if state.path is not None:
        question.saved.append(state.path)
    good = state.done & ~np.isin(records, list(state.failed))
    return Outcome(
        records[good],
        state.distance[good],
        means[good],
        state.without[good],
        np.stack([within[np.arange(len(truth)), :half, truth], state.score])[:, good],
        state.floor[good] if drawn else None,
        "every record run again",
        half,
        len(records),
        tuple(Failure(row, message) for row, message in sorted(state.failed.items())),
    )


def _whole_releases(
    question: Experiment, sanitizer: Sanitizer, table: Table, kept: NDArray[np.int64], engine: Engine
) -> list[Release]:
    """f(D): once if the sanitizer draws nothing, else twice the samples: the second half tells the noise floor."""
    from joblib import Parallel, delayed

    def one(draw: int) -> Release:
        release = sanitizer.sanitize(table, kept, engine.named(f"draw {draw}"))
        return checked_release(release, table, question.asked)

    work = Parallel(n_jobs=engine.workers, backend="threading", return_as="generator")
    found: list[Release] = []
    try:
        found += work(delayed(one)(draw) for draw in range(2))
        if found[0] == found[1]:
            return found[:1]
        if question.samples == 1:
            raise UsageError("the sanitizer draws: two runs on the same table differ; give --samples N, N of 2 or more")
        for release in work(delayed(one)(draw) for draw in range(2, 2 * question.samples)):
            found.append(release)
            engine.report("the whole table", len(found), 2 * question.samples)
    except (Stopped, UsageError):
        raise
    except UnveilError as error:
        raise type(error)(f"the sanitizer failed on the whole table: {error}") from None
    return found


def _scores(within: NDArray[np.float64], without: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """(2, records, draws) the predictions of the true value, of predictions (records, draws, values)."""
    return np.stack([side[np.arange(len(truth)), :, truth] for side in (within, without)])


def _predicted(question: Experiment, release: Release, table: Table, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    asked = release.index(table.attributes[question.asked].name)
    return question.model.predict(release, asked, codes)


VERSION = 2  # of what is saved
ARRAYS = ("done", "distance", "floor", "without", "score")


@dataclass(slots=True)
class SavedProgress:
    """What was reached so far, one entry a record; a file in the checkpoint folder, if there is one."""

    done: NDArray[np.bool_]  # (records,)
    distance: NDArray[np.float64]
    floor: NDArray[np.float64]
    without: NDArray[np.float64]  # (records, values) mean prediction without the record
    score: NDArray[np.float64]  # (records, draws) prediction of the true value without the record
    failed: dict[int, str]  # by position in the original
    path: Path | None = None

    @classmethod
    def start(
        cls,
        engine: Engine,
        said: Sequence[Any],
        arrays: Sequence[NDArray[Any]],
        within: NDArray[np.float64],
        draws: int,
    ) -> "SavedProgress":
        """Afresh, or where an earlier run stopped that was asked the same of the same: another never goes on from it.

        `within`, the predictions on the whole table, tell sanitizers apart that go by one name.
        """
        records = len(within)
        fresh = cls(
            done=np.zeros(records, dtype=bool),
            distance=np.zeros(records),
            floor=np.zeros(records),
            without=np.zeros(within.shape),
            score=np.zeros((records, draws)),
            failed={},
        )
        if engine.checkpoints is None:
            return fresh
        digest = hashlib.blake2b(repr((VERSION, engine.seed, engine.name, *said)).encode(), digest_size=16)
        for array in (*arrays, within):
            digest.update(repr((array.dtype.str, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        fresh.path = engine.checkpoints / f"unveil-differential-{digest.hexdigest()}.npz"
        with open_checkpoint(fresh.path) as file:
            if file is None:
                return fresh
            with np.load(file, allow_pickle=False) as saved:
                failed = {int(k): str(v) for k, v in json.loads(str(saved["failed"])).items()}
                return replace(fresh, **{name: saved[name] for name in ARRAYS}, failed=failed)

    def save(self) -> None:
        """Whole or not at all, readable by its owner alone: it says what is inferred about people."""
        if self.path is None:
            return
        arrays = {**{name: getattr(self, name) for name in ARRAYS}, "failed": np.array(json.dumps(self.failed))}
        save_checkpoint(self.path, lambda file: np.savez(file, allow_pickle=False, **arrays))
