"""Commands that are killed, interrupted or find no room at any moment: outputs whole or as before, inputs untouched.

Few of the moments here, all of them in `make thorough`.
"""

import errno
import json
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thorough import THOROUGH

KILLS = 200 if THOROUGH else 1  # a command, each in a process of its own
SCHEMA = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 29 }
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.disease]
role = "sensitive"
domain = ["flu", "hiv", "none"]
"""
ROWS = [(20 + i % 10, "fm"[i // 10 % 2], ("flu", "hiv", "none")[i * 7 % 3]) for i in range(60)]
WIDE = sorted(("[20,24]" if age < 25 else "[25,29]", sex, disease) for age, sex, disease in ROWS)
CHAINS = "--sweeps 50 --most-sweeps 50 --workers 1"
COMMANDS = {
    "schema": "schema data.csv -o out/draft.toml --json out/evidence.json",
    "check": "check wide.csv -s schema.toml --original data.csv --require k_anonymity:k=3 --json out/check.json "
    "--report out/report.html --junit out/check.xml",
    "anonymize": "anonymize data.csv -s schema.toml --with anatomy:l=2 --seed 7 "
    "-o out/release.csv --assignment out/who.csv",
    "audit": f"audit wide.csv -s schema.toml --original data.csv --asked disease {CHAINS} --attacker bayesian "
    "--no-panel --checkpoint out/state --json out/audit.json --report out/report.html --people out/people.csv",
    "attack": f"attack attribute wide.csv -s schema.toml --original data.csv --asked disease {CHAINS} "
    "--attacker bayesian --checkpoint out/state --json out/attack.json --people out/people.csv",
    "differential": "attack differential data.csv -s schema.toml --with mondrian:k=2 --sample 2 --runs 20 --workers 1 "
    "--checkpoint out/state --json out/attack.json",
    "frontier": "frontier data.csv -s schema.toml --with mondrian:k=2+5 --utility certainty_penalty "
    f"{CHAINS} --release-seed 3 -o out/best.csv --json out/frontier.json --checkpoint out/state",
}
VARYING = ("seconds", "date", "peak_memory_mb")
EARLIER = b"earlier"
OTHER_SEED = {"anonymize": ("--seed 7", "--seed 8"), "frontier": ("--release-seed 3", "--release-seed 4")}
NAME_PEOPLE = ("out/who.csv", "out/people.csv")
QUICK = ("anonymize", "audit")  # the others in `make thorough`


def spelt(folder: Path, command: str) -> list[str]:
    """The words of a command, with files where they are."""
    return [str(folder / w) if (folder / w).exists() or w.startswith("out/") else w for w in command.split()]


class Runner:
    """The process that strikes."""

    def __init__(self) -> None:
        plain = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "_RJEM_MALLOC_CONF": "background_thread:false"}
        self.child = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("runner.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=plain,
        )  # fmt: skip

    def run(self, folder: Path, command: str, **how: Any) -> dict[str, Any]:
        """How a command ended: its exit code, or the signal below 0."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        words = spelt(folder, command)
        answer = folder / "answer.json"
        answer.unlink(missing_ok=True)
        line = {"command": words, "folder": str(folder / "out"), "answer": str(answer), **how}
        self.child.stdin.write(json.dumps(line) + "\n")
        self.child.stdin.flush()
        status = json.loads(self.child.stdout.readline())["status"]
        return json.loads(answer.read_text()) if answer.exists() else {"code": status, "moments": 0, "said": ""}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.child.kill()
    made.child.communicate()


def fresh(folder: Path) -> Path:
    """The inputs, and a folder for outputs."""
    (folder / "out").mkdir(parents=True)
    (folder / "schema.toml").write_text(SCHEMA)
    for name, rows in (("data", ROWS), ("wide", WIDE)):
        lines = [",".join(f'"{c}"' if "," in str(c) else str(c) for c in row) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join(["age,sex,disease", *lines]) + "\n")
    return folder


def held(folder: Path) -> dict[str, bytes]:
    """Every file that is not a checkpoint or a temporary one."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "state" not in path.parts and not path.name.startswith((".unveil", "answer"))
    }


def comparable(name: str, content: bytes) -> bytes:
    """A document without the time of day and the time it took; a draft without the line that names its table."""
    if name.endswith("draft.toml"):
        return content[content.index(b"\n") :]
    if not name.endswith(".json"):
        return b"" if name.endswith(".html") else content
    return json.dumps(_timeless(json.loads(content)), sort_keys=True).encode()


def _timeless(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _timeless(value) for key, value in found.items() if key not in VARYING}
    return [_timeless(value) for value in found] if isinstance(found, list) else found


def whole(found: dict[str, bytes], wanted: dict[str, bytes], before: dict[str, bytes], code: int) -> None:
    """Every file is as it was before or as it is to be; stopped by Ctrl-C (3), it tells what was reached."""
    for name, content in found.items():
        as_before = before.get(name) == content
        if code == 3 and name.startswith("out/") and not as_before:
            assert not name.endswith(".json") or json.loads(content)["version"]
            continue
        assert as_before or comparable(name, content) == comparable(name, wanted[name]), name
        if name.endswith(".html") and not as_before:
            assert content.rstrip().endswith(b"</html>")
    for name, content in before.items():
        if not name.startswith("out/"):
            assert found[name] == content, f"{name} is an input"


def private(folder: Path, complete: dict[str, bytes]) -> None:
    """What names people, also on its way, is for the owner's eyes."""
    people = [content for name, content in complete.items() if name in NAME_PEOPLE]
    for path in folder.rglob("*"):
        if path.is_file() and ("state" in path.parts or path.read_bytes() in people):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


