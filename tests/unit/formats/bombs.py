"""Small files that ask for a great deal of time or memory; each is made here by code and refused in one line.

Run as a program, it feeds each to the command line, one after the other in one process, and prints exit code, CPU
seconds, peak memory and what was said.
"""

import io
import json
import os
import resource
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

MANY = 1_000_000
SCHEMA = (
    'version = 1\nconfirmed = true\n[attributes.a]\nrole = "quasi-identifier"\n[attributes.b]\nrole = "sensitive"\n'
)

Bomb = Callable[[Path], list[object]]


def table(folder: Path, name: str, content: bytes | str) -> list[object]:
    """A file that claims to be a table."""
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return ["schema", folder / name]


def schema(folder: Path, text: str, data: str = "a,b\n1,2\n3,4\n") -> list[object]:
    """A table with a schema of somebody else's."""
    (folder / "s.toml").write_text(text)
    (folder / "d.csv").write_text(data)
    return ["anonymize", folder / "d.csv", "-s", folder / "s.toml", "--with", "mondrian:k=1", "-o", folder / "out.csv"]


def release(folder: Path, rows: str, text: str = SCHEMA) -> list[object]:
    """A release of somebody else's."""
    (folder / "s.toml").write_text(text)
    (folder / "r.csv").write_text(rows)
    return ["check", folder / "r.csv", "-s", folder / "s.toml"]


def sheet(cell: str) -> bytes:
    """An .ods with one cell."""
    space = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    rows = f"<table:table-row><table:table-cell office:value-type='string'>{cell}</table:table-cell></table:table-row>"
    content = (
        f'<?xml version="1.0"?><office:document-content {space}><office:body><office:spreadsheet>'
        f'<table:table table:name="t">{rows * 2}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        file.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            '<manifest:file-entry manifest:full-path="/" '
            'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
            "</manifest:manifest>",
        )
        file.writestr("content.xml", content)
    return out.getvalue()


def parquet(**columns: object) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd", row_group_size=1 << 30)
    return out.getvalue()


def lying(raw: bytes, size: int) -> bytes:
    """The same with small sums at the end of the file: only the page itself says how long its text is."""
    (length,) = struct.unpack("<I", raw[-8:-4])
    footer, found = bytearray(raw[-8 - length : -8]), 0
    for place in range(len(footer) - 5):  # a number of seven bits a byte, doubled; all sums are a little above the size
        value = sum((footer[place + i] & 127) << 7 * i for i in range(5)) >> 1
        if (
            all(byte >= 128 for byte in footer[place : place + 4])
            and footer[place + 4] < 128
            and 0 <= value - size < 99
        ):
            footer[place : place + 5], found = b"\x82\x80\x80\x80\x00", found + 1
    assert found >= 2, "the sums of the column and of the row group"
    return raw[: -8 - length] + bytes(footer) + raw[-8:]


