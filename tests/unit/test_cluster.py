"""A real cluster of worker processes counts what one process reads, whoever dies on the way."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as rules
from hypothesis import strategies as st

import unveil
from unveil import cli, cluster, temporary
from unveil.anonymizers.mondrian import Mondrian
from unveil.anonymizers.parts.assemble import generalised
from unveil.anonymizers.parts.roll_up import RollUp
from unveil.audit.levels import run_check
from unveil.cli import settings
from unveil.cluster import _Work, connected, local_cluster, work_on_parts
from unveil.data.schema import Schema
from unveil.data.schema.document import SchemaDocument
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import ClusterError, NotApplicable, ReleaseError, Stopped, TableError, UsageError
from unveil.formats.releases import read_release, write_release
from unveil.formats.tables import read_table
from unveil.privacy.models import TCloseness
from unveil.privacy.requirement import Requirement

pytest.importorskip("distributed", reason="needs unveil[cluster]")

ROLES = {"age": "quasi-identifier", "sex": "quasi-identifier", "ill": "sensitive", "town": "insensitive"}
SCHEMA = Schema(
    document=SchemaDocument.model_validate({
        "version": 1,
        "confirmed": True,
        "attributes": {
            **{name: {"role": role, "kind": "categorical"} for name, role in ROLES.items()},
            "age": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 0, "to": 40, "step": 1}},
            "id": {"role": "identifier", "kind": "categorical"},
        },
    }),
    hierarchies={},
    name="schema.toml",
)  # fmt: skip
METHODS = [
    ("mondrian:k=4,l=2", []),
    ("mondrian:regions=cut,k=3", ["t_closeness:t=0.25"]),
    ("mondrian:k=3", ["n_t_closeness:n=40,t=0.2"]),
    ("full_domain:suppress=0.1,k=3", []),
    ("full_domain:levels=0+1,suppress=0.2,k=3", ["entropy_l:l=1.5"]),
    ("full_domain:suppress=0.04,k=3,measure=information_loss", ["t_closeness:t=0.4"]),
]


def rows(number: int = 300) -> list[tuple[str, ...]]:
    """People of whom many are equal: a rule that took each different row for one person would cut elsewhere."""
    draw = np.random.default_rng(1)
    age, sex, town = (
        np.minimum(draw.geometric(0.2, number), 40),
        draw.integers(0, 2, number),
        draw.integers(0, 2, number),
    )
    ill = np.minimum(draw.geometric(0.45, number) + (age > 8), 5)
    who = zip(age, sex, ill, town, strict=True)
    return [(str(a), "fm"[s], f"ill {i}", f"t{t}", f"p{n}") for n, (a, s, i, t) in enumerate(who)]


def written(folder: Path, parts: int) -> Path:
    """The table in so many files, one of them without rows where there are several."""
    folder.mkdir()
    some, head = rows(), "age,sex,ill,town,id\n"
    edges = [0, *sorted(np.random.default_rng(parts).integers(0, len(some), max(parts - 2, 0)).tolist()), len(some)]
    edges = edges if parts == 1 else [0, *edges]
    for place in range(parts):
        lines = some[edges[place] : edges[place + 1]]
        (folder / f"{place}.csv").write_text(head + "".join(",".join(line) + "\n" for line in lines))
    return folder


def same_files(one: Path, other: Path) -> bool:
    return {f.name: f.read_bytes() for f in one.iterdir()} == {f.name: f.read_bytes() for f in other.iterdir()}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with local_cluster(3, 1_000_000_000) as found:
        yield found


def test_releases_and_levels_are_those_of_one_process(tmp_path: Path, client: Any) -> None:
    """Over parts and workers: the same releases, byte for byte as files, and the same findings of each."""
    plain = read_table(written(tmp_path / "one", 1), SCHEMA)
    made = [unveil.anonymizer(w, r).anonymize(plain, Engine(seed=5)).release for w, r in METHODS]
    names = [f"{n}.csv" for n in range(4)]
    for release, place in zip(made, range(len(made)), strict=True):
        write_release(release, tmp_path / f"local-{place}", like=plain, parts=names)
    for parts, workers in ((1, 3), (2, 2), (7, 1)):
        client.cluster.scale(workers)
        engine = Engine(seed=5, cluster=client)
        table = read_table(written(tmp_path / f"of-{parts}", parts), SCHEMA, engine=engine)
        assert (table.people, table.attributes) == (plain.rows, plain.attributes)
        for place, (method, require) in enumerate(METHODS):
            release = unveil.anonymizer(method, require).anonymize(table, engine).release
            assert release == made[place], (method, parts)
            write_release(release, tmp_path / f"{parts}-{place}", like=table, parts=names, engine=engine)
            assert same_files(tmp_path / f"{parts}-{place}", tmp_path / f"local-{place}")
    for place in (0, 3):
        path = tmp_path / f"local-{place}"
        counted = read_release(path, SCHEMA, attributes=plain.attributes, engine=engine)
        whole = read_release(path, SCHEMA, attributes=plain.attributes)
        assert counted == whole == made[place]
        assert counted.labels == whole.labels
        assert run_check(counted).findings == run_check(whole).findings


def test_a_release_with_hidden_links_is_counted_too(tmp_path: Path, client: Any) -> None:
    plain = read_table(written(tmp_path / "one", 1), SCHEMA)
    release = unveil.anonymizer("anatomy:l=2").anonymize(plain, Engine(seed=5)).release
    write_release(release, tmp_path / "r", like=plain, parts=["a.parquet", "b.parquet", "c.parquet"])
    counted = read_release(tmp_path / "r", SCHEMA, engine=Engine(cluster=client))
    assert counted == read_release(tmp_path / "r", SCHEMA)
    assert counted.labels == read_release(tmp_path / "r", SCHEMA).labels


def test_who_works_on_people_one_by_one_refuses_counted_rows(tmp_path: Path, client: Any) -> None:
    engine = Engine(seed=5, cluster=client)
    table = read_table(written(tmp_path / "t", 2), SCHEMA, engine=engine)
    for method in ("anatomy:l=2", "noise:amount=0.1,attributes=age", "slicing:l=2"):
        with pytest.raises(TableError, match="works on people one by one"):
            unveil.anonymizer(method).anonymize(table, engine)
    for method, require in (("mondrian:relaxed=true,k=3", []), ("mondrian:k=3", ["b_t_privacy:t=0.9,bandwidth=0.3"])):
        with pytest.raises(UsageError, match=r"row by row|people one by one"):
            unveil.anonymizer(method, require).anonymize(table, engine)
    with pytest.raises(TableError, match="counted"):
        table.as_release()
    release = unveil.anonymizer("mondrian:k=3").anonymize(table, engine).release
    with pytest.raises(NotApplicable, match="one by one"):
        run_check(release, require=[unveil.catalog.privacy_model("b_t_privacy:t=0.9")], original=table)


def test_a_broken_part_is_named_and_its_cell_is_in_no_log(tmp_path: Path, client: Any) -> None:
    folder = written(tmp_path / "t", 2)
    (folder / "1.csv").write_text("age,sex,ill,town,id\n3,f,flu,t,p\nSECRETCELL,f,flu,t,p\n")
    engine = Engine(cluster=client)
    with pytest.raises(TableError, match=r"t, 1.csv, line 3, age: 'SECRETCELL' is not a number"):
        read_table(folder, SCHEMA, engine=engine)
    (folder / "1.csv").write_text("age,sex,ill,town,id\n3,f\n")
    with pytest.raises(TableError, match=r"1.csv, line 2"):
        read_table(folder, SCHEMA, engine=engine)
    (folder / "1.csv").write_text("age,sex,town,id\n3,f,flu,p\n")
    with pytest.raises((TableError, ReleaseError), match=r"'ill'"):
        read_table(folder, SCHEMA, engine=engine)
    assert "SECRETCELL" not in str(client.get_worker_logs())
    assert "SECRETCELL" not in str(client.get_scheduler_logs())
    assert "SECRETCELL" not in repr(_Work(read_table, ("SECRETCELL",)))
    assert client.scheduler.address.startswith("tls://")  # another user of this machine has no certificate
    (spill, *_) = {str(info["local_directory"]) for info in client.scheduler_info()["workers"].values()}
    assert Path(spill).is_relative_to(tempfile.gettempdir())
    folder = next(path for path in Path(spill).parents if path.name.startswith(temporary.PREFIX))
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_tls_address_needs_its_certificates(client: Any) -> None:
    import dask

    with pytest.raises(ClusterError, match="certificates come from Dask's configuration"):
        connected(client.scheduler.address).__enter__()
    held = client.security
    parts = {"ca-file": held.tls_ca_file, "client.cert": held.tls_client_cert, "client.key": held.tls_client_key}
    configured = dask.config.set({f"distributed.comm.tls.{name}": value for name, value in parts.items()})
    with configured, connected(client.scheduler.address) as other:
        assert work_on_parts(other, abs, [-1, -2]) == [1, 2]


TOML = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.sex]
role = "quasi-identifier"
[attributes.ill]
role = "sensitive"
[attributes.town]
role = "insensitive"
[attributes.id]
role = "identifier"
"""


