"""Java's serialised objects written in code, byte by byte as a Java machine writes them."""

import struct
from collections.abc import Sequence

__all__ = ["Java", "arx_output", "java_stream"]

_DATA = "org.deidentifier.arx.framework.data."
_VERSION = {"Data": 9088882549074658790, "DataMatrix": 1626391500373995527, "Dictionary": 6448285732641604559}
_KNOWN = {
    "[I": 0x4DBA602676EAB2A5,
    "[Ljava.lang.String;": 0xADD256E7E91D7B47 - 2**64,
    "[[Ljava.lang.String;": 0x324D09AD8432E457,
    "java.util.HashMap": 0x0507DAC1C31660D1,
    "java.lang.Integer": 0x12E2A0A4F7818738,
    "java.lang.Number": 0x86AC951D0B94E08B - 2**64,
}


class _Writer:
    def __init__(self) -> None:
        self.out = bytearray(b"\xac\xed\x00\x05")
        self.handles: list[object] = []

    def number(self, form: str, value: float) -> None:
        self.out += struct.pack(form, value)

    def utf(self, text: str) -> None:
        # Java writes a character beyond the first plane as two surrogates of three bytes each.
        units = text.encode("utf-16-be", "surrogatepass")
        raw = b"".join(
            b"\xc0\x80"
            if units[i : i + 2] == b"\0\0"
            else chr(units[i] << 8 | units[i + 1]).encode("utf-8", "surrogatepass")
            for i in range(0, len(units), 2)
        )
        self.number(">H", len(raw))
        self.out += raw

    def seen(self, key: object) -> bool:
        if key in self.handles:
            self.out += b"q"
            self.number(">i", 0x7E0000 + self.handles.index(key))
            return True
        self.handles.append(key)
        return False

    def text(self, text: str | None) -> None:
        if text is None:
            self.out += b"p"
        elif not self.seen(("text", text)):
            self.out += b"t"
            self.utf(text)

    def described(self, name: str, flags: int, fields: Sequence[tuple[str, str]] = (), above: str = "") -> None:
        if self.seen(("class", name)):
            return
        self.out += b"r"
        self.utf(name)
        self.number(">q", _KNOWN[name] if name in _KNOWN else _VERSION[name.rsplit(".")[-1]])
        self.out += bytes([flags])
        self.number(">H", len(fields))
        for kind, field in fields:
            self.out += kind[:1].encode()
            self.utf(field)
            if len(kind) > 1:
                self.text(kind)
        self.out += b"x"
        if above:
            self.described(above, 2)
        else:
            self.out += b"p"

    def new(self) -> None:
        self.handles.append(object())

    def integers(self, values: Sequence[int]) -> None:
        self.out += b"u"
        self.described("[I", 2)
        self.new()
        self.number(">i", len(values))
        for value in values:
            self.number(">i", value)

    def texts(self, values: Sequence[str | None]) -> None:
        self.out += b"u"
        self.described("[Ljava.lang.String;", 2)
        self.new()
        self.number(">i", len(values))
        for value in values:
            self.text(value)

    def matrix(self, rows: Sequence[Sequence[int]], columns: int) -> None:
        self.out += b"s"
        plain = [("I", n) for n in ("baseOffset", "columns", "iteratorI", "iteratorOffset", "rows")]
        self.described(_DATA + "DataMatrix", 2, [*plain, ("[I", "array")])
        self.new()
        for value in (0, columns, 0, 0, len(rows)):
            self.number(">i", value)
        self.integers([code for row in rows for code in row])

    def dictionary(self, texts: Sequence[Sequence[str | None]]) -> None:
        self.out += b"s"
        self.described(_DATA + "Dictionary", 2, [("[[Ljava/lang/String;", "mapping")])
        self.new()
        self.out += b"u"
        self.described("[[Ljava.lang.String;", 2)
        self.new()
        self.number(">i", len(texts))
        for one in texts:
            self.texts(one)

    def mapped(self, names: Sequence[str]) -> None:
        """A map from each name to its place."""
        self.out += b"s"
        self.described("java.util.HashMap", 3, [("F", "loadFactor"), ("I", "threshold")])
        self.new()
        self.number(">f", 0.75)
        self.number(">i", 12 if names else 0)
        self.out += b"w\x08"
        self.number(">i", 16)
        self.number(">i", len(names))
        for place, name in enumerate(names):
            self.text(name)
            self.out += b"s"
            self.described("java.lang.Integer", 2, [("I", "value")], "java.lang.Number")
            self.new()
            self.number(">i", place)
        self.out += b"x"

    def table(
        self, names: Sequence[str], codes: Sequence[Sequence[int]], texts: Sequence[Sequence[str | None]]
    ) -> None:
        self.out += b"s"
        kinds = ("[I", f"L{_DATA}DataMatrix;", f"L{_DATA}Dictionary;", "[Ljava/lang/String;", "Ljava/util/Map;")
        fields = [(kind.replace(".", "/"), field) for kind, field in zip(kinds, FIELDS, strict=True)]
        self.described(_DATA + "Data", 2, fields)
        self.new()
        self.integers(range(len(names)))
        if names:
            self.matrix(codes, len(names))
        else:
            self.out += b"p"
        self.dictionary(texts)
        self.texts(names)
        self.mapped(names)


