"""`hierarchy auto` whatever a column is called and whatever stands for missing: what is written is used."""

import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thorough import THOROUGH
from unveil import cli
from unveil.data.schema import read_schema
from unveil.formats.tables import read_table

HOSTILE = ["a.b", 'q"uote', "it's", "a/b\\c", "..", "CON", "Straße ", "x" * 200, "[attributes]", "#", "=", "-o", "*"]
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=12),
)


def run(*command: object) -> int:
    argv, sys.argv = sys.argv, ["unveil", *map(str, command)]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = argv
    return int(str(stopped.value.code or 0))


@settings(max_examples=15 if not THOROUGH else 300)
@given(
    st.lists(NAMES, min_size=2, max_size=4, unique_by=lambda name: name.strip()),
    st.sampled_from(["k.A.", "?", "", "unknown"]),
)
def test_every_hierarchy_that_is_written_is_used(names: list[str], missing: str) -> None:
    names = [name.strip() for name in names]
    if not all(names):
        return
    codes = [*(f"481{i:02d}" for i in range(12)), missing]
    rows = [[codes[(row + shift) % len(codes)] for shift in range(len(names))] for row in range(60)]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in (names, *rows)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data, schema = folder / "t.csv", folder / "s.toml"
        data.write_text("\n".join(quoted) + "\n", encoding="utf-8")
        assert run("schema", data, "-o", schema) == 0
        text = schema.read_text(encoding="utf-8")
        text = text.replace('role = "sensitive"', 'role = "quasi-identifier"')  # whatever the names say
        text = text.replace('role = "identifier"', 'role = "quasi-identifier"\nmissing = "category"')
        text = text.replace("shared = true", "# shared").replace("confirmed = false", "confirmed = true")
        schema.write_text(text, encoding="utf-8")
        assert run("hierarchy", "auto", "-s", schema, "--data", data) == 0
        written = [*(folder / "hierarchies").iterdir()]
        table = read_table(data, read_schema(schema))
        assert len(written) == len(table.attributes) == len(names)
        for attribute in table.attributes:
            assert attribute.hierarchy is not None
            labels = {label for level in attribute.hierarchy.labels for label in level}
            assert "481**" in labels or attribute.kind.measured  # what is missing did not spoil the prefixes