def test_commands_end_with_the_same_files_or_with_nothing(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("anonymize", "load", "schema"):
        place = import_module(f"unveil.cli.{name}")
        monkeypatch.setattr(place, "cluster_of", lambda options: nullcontext(client if options.cluster else None))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    Path("schema.toml").write_text(TOML)
    written(Path("t"), 3)

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["unveil", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    make = ("anonymize", "t", "-s", "schema.toml", "--seed", "1")
    on = ("--cluster", "local:workers=3")
    assert run("schema", "t", "-o", "here.toml") == run("schema", "t", "-o", "there.toml", *on) == 0
    assert Path("here.toml").read_text() == Path("there.toml").read_text()
    for method in ("mondrian:k=4", "anatomy:l=2"):  # the second is made here, from the rows
        name = method.partition(":")[0]
        assert run(*make, "--with", method, "-o", name) == 0
        assert run(*make, "--with", method, "-o", f"on-{name}", *on) == 0
        assert same_files(Path(name), Path(f"on-{name}"))
        for more in ((), on):
            command = (
                "check",
                f"on-{name}",
                "-s",
                "schema.toml",
                "--original",
                "t",
                "--json",
                f"{name}{len(more)}.json",
            )
            assert run(*command, *more) == 0
        assert Path(f"{name}0.json").read_bytes() == Path(f"{name}2.json").read_bytes()
    assert "works on people one by one: the table is read here" in capsys.readouterr().err
    for more in (("--assignment", "a.csv"), ("--population", "t"), ("--until", "global_threat <= 1")):
        assert run(*make, "--with", "mondrian:k=4", "-o", "r", *more, *on) == 2
    assert run("check", "mondrian", "-s", "schema.toml", "--original", "t", "--key", "id", *on) == 2
    Path("t/1.csv").write_text("age,sex,ill,town,id\n3,f\n")
    there = set(Path().iterdir())
    capsys.readouterr()
    assert run(*make, "--with", "mondrian:k=4", "-o", "r", *on) == 2
    assert len([line for line in capsys.readouterr().err.splitlines() if "t/1.csv, line 2" in line]) == 1
    assert set(Path().iterdir()) == there


@pytest.mark.parametrize("text", ["nonsense", "local:workers=0", "local:workers=two", "local:rows=1", "local:memory=x"])
def test_what_names_no_cluster_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"local:workers=4,memory=2GB|is not a size"):
        settings.cluster_of(SimpleNamespace(cluster=text)).__enter__()


def _after_a_while(number: int, folder: Path) -> list[int]:
    (folder / f"{number}-{os.getpid()}").touch()
    time.sleep(0.2)
    return [number]


def test_a_worker_killed_at_its_work_changes_nothing(tmp_path: Path, client: Any) -> None:
    def kill() -> None:
        while not (begun := list(tmp_path.iterdir())):
            time.sleep(0.01)
        os.kill(int(begun[0].name.split("-")[1]), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    found = Engine(cluster=client).merged("x", partial(_after_a_while, folder=tmp_path), range(9), _chained)
    thread.join()
    assert found == list(range(9))
    assert len(list(tmp_path.iterdir())) > 9  # one was begun again


def _chained(lists: list[list[int]]) -> list[int]:
    return [number for numbers in lists for number in numbers]


def _dies(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _short_of_memory(number: int) -> None:
    raise MemoryError


def _fails(number: int) -> None:
    raise RuntimeError("SECRETCELL")


def test_work_that_cannot_be_done_ends_in_one_line(client: Any) -> None:
    with pytest.raises(ClusterError, match="ran out of memory"):
        work_on_parts(client, _short_of_memory, [1, 2])
    with pytest.raises(ClusterError, match=r"a worker failed: RuntimeError at test_cluster.py:\d+$"):
        work_on_parts(client, _fails, [1])
    client.cluster.scheduler.allowed_failures = 0
    with pytest.raises(ClusterError, match="several workers died"):
        work_on_parts(client, _dies, [1])
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        work_on_parts(client, time.sleep, [0.5], stop=stop)


def test_a_scheduler_without_workers_or_one_that_dies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cluster, "SECONDS", 0.3)
    with pytest.raises(ClusterError, match="no scheduler answers"), connected("tcp://127.0.0.1:9"):
        pass
    monkeypatch.setattr(cluster, "SECONDS", 30)
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    command += ["--no-dashboard", "--scheduler-file", str(file)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            while not file.exists():
                time.sleep(0.05)
            with connected(json.loads(file.read_text())["address"]) as found:
                monkeypatch.setattr(cluster, "PATIENCE", 0.2)
                with pytest.raises(ClusterError, match="no worker"):
                    work_on_parts(found, time.sleep, [0])
                monkeypatch.setattr(cluster, "PATIENCE", 60)
                threading.Timer(0.3, process.kill).start()
                with pytest.raises(ClusterError, match="scheduler was lost"):
                    work_on_parts(found, time.sleep, [0])
        finally:
            process.kill()


def test_without_a_cluster_nothing_of_dask_is_imported() -> None:
    code = (
        "import sys, unveil.cli.check, unveil.cli.anonymize, unveil.cli.schema, unveil.cli.audit;"
        "import unveil.formats.counted, unveil.cluster, unveil.engine;"
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def plain_table() -> Table:
    columns = {name: [row[place] for row in rows()] for place, name in enumerate((*ROLES, "id"))}
    return Table.from_columns(SCHEMA, columns)


@given(st.lists(st.integers(0, 300), max_size=6).map(sorted), st.randoms(use_true_random=False))
@rules(max_examples=5, deadline=None)
def test_counts_of_any_parts_give_the_release_of_the_rows(edges: list[int], draw: Random) -> None:
    """Whatever the parts are, and in whatever order their counts are added."""
    plain = plain_table()
    pieces = [np.arange(a, b) for a, b in pairwise([0, *edges, plain.rows]) if a < b]
    tables = [plain.part(piece).counted() for piece in pieces]
    draw.shuffle(tables)
    while len(tables) > 1:
        some, tables = tables[:3], tables[3:]
        tables.append(Table.united(some))
    for method, require in METHODS:
        made = unveil.anonymizer(method, require).anonymize(tables[0], Engine(seed=5)).release
        assert made == unveil.anonymizer(method, require).anonymize(plain, Engine(seed=5)).release, method


def test_what_cuts_and_models_are_told_counts_people() -> None:
    """Five people of three kinds: the frequent value first, and the whole table's shares those of people."""
    names = [("sex", ["m", "f", "x"]), ("ill", ["ill 1", "ill 2", "ill 3"])]
    attributes = tuple(SCHEMA.attribute(name, values) for name, values in names)
    columns = tuple(np.array(codes, dtype=np.uint8) for codes in ([2, 1, 2, 0, 2], [0, 1, 0, 1, 0]))
    plain = Table(attributes, columns)
    for table in (plain, plain.counted()):
        requirement = Requirement.of([TCloseness(t=0.9)], table, "mondrian")
        assert requirement.reference[0].histogram.tolist() == [3, 2, 0]
        sizes, (found,) = requirement.of_groups(table, np.zeros(table.rows, dtype=np.int64), 1)
        assert (sizes.tolist(), found.tolist()) == ([5], [[3, 2, 0]])
        assert Mondrian().split_order(attributes[0], table.columns[0], table.count).tolist() == [2, 0, 1]
        assert generalised(table, np.zeros(table.rows, dtype=np.int64), {}).release.rows == 5
        classes = RollUp.of(table, [0], [table.columns[1]], [3]).base
        assert (classes.size.tolist(), classes.histograms[0].tolist()) == ([1, 1, 3], [[0, 1, 0], [0, 1, 0], [3, 0, 0]])


def test_tables_are_counted_by_hand() -> None:
    attribute = SCHEMA.attribute("sex", ["f", "m"])
    one = Table((attribute,), (np.array([1, 0, 1], dtype=np.uint8),))
    two = Table((attribute,), (np.array([1], dtype=np.uint8),)).counted()
    whole = Table.united([one, two])
    assert (whole.columns[0].tolist(), whole.count.tolist() if whole.count is not None else []) == ([0, 1], [1, 3])
    assert (whole.rows, whole.people, whole.tally(whole.columns[0], 3).tolist()) == (2, 4, [1, 3, 0])