FIELDS = ("columns", "data", "dictionary", "header", "map")


def arx_output(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    suppressed: Sequence[int] = (),
    means: Sequence[str] = (),
) -> bytes:
    """data/output.dat as ARX 3.7 and newer write it. `means`: names that are microaggregated, the rest is generalised.

    The dictionaries hold a label that no cell shows, as those of real outputs do.
    """
    writer = _Writer()
    for chosen in ([n for n in names if n not in means], list(means)):
        texts: list[list[str | None]] = [["shown nowhere"] for _ in chosen]
        codes = []
        for number, row in enumerate(rows):
            codes.append([])
            for place, name in enumerate(chosen):
                text = row[names.index(name)]
                if text not in texts[place]:
                    texts[place].append(text)
                mark = -(2**31) if number in suppressed and not place and chosen[0] not in means else 0
                codes[-1].append(texts[place].index(text) + mark)
        writer.table(chosen, codes, texts)
    writer.out += b"p"  # the data types, which are not needed
    return bytes(writer.out)


# ------------------------------------------------------------------------------------------------- any other objects


class Java:
    """An object to be written: `Java("org.x.Y", k=5)`. Ints are `int`, floats `double`, everything else an object."""

    def __init__(self, kind: str, /, **fields: object) -> None:
        self.kind, self.fields = kind, fields


def java_stream(*objects: object) -> bytes:
    """Objects as ARX's own writer leaves them in config.dat, project.dat and lattice.dat.

    A dict is a HashMap, a set of names or a tuple a HashSet, a list of ints `long[]`, one of lists `String[][]`.
    """
    writer = _Writer()
    for one in objects:
        _any(writer, one)
    return bytes(writer.out)


def _any(writer: _Writer, one: object) -> None:
    if one is None or isinstance(one, str):
        writer.text(one)
    elif isinstance(one, Java):
        _object(writer, one)
    elif isinstance(one, dict):
        _container(writer, "java.util.HashMap", [part for item in one.items() for part in item])
    elif isinstance(one, tuple):
        _container(writer, "java.util.HashSet", list(one))
    elif isinstance(one, list) and one and isinstance(one[0], int):
        writer.out += b"u"
        _class(writer, "[J", [])
        writer.new()
        writer.number(">i", len(one))
        for value in one:
            writer.number(">q", value)
    elif isinstance(one, list):
        writer.out += b"u"
        writer.described("[[Ljava.lang.String;", 2)
        writer.new()
        writer.number(">i", len(one))
        for row in one:
            writer.texts(row)
    else:
        raise TypeError(one)


def _class(writer: _Writer, name: str, fields: Sequence[tuple[str, str]], flags: int = 2) -> None:
    if writer.seen(("class", name, tuple(fields))):
        return
    writer.out += b"r"
    writer.utf(name)
    writer.number(">q", 1)
    writer.out += bytes([flags])
    writer.number(">H", len(fields))
    for kind, field in fields:
        writer.out += kind[:1].encode()
        writer.utf(field)
        if len(kind) > 1:
            writer.text(kind)
    writer.out += b"xp"


def _object(writer: _Writer, one: Java) -> None:
    kinds = {bool: "Z", int: "I", float: "D"}
    plain = [(kinds[type(v)], n, v) for n, v in one.fields.items() if type(v) in kinds]
    held = [("Ljava/lang/Object;", n, v) for n, v in one.fields.items() if type(v) not in kinds]
    writer.out += b"s"
    _class(writer, one.kind, [(kind, name) for kind, name, _ in (*plain, *held)])
    writer.new()
    for kind, _, value in plain:
        writer.number({"Z": ">?", "I": ">i", "D": ">d"}[kind], value)  # type: ignore[arg-type]
    for _, _, value in held:
        _any(writer, value)


def _container(writer: _Writer, kind: str, items: Sequence[object]) -> None:
    writer.out += b"s"
    _class(writer, kind, [], 3)
    writer.new()
    writer.out += b"w\x04"
    writer.number(">i", len(items))
    for item in items:
        _any(writer, Java("java.lang.Integer", value=item) if isinstance(item, int) else item)
    writer.out += b"x"