def arrow(batches: int, compression: str | None = "zstd", *, whole: bool = True, **columns: object) -> bytes:
    import pyarrow as pa
    from pyarrow import ipc

    out, data = io.BytesIO(), pa.table(columns)
    made = ipc.new_file if whole else ipc.new_stream
    with made(out, data.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        for _ in range(batches):
            writer.write_table(data)
    return out.getvalue()


def nulls(rows: int) -> object:
    import pyarrow as pa

    return pa.nulls(rows)


def texts(length: int, rows: int) -> object:
    """The same long text in every row, held once."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(_zeros(rows), ["x" * length])


def _zeros(rows: int) -> object:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.zeros(rows, dtype=np.int8))


def fifo(folder: Path) -> list[object]:
    os.mkfifo(folder / "pipe.csv")
    return schema(folder, SCHEMA.replace("[attributes.b]", 'hierarchy = "pipe.csv"\n[attributes.b]'))


def hierarchy(place: str) -> Bomb:
    return lambda folder: schema(folder, SCHEMA.replace("[attributes.b]", f'hierarchy = "{place}"\n[attributes.b]'))


def levels(folder: Path) -> list[object]:
    (folder / "h.csv").write_text("".join(f"{v};" + f"x{v};" * 40_000 + "*\n" for v in (1, 3)))
    return hierarchy("h.csv")(folder)


def wide(count: int) -> str:
    return "\n".join(",".join(row) for row in ([f"c{i}" for i in range(count)], ["1"] * count, ["2"] * count)) + "\n"


BOMBS: dict[str, Bomb] = {
    "ods, one text:s": lambda f: table(f, "t.ods", sheet('<text:p><text:s text:c="2000000000"/></text:p>')),
    "ods, many text:s": lambda f: table(
        f, "t.ods", sheet("<text:p>" + '<text:s text:c="60000"/>' * 60_000 + "</text:p>")
    ),
    "ods, text:s in quotes of another kind": lambda f: table(
        f, "t.ods", sheet("<text:p>" + "<text:s  text:c = '999999'></text:s>" * 9_000 + "</text:p>")
    ),
    "hierarchy of 40,000 levels": levels,
    "hierarchy /dev/zero": hierarchy("/dev/zero"),
    "hierarchy /dev/stdin": hierarchy("/dev/stdin"),
    "hierarchy outside": hierarchy("../../../../../../../../etc/passwd"),
    "hierarchy, a FIFO": fifo,
    "toml, one dotted key": lambda f: schema(f, SCHEMA + ".".join(["a"] * 100_000) + " = 1\n"),
    "toml, a dotted table": lambda f: schema(f, SCHEMA + "[" + ".".join(["a"] * 100_000) + "]\n"),
    "toml, many dotted keys": lambda f: schema(f, SCHEMA + "".join(f"x{'.a' * 900}{i} = 1\n" for i in range(500))),
    "toml, brackets": lambda f: schema(f, SCHEMA + "x = " + "[" * 100_000 + "\n"),
    "toml, tables": lambda f: schema(f, SCHEMA + "x = " + "{a=" * 100_000 + "\n"),
    "toml, many tables": lambda f: schema(f, SCHEMA + "".join(f"[attributes.x{i}]\n" for i in range(600_000))),
    "frequency of a table": lambda f: schema(f, 'frequency = "n"\n' + SCHEMA, "a,b,n\n1,2,2000000000\n3,4,1\n"),
    "frequency of a release": lambda f: release(f, "a,b,count\n1,2,2000000000\n3,4,1\n"),
    "frequencies of a release": lambda f: [
        "audit",
        *release(f, "a,b,count\n" + "".join(f"{i},2,999999999\n" for i in range(50)))[1:],
    ],
    "parquet of nulls": lambda f: table(f, "t.parquet", parquet(a=nulls(20_000_000))),
    "parquet of zeros": lambda f: table(f, "t.parquet", parquet(a=_zeros(200_000_000))),
    "parquet, a long text": lambda f: table(f, "t.parquet", parquet(a=["x" * 2**27])),
    "parquet, a long text and a lie": lambda f: table(f, "t.parquet", lying(parquet(a=["x" * 2**27]), 2**27)),
    "parquet, texts just below what is refused unread": lambda f: table(
        f, "t.parquet", parquet(a=["x" * 50_000_000] * 2)
    ),
    "csv, a long text": lambda f: table(f, "t.csv", "a,b\n1," + "x" * 30_000_000 + "\n2,y\n"),
    "parquet, a text in every row": lambda f: table(f, "t.parquet", parquet(a=texts(900_000, 10_000))),
    "parquet, many columns": lambda f: table(f, "t.parquet", parquet(**{f"c{i}": [1] for i in range(20_000)})),
    "arrow of nulls": lambda f: table(f, "t.arrow", arrow(3, a=nulls(300_000_000))),
    "arrow stream of nulls": lambda f: table(f, "t.arrow", arrow(3, whole=False, a=nulls(300_000_000))),
    "arrow of zeros": lambda f: table(f, "t.arrow", arrow(20, a=_zeros(4_000_000))),
    "arrow, a long text": lambda f: table(f, "t.arrow", arrow(1, a=["x" * 2**27])),
    "arrow, a text in every row": lambda f: table(f, "t.arrow", arrow(1, a=texts(900_000, 10_000))),
    "csv, 100,000 columns": lambda f: table(f, "t.csv", wide(100_000)),
    "a cell of a million members": lambda f: release(f, 'a,b\n"{' + ",".join(map(str, range(MANY))) + '}",x\n1,y\n'),
    "a cell of a million members, declared": lambda f: release(
        f,
        'a,b\n"{' + ",".join(map(str, range(MANY))) + '}",x\n1,y\n',
        SCHEMA.replace("[attributes.b]", 'kind = "numeric"\ndomain = { from = 0, to = 999999 }\n[attributes.b]'),
    ),
}


def build(folder: Path, names: list[str]) -> None:
    """Make the files, in a process of its own: what that takes is not what reading takes."""
    for number, name in enumerate(names):
        inside = folder / str(number)
        inside.mkdir()
        (inside / "command.json").write_text(json.dumps([name, *map(str, BOMBS[name](inside))]))


def spent() -> float:
    """CPU seconds of this process, and of the children that read for it, whose memory has a bound of its own."""
    from unveil.formats.glass import _Server

    here = time.process_time()
    for server in _Server._resting:
        fields = Path(f"/proc/{server._process.pid}/stat").read_text().rpartition(")")[2].split()
        here += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return here


def run(folder: Path) -> None:
    """Feed each to the command line; a line for each: name, exit code, CPU seconds, peak MB so far, what was said."""
    from unveil.cli import main

    for inside in sorted(folder.iterdir(), key=lambda path: int(path.name)):
        name, *arguments = json.loads((inside / "command.json").read_text())
        sys.argv = ["unveil", *arguments]
        said, start, code = io.StringIO(), spent(), None
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(said):
                main()
        except SystemExit as end:
            code = end.code
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(json.dumps([name, code, spent() - start, peak, said.getvalue()]), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), sys.argv[3:])
    else:
        run(Path(sys.argv[2]))
