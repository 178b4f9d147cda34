"""The ledger: what it keeps, how privately, and what it refuses."""

import stat

import pytest

import unveil
from hospitals import write_hospital
from unveil.engine import Engine
from unveil.errors import UnveilError, UsageError
from unveil.formats.ledger import INDEX, add_to_ledger, read_ledger, release_hash


@pytest.fixture
def folder(tmp_path):
    write_hospital(tmp_path, 200)
    schema = unveil.read_schema(tmp_path / "schema.toml").confirmed()
    table = unveil.read_table(tmp_path / "hospital.csv", schema)
    for name, scheme in (("wide", "mondrian:k=5"), ("buckets", "anatomy:l=3")):
        release = unveil.anonymizer(scheme).anonymize(table, Engine(seed=1)).release
        unveil.write_release(release, tmp_path / f"{name}.csv")
    return tmp_path


def test_it_keeps_copies_privately_and_reads_them_back(folder):
    ledger = folder / "deep" / "ledger"
    first = add_to_ledger(ledger, folder / "wide.csv", folder / "schema.toml", date="2025-03-01", recipient="ministry")
    second = add_to_ledger(ledger, folder / "buckets.csv", folder / "schema.toml", people="overlapping", shared=150)
    assert read_ledger(ledger) == (first, second)
    assert second.shared == 150
    for path in [ledger, *ledger.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert not any("hospital.csv" in path.name for path in ledger.rglob("*"))
    assert release_hash(ledger / second.file) == second.sha256
    again = unveil.read_release(ledger / second.file, unveil.read_schema(ledger / second.schema_file).confirmed())
    assert again == unveil.read_release(folder / "buckets.csv", unveil.read_schema(folder / "schema.toml"))


def test_originals_and_repetitions_are_refused(folder):
    with pytest.raises(UsageError, match="identifier"):
        add_to_ledger(folder / "ledger", _with_identifier(folder), folder / "named.toml")
    assert not (folder / "ledger").exists()
    add_to_ledger(folder / "ledger", folder / "wide.csv", folder / "schema.toml")
    with pytest.raises(UsageError, match="already"):
        add_to_ledger(folder / "ledger", folder / "wide.csv", folder / "schema.toml")
    with pytest.raises(UsageError, match="date"):
        add_to_ledger(folder / "ledger", folder / "buckets.csv", folder / "schema.toml", date="yesterday")
    assert len(read_ledger(folder / "ledger")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "releases = 3",
        "strange = 1",
        "[[releases]]\nname = 'a'",
        "[[releases]]\nname='a'\nfile='../../etc/passwd'\nschema_file='s'\nsha256='0'\ndate=2025-01-01",
        "not toml",
    ],
)
def test_a_spoilt_ledger_is_one_line(tmp_path, text):
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(UnveilError) as error:
        read_ledger(tmp_path)
    assert "\n" not in str(error.value)


def test_no_ledger_is_said(tmp_path):
    with pytest.raises(UsageError, match="ledger add"):
        read_ledger(tmp_path)


def _with_identifier(folder):
    lines = (folder / "wide.csv").read_text().splitlines()
    named = [f"{line},{'name' if i == 0 else f'person {i}'}" for i, line in enumerate(lines)]
    (folder / "named.csv").write_text("\n".join(named) + "\n")
    schema = (folder / "schema.toml").read_text()
    (folder / "named.toml").write_text(schema + '\n[attributes.name]\nrole = "identifier"\nkind = "categorical"\n')
    return folder / "named.csv"
