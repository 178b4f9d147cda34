"""`python -m tests.leaks`: every planted leak and every control under the default limits and every preset.

    python -m tests.leaks [--seed N] [--only TEXT] [--default] [--workers N] [--json FILE]

A leak is caught if no run of it ends with exit code 0, whatever the preset. Exit code 1 if a leak passes, or fewer than
13 of 15 controls do. A whole run is written to docs/leaks.md. It can be stopped and goes on where it was: outcomes are
kept in build/leaks, under a name that changes with every line of src/, and hold for the case as it was.
"""

import argparse
import contextlib
import hashlib
import io
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import unveil.audit as unveil_audit
from tests.leaks.case import CONTROLS, LEAKS, Case
from tests.leaks.page import write_table
from unveil.audit.run import Audit, judge_measured, measure_releases
from unveil.errors import UnveilError, UsageError
from unveil.risk.published_file import Leak

__all__ = ["Outcome", "audit", "findings", "kinds", "main", "outcomes", "unveil"]

for _path in sorted(Path(__file__).parent.glob("*.py")):  # imported for what they register
    if _path.stem not in ("__main__", "run") and not _path.stem.startswith("test_"):
        import_module(f"tests.leaks.{_path.stem}")


@dataclass(frozen=True)
class Outcome:
    """What one audit of one case ended with."""

    case: str
    family: str
    kind: str
    preset: str  # "" for the default limits
    exit: int
    why: str  # an error's line
    kinds: tuple[str, ...] = ()  # the kinds of disclosure that are not within, and how
    sentences: tuple[str, ...] = ()  # what is said about them

    @property
    def verdict(self) -> str:
        """The word for the exit code."""
        return {0: "within", 1: "exceeded", 2: "refused", 3: "inconclusive"}.get(self.exit, "crashed")

    @property
    def passed(self) -> bool:
        """Whether a steward would read it as permission, or nothing was said at all."""
        return self.exit in (0, 70)


MINUTES = 4  # that an audit may take; it ends with what was measured by then
SHORT = [*["--sweeps", "50", "--most-sweeps", "50", "--chains", "2", "--sample", "60", "--no-panel"]]
SHORT += [word for name in ("bayesian", "random_worlds") for word in ("--attacker", name)]


