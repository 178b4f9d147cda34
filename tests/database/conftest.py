"""A PostgreSQL server of the tests' own: Debian's programs, a data folder and a socket in a temporary folder."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from reached import PASSWORD, USER, Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="unveil-postgresql-"))
    owner: dict[str, str | int] = {}
    if os.getuid() == 0:  # the server refuses to run as root
        account = pwd.getpwnam("postgres")
        owner = {"user": account.pw_uid, "group": account.pw_gid}
        os.chown(folder, account.pw_uid, account.pw_gid)
    try:
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        made = [programs / "initdb", "-D", folder / "data", "--no-sync", "--no-locale", "-E", "UTF8"]
        login = ["-U", USER, "-A", "scram-sha-256", "--pwfile", folder / "password"]
        subprocess.run([*made, *login], check=True, capture_output=True, cwd=folder, **owner)
        quick = ["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "listen_addresses="]
        with (folder / "log").open("wb") as log:
            running = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-k", folder, *quick], stderr=log, cwd=folder, **owner
            )
        try:
            ready = [programs / "pg_isready", "-q", "-h", folder]
            for _ in range(400):
                if subprocess.run(ready, check=False).returncode == 0:
                    break
                assert running.poll() is None, (folder / "log").read_text()
                time.sleep(0.025)
            yield Server(folder)
        finally:
            running.terminate()
            running.wait(20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres")) or [
        Path(path) for path in [shutil.which("postgres")] if path is not None
    ]
    if not found:
        reason = "postgresql is not installed: run tests/database/install-postgresql as root on Debian"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found[-1].parent
