"""Jobs: one a command, whoever asks; they outlive the studio, and go on after kill -9."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from unveil.errors import UsageError
from unveil.studio.folder import Folder
from unveil.studio.jobs import Job, Jobs

IDLE = ["studio", "idle", "--no-browser"]  # a command that runs until it is ended, and needs no processor


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    folder = Folder(tmp_path)
    folder.make()
    made = Jobs(folder)
    yield made
    made.stop_all()


def idle(jobs: Jobs, output: str = "x", reads: tuple[str, ...] = ()) -> Job:
    return jobs.start(IDLE, about="x", reads=reads, writes=[output], page="/data")


def pid_of(tmp_path: Path, job: Job) -> int:
    return int(json.loads((tmp_path / ".unveil" / "jobs" / job.id / "process.json").read_text())["pid"])


def state_after(jobs: Jobs, id: str, state: str) -> Job:
    end = time.monotonic() + 60
    while (job := jobs.one(id)).state != state:
        assert time.monotonic() < end, job
        time.sleep(0.02)
    return job


def test_the_same_command_on_the_same_files_is_one_job(jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a\n1\n")
    first = idle(jobs, reads=("in.csv",))
    assert first.state == "running"
    assert idle(jobs, reads=("in.csv",)).id == first.id
    (tmp_path / "in.csv").write_text("a\n1\n2\n")
    with pytest.raises(UsageError, match="is running; stop it first"):  # other files, the same output
        idle(jobs, reads=("in.csv",))
    assert len(jobs.all()) == 1


def test_a_job_outlives_the_studio_and_goes_on_after_kill_9(jobs: Jobs, tmp_path: Path) -> None:
    job = idle(jobs)
    other = Jobs(Folder(tmp_path))  # a studio that was started after the first had been killed
    assert other.one(job.id).state == "running"
    os.kill(pid_of(tmp_path, job), signal.SIGKILL)
    assert state_after(jobs, job.id, "stopped").code is None
    again = other.resume(job.id)
    assert (again.id, again.state) == (job.id, "running")
    assert other.stop(job.id).state == "stopped"
    assert other.all() == [other.one(job.id)]


def test_another_process_with_its_number_is_not_the_job(jobs: Jobs, tmp_path: Path) -> None:
    job = idle(jobs)
    jobs.stop(job.id)
    held = {"pid": os.getpid(), "born": "1"}  # ours, but not the job
    (tmp_path / ".unveil" / "jobs" / job.id / "process.json").write_text(json.dumps(held))
    assert Jobs(Folder(tmp_path)).one(job.id).state == "stopped"


def test_a_mistake_is_one_line_and_no_log_holds_a_row(jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("name,age\nMarigold Quimby,30\nPeregrine Tansy,40,50\n")
    words = ["schema", "bad.csv", "--output=schema.toml"]
    job = jobs.start(words, about="bad.csv", reads=["bad.csv"], writes=["schema.toml"], page="/roles")
    failed = state_after(jobs, job.id, "failed")
    assert failed.code == 2
    assert "line 3" in failed.said
    log = (tmp_path / ".unveil" / "jobs" / job.id / "log").read_text()
    assert "Quimby" not in log + failed.said
    assert "Tansy" not in log + failed.said
    assert not (tmp_path / "schema.toml").exists()


def test_two_long_jobs_at_once_and_no_third(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unveil.studio.jobs.LONG", ("studio",))
    monkeypatch.setattr(Jobs, "_run", lambda self, number: self.one(number))
    monkeypatch.setattr(Jobs, "_alive", lambda self, number: 1)
    idle(jobs, "a")
    idle(jobs, "b")
    with pytest.raises(UsageError, match="2 long jobs are running"):
        idle(jobs, "c")
    monkeypatch.setattr(Jobs, "_alive", lambda self, number: None)


@pytest.mark.parametrize("id", ["", "../1", "99", "1/..", "²"])
def test_no_other_name_is_a_job(jobs: Jobs, id: str) -> None:
    with pytest.raises(UsageError, match="no such job"):
        jobs.one(id)


@pytest.mark.parametrize(
    "word", ["--json=/tmp/x", "../x", "/tmp/x", "-o../../x", "--report=a/../../x", "--checkpoint={jobs}/../../../x"]
)
def test_a_job_that_was_put_there_writes_nothing_elsewhere(jobs: Jobs, tmp_path: Path, word: str) -> None:
    job = idle(jobs)
    jobs.stop(job.id)
    file = tmp_path / ".unveil" / "jobs" / job.id / "job.json"
    word = word.format(jobs=tmp_path / ".unveil" / "jobs")
    file.write_text(json.dumps({**json.loads(file.read_text()), "words": [*IDLE, word]}))
    with pytest.raises(UsageError, match="outside the folder"):
        Jobs(Folder(tmp_path)).resume(job.id)
