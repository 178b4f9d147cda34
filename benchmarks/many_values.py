"""Many sensitive values: 300 and 1,000 diagnoses, 7 quasi-identifiers, 8,000 rows; audited as the command does."""

import csv
from collections.abc import Iterator
from datetime import datetime

from benchmarks import Row
from benchmarks._timing import best_cpu
from tests.exports import GERMAN, hospital_export
from unveil.audit import run_audit
from unveil.catalog import anonymizer
from unveil.data.release import Release
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.engine import Engine

ROWS = 8_000
KINDS = {
    "Geschlecht": "categorical",
    "PLZ": "categorical",
    "Aufnahmedatum": "date",
    "Fachabteilung / Station": "categorical",
    "BMI": "numeric",
    "Alter": "numeric",
    "Verweildauer": "numeric",
}
SECRET = "Hauptdiagnose (ICD)"
SCHEMES = {"Mondrian k=5 l=3, by order": "mondrian:k=5,l=3,recoding=order", "Anatomy l=4": "anatomy:l=4"}
FLOORS = {300: "<= 360", 1_000: "<= 1200"}  # 3 and 10 minutes on two cores


def hospital(codes: int) -> Table:
    """The export of the first hour, prepared."""
    lines = hospital_export(ROWS, GERMAN, codes).decode(GERMAN.encoding).splitlines()
    columns: dict[str, list[str]] = {name: [] for name in (*KINDS, SECRET)}
    for row in csv.DictReader(lines, delimiter=";"):
        born, came, left = (
            datetime.strptime(row[name], "%d.%m.%Y").date()
            for name in ("Geburtsdatum", "Aufnahmedatum", "Entlassdatum")
        )
        age = came.year - born.year - ((came.month, came.day) < (born.month, born.day))
        made = {"Aufnahmedatum": came.isoformat(), "Alter": str(age), "Verweildauer": str((left - came).days)}
        made["BMI"] = row["BMI"].replace(",", ".")
        for name, cells in columns.items():
            cells.append(made.get(name, row.get(name, "")))
    attributes: dict[str, dict[str, str]] = {
        name: {"role": "quasi-identifier", "kind": kind, "missing": "category"} for name, kind in KINDS.items()
    }
    attributes[SECRET] = {"role": "sensitive", "kind": "categorical"}
    content = {"version": 1, "confirmed": True, "missing": ["k.A."], "attributes": attributes}
    return Table.from_columns(Schema(SchemaDocument.model_validate(content), {}), columns)


def measure() -> Iterator[Row]:
    """CPU seconds of each audit, reading and writing left out."""
    for codes, floor in FLOORS.items():
        table = hospital(codes)
        for words, scheme in SCHEMES.items():
            release = anonymizer(scheme).anonymize(table, Engine(seed=1)).release
            spent = best_cpu(lambda release=release, table=table: _audit(release, table), 1)
            note = "default readers and panel; chains end where a limit is surely exceeded"
            yield Row(f"{codes:,} values, {words}", spent, unit="s CPU", floor=floor, note=note)


def _audit(release: Release, table: Table) -> None:
    run_audit({"release": release}, original=table, digits=False, engine=Engine(seed=3))
