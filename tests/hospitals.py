"""The made-up hospital as files: one maker for every test that needs it."""

from functools import cache
from pathlib import Path

from unveil.cli.hospital import Hospital, made_up_hospital
from unveil.formats.output import csv_bytes

__all__ = ["hospital_csv", "shared_hospital", "write_hospital"]

shared_hospital = cache(made_up_hospital)  # frozen, and made once a worker


def hospital_csv(hospital: Hospital) -> bytes:
    """Its table."""
    return csv_bytes(list(hospital.columns), list(hospital.columns.values()))


def write_hospital(folder: Path, patients: int, seed: int = 0, *, name: str = "hospital.csv") -> Hospital:
    """Table, confirmed schema and hierarchies, as the demo writes them."""
    hospital = shared_hospital(patients, seed)
    (folder / name).write_bytes(hospital_csv(hospital))
    (folder / "schema.toml").write_text(hospital.schema_toml)
    (folder / "hierarchies").mkdir()
    for file, text in hospital.hierarchies.items():
        (folder / "hierarchies" / file).write_text(text)
    return hospital