class Wanted:
    """What each command writes when nobody disturbs it, how many moments it has, and what stood there before."""

    def __init__(self, runner: Runner, factory: pytest.TempPathFactory) -> None:
        self.runner, self.factory, self.found = runner, factory, dict[str, Any]()

    def of(self, name: str) -> Any:
        if name not in self.found:
            complete, ended = self.outputs(name, COMMANDS[name])
            earlier = {path: EARLIER for path in complete if path.startswith("out/")}
            if name in OTHER_SEED:  # a release of several files is only written over another one
                before, _ = self.outputs(name, COMMANDS[name].replace(*OTHER_SEED[name]))
                earlier = {path: content for path, content in before.items() if path.startswith("out/")}
                assert any(complete[path] != content for path, content in earlier.items() if path in complete)
            self.found[name] = (complete, ended["moments"], ended["seconds"], ended["code"], earlier)
        return self.found[name]

    def outputs(self, name: str, command: str) -> tuple[dict[str, bytes], dict[str, Any]]:
        folder = fresh(self.factory.mktemp(name))
        ended = self.runner.run(folder, command, umask=0)
        assert ended["code"] in (0, 1, 3), ended["said"]
        private(folder, held(folder))
        return held(folder), ended


@pytest.fixture(scope="module")
def wanted(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Wanted:
    return Wanted(runner, tmp_path_factory)


def strikes(name: str, moments: int, seconds: float) -> list[tuple[Any, ...]]:
    """Each moment at which files change, killed and interrupted, with no room and no permission; then random times."""
    draw = random.Random(name)
    made: list[tuple[Any, ...]] = []
    for moment in range(1, moments + 1):
        made += [("signal", moment, int(number)) for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)]
        made += [("error", moment, number) for number in (errno.ENOSPC, errno.EROFS)]
    made += [("bytes", size) for size in (0, 1, 100, 4096)]
    draw.shuffle(made)
    ends = (signal.SIGKILL, signal.SIGTERM)
    timed = [("time", draw.uniform(0.0, seconds), int(draw.choice(ends))) for _ in range(KILLS)]
    return [*made, *timed] if THOROUGH else [*made[:4], *timed]


@pytest.mark.parametrize("name", COMMANDS if THOROUGH else QUICK)
def test_struck_at_any_moment(name: str, runner: Runner, wanted: Wanted, tmp_path: Path) -> None:
    """Half of the time over earlier outputs; then once more, undisturbed, with the same result to the last bit."""
    complete, moments, seconds, code, earlier = wanted.of(name)
    assert moments > 3
    for number, fault in enumerate(strikes(name, moments, seconds)):
        folder = fresh(tmp_path / str(number))
        if number % 2:
            for path, content in earlier.items():
                (folder / path).write_bytes(content)
        before = held(folder)
        ended = runner.run(folder, COMMANDS[name], fault=fault, umask=0)
        told = (name, fault, ended)
        assert ended["code"] in (0, 1, 2, 3, 130, 128 + 15, -9, -15, -2), told
        assert "Traceback" not in ended["said"], told
        assert "internal error" not in ended["said"], told
        whole(held(folder), complete, before, ended["code"])
        private(folder, complete)
        again = runner.run(folder, COMMANDS[name])
        assert again["code"] == code, (told, again)
        here, there = ({n: comparable(n, c) for n, c in each.items()} for each in (held(folder), complete))
        assert here == there, told
        left = [path for path in folder.rglob("*") if path.name.startswith(".unveil") or path.suffix == ".part"]
        assert not left, told


def test_two_runs_on_one_output(tmp_path: Path, wanted: Wanted) -> None:
    """The release that stands at the end is one of theirs, with its own parts."""
    complete = wanted.of("anonymize")[0]
    folder = fresh(tmp_path / "one")
    words = spelt(folder, COMMANDS["anonymize"])
    program = [sys.executable, "-c", "from unveil.cli import main; main()", *words]
    both = [subprocess.Popen(program, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for one in both:
        assert "Traceback" not in one.communicate(timeout=120)[1]
        assert one.returncode in (0, 2)
    assert held(folder) == complete
    assert not list((folder / "out").glob(".unveil*"))


def test_an_input_that_vanishes_and_a_folder_that_cannot_be_written(runner: Runner, tmp_path: Path) -> None:
    folder = fresh(tmp_path / "one")
    (folder / "data.csv").unlink()
    ended = runner.run(folder, COMMANDS["anonymize"].replace("data.csv", str(folder / "data.csv")))
    assert (ended["code"], ended["said"].count("\n")) == (2, 1)
    assert not list((folder / "out").iterdir())
    (folder / "out").rmdir()
    fresh(tmp_path / "two")
    ended = runner.run(tmp_path / "two", COMMANDS["anonymize"], fault=("error", 1, errno.EACCES))
    assert ended["code"] == 2
    assert "no permission to write" in ended["said"]