def unveil(arguments: Sequence[str]) -> tuple[int, str, list[tuple[Any, Any]]]:
    """`unveil` in this process: its exit code, its error's line, and of an audit the case and what was measured."""
    from unveil.cli import main as command

    held: list[tuple[Any, Any]] = []

    def measured_once(of: Any) -> Any:
        measured = measure_releases(of)
        held.append((of, measured))
        return judge_measured(of, measured)

    errors = io.StringIO()
    with (
        patch.object(sys, "argv", ["unveil", *arguments]),
        patch.object(unveil_audit, "run_audit", measured_once),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(errors),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        code: Any
        try:
            code = command()
        except SystemExit as ended:
            code = ended.code
        except Exception as error:  # a crash is neither a pass nor a catch
            code, _ = 70, errors.write(f"traceback: {type(error).__name__}: {error}")
    code = 0 if code is None else int(code)
    lines = [line for line in errors.getvalue().splitlines() if line.strip()]
    return code, lines[-1] if lines and code in (2, 70) else "", held


def kinds(case: Case, folder: Path, release: str | None = None) -> list[dict[str, Any]]:
    """Every kind of a short audit, as the officer's page has it; `release`: of another release of the same table."""
    arguments = case.write(folder)
    if release is not None:
        arguments = [str(folder / release), *arguments[arguments.index("--schema") :]]
    _, why, held = unveil(["audit", *arguments, *SHORT])
    assert held, why
    judged = judge_measured(*held[0]).document.diagnostics["judgement"]
    return [kind for one in judged.values() for kind in one["kinds"]]


def audit(case: Case, folder: Path, *presets: str) -> list[Outcome]:
    """Run `unveil audit` on a written case, in this process; then judge what it measured under each preset as well.

    No preset names a measure that is not measured anyway, so nothing has to be measured twice.
    """
    code, why, held = unveil(["audit", *case.write(folder), "--minutes", str(MINUTES)])
    found = [_outcome(case, "", code, why, judge_measured(*held[0]) if held else None)]
    for preset in presets:
        if not held:  # refused before any limit was looked at
            found.append(_outcome(case, preset, code, why))
            continue
        of, measured = held[0]
        try:
            judged = judge_measured(replace(of, preset=preset), measured)
            found.append(_outcome(case, preset, judged.exit_code, "", judged))
        except UsageError as error:
            found.append(_outcome(case, preset, 2, str(error)))
    return found


def _outcome(case: Case, preset: str, code: int, why: str, judged: Audit | None = None) -> Outcome:
    kinds = [] if judged is None else [k for j in judged.document.diagnostics["judgement"].values() for k in j["kinds"]]
    beyond = [k for k in kinds if k["verdict"] in ("exceeded", "inconclusive", "not judged")]
    said = tuple(dict.fromkeys(f"{k['kind']} {k['verdict']}" for k in beyond))
    sentences = tuple(dict.fromkeys(k["sentence"] for k in beyond))
    return Outcome(case.name, case.family, case.kind, preset, code, why, said, sentences)


def findings(case: Case, folder: Path, *, beliefs: bool = True, least: int = 0) -> list[Leak]:
    """What the checks of the published file find in a case, and what its classes tell; nothing that is fine.

    `least`: the least count of people that a sentence may show, as in an external report.
    """
    from unveil.data.schema import read_schema
    from unveil.formats.tables import read_columns
    from unveil.risk.published_file import (
        across_releases,
        harmful_classes,
        likely_members,
        published_file,
        read_as_a_stranger,
        read_published_file,
    )

    arguments = case.write(folder)
    schema = read_schema(folder / "schema.toml")
    original = read_columns(folder / "original.csv", missing=schema.missing_token)
    key = arguments[arguments.index("--key") + 1] if "--key" in arguments else None
    origin = None
    if "assignment.csv" in case.files:
        told = read_columns(folder / "assignment.csv").columns
        row, group = (
            np.array(told[name].texts, dtype=np.int64)[told[name].text_of_row] - 1 for name in ("row", "group")
        )
        origin = row[np.argsort(group)]
    file = read_published_file(arguments[0], schema, original=original, origin=origin, key=key)
    file = replace(file, least=least)
    found = [leak for leak in read_as_a_stranger(file) if leak.severity in ("exceeded", "suspicious")]
    if not beliefs:
        return found
    found += harmful_classes(file)
    if "--population" in arguments:
        register = read_columns(arguments[arguments.index("--population") + 1])
        held = published_file(read_columns(arguments[0]), schema, original=register)
        found += likely_members(replace(held, least=least))
    others = [read_published_file(folder / name, schema, original=original) for name in case.more_releases]
    others = [replace(other, least=least) for other in others]
    return found + (across_releases([file, *others]) if others else [])


def outcomes(name: str, seed: int, presets: Sequence[str]) -> list[Outcome]:
    """One case under the default limits and each preset."""
    case = (LEAKS | CONTROLS)[name](seed)
    with tempfile.TemporaryDirectory() as folder:
        # What the file itself gives away is exceeded under any limits, whatever readers tell: they need not be asked.
        found = [] if case.safe or case.options else _file_leaks(case, Path(folder))
        beyond = [leak for leak in found if leak.severity == "exceeded"]
        if beyond:
            said = tuple(leak.sentence for leak in beyond)
            one = Outcome(case.name, case.family, case.kind, "", 1, "", ("file exceeded",), said)
            return [replace(one, preset=preset) for preset in ("", *presets)]
        return audit(case, Path(folder), *presets)


def _file_leaks(case: Case, folder: Path) -> list[Leak]:
    try:
        return findings(case, folder, beliefs=False)
    except UnveilError:  # a case that is refused
        return []


def _presets() -> list[str]:
    from unveil.audit import read_presets

    return list(read_presets())


def _kept(seed: int, presets: Sequence[str]) -> Path:
    """Where outcomes of this state of the program are kept."""
    state = hashlib.sha256(repr((seed, list(presets))).encode())
    for path in sorted(Path(unveil_audit.__file__).parents[1].rglob("*.py")):
        state.update(path.read_bytes())
    return Path("build/leaks") / f"{state.hexdigest()[:16]}.jsonl"


def _state(case: Case) -> str:
    return hashlib.sha256(repr(case).encode()).hexdigest()[:16]


def _read_kept(kept: Path, cases: Mapping[str, Case]) -> dict[str, list[Outcome]]:
    """The outcomes that are kept of cases that have not changed since."""
    found: dict[str, list[Outcome]] = {}
    for line in kept.read_text().splitlines() if kept.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):  # a line that was being written when the run was stopped
            one = json.loads(line)
            read = [Outcome(**{**o, "kinds": tuple(o["kinds"]), "sentences": ()}) for o in one["outcomes"]]
            if read[0].case in cases and one["state"] == _state(cases[read[0].case]):
                found[read[0].case] = read
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.leaks", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="texts, with commas between, one of which a name or family holds")
    parser.add_argument("--default", action="store_true", help="the default limits alone, without presets")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write all outcomes")
    asked = parser.parse_args(arguments)
    presets = [] if asked.default else _presets()
    cases = {n: make(asked.seed) for n, make in (LEAKS | CONTROLS).items()}
    only = asked.only.split(",")
    names = [n for n, c in cases.items() if any(text in n or text in c.family for text in only)]
    found: list[Outcome] = []
    widths = (44, 34, 14)
    print("  ".join(h.ljust(w) for h, w in zip(("case", "family", "kind"), widths, strict=True)), "verdict, exit")
    kept = _kept(asked.seed, presets)
    kept.parent.mkdir(parents=True, exist_ok=True)
    done = _read_kept(kept, cases)
    todo = [n for n in names if n not in done]
    with ProcessPoolExecutor(asked.workers, get_context("spawn")) as pool:
        new = pool.map(outcomes, todo, [asked.seed] * len(todo), [presets] * len(todo))
        for outcome in (done[n] if n in done else next(new) for n in names):
            found += outcome
            case = cases[outcome[0].case]
            if case.name not in done:
                with kept.open("a") as out:
                    plain = [asdict(replace(o, sentences=())) for o in outcome]
                    out.write(json.dumps({"state": _state(case), "outcomes": plain}) + "\n")
            passing = [o.preset or "default" for o in outcome if o.passed]
            said = f"{outcome[0].verdict} ({outcome[0].exit})"
            if case.safe:
                word = "within" if outcome[0].exit == 0 else "FALSE ALARM"
            else:
                word = f"PASSED under {', '.join(passing)}" if passing else "caught"
            line = "  ".join(t.ljust(w) for t, w in zip((case.name, case.family, case.kind), widths, strict=True))
            print(f"{line} {said:<20} {word}{'  ' + outcome[0].why[:90] if outcome[0].why else ''}", flush=True)
    if not asked.only and not asked.default:
        write_table(cases, found)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(o) for o in found], indent=1))
    passed = {o.case for o in found if o.passed}
    leaks = [n for n in names if not cases[n].safe]
    safe = [n for n in names if cases[n].safe]
    default = {o.case for o in found if o.exit == 0 and not o.preset}
    families = Counter(cases[n].family for n in leaks if n in passed)
    print(f"\n{len(leaks)} leaks of {len({cases[n].family for n in leaks})} families:", end=" ")
    print(f"{sum(n in passed for n in leaks)} pass somewhere, {sum(n in default for n in leaks)} by default")
    print(f"{len(safe)} safe controls: {sum(n in default for n in safe)} are within by default")
    if families:
        print("families that pass:", ", ".join(f"{f} {n}" for f, n in families.most_common()))
    enough = sum(n in default for n in safe) * 15 >= 13 * len(safe)
    return 0 if not any(n in passed for n in leaks) and enough else 1
