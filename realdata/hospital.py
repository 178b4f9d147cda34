"""The demo's made-up hospital as a table of any size; unlike in rows drawn again nobody is in it twice."""

from pathlib import Path
from tempfile import TemporaryDirectory

from unveil.cli.hospital import made_up_hospital
from unveil.data.schema import read_schema
from unveil.data.table import Table
from unveil.formats.output import csv_bytes
from unveil.formats.tables import read_table

__all__ = ["hospital_table"]


def hospital_table(rows: int) -> Table:
    """As the demo writes it, read again."""
    made = made_up_hospital(rows)
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "hospital.csv").write_bytes(csv_bytes(list(made.columns), list(made.columns.values())))
        (folder / "schema.toml").write_text(made.schema_toml)
        (folder / "hierarchies").mkdir()
        for file, text in made.hierarchies.items():
            (folder / "hierarchies" / file).write_text(text)
        return read_table(folder / "hospital.csv", read_schema(folder / "schema.toml").confirmed())
