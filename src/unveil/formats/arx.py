"""ARX projects (.deid): the input, the roles, the hierarchies and, where ARX kept it, the output.

A project is a zip file. ARX's WorkerSave writes data/input.csv and, below input/ and output/, a definition.xml with
one <assigment> (so spelt) an attribute and hierarchies/ATTRIBUTE.csv; project.xml names the separator of all of them.
Versions before 3.7 write data/output.csv, newer ones data/output.dat, serialised Java objects that are read as data
(arx_output.py). No other *.dat is opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from unveil.data.attribute import Role
from unveil.data.hierarchy import HierarchyTable, hierarchy_rows
from unveil.errors import SchemaError, TableError, UnveilError, shown
from unveil.formats.archive import Archive
from unveil.formats.arx_output import output_tables, published_columns, starred_columns
from unveil.formats.columns import Columns, Refusal

__all__ = ["Project", "read_data", "read_project", "repaired_ladder", "shown_output"]

INPUT, OUTPUT, BINARY = "data/input.csv", "data/output.csv", "data/output.dat"
MOST_XML = 2**24  # bytes
MOST_DEPTH = 50
_ROLES = {
    "IDENTIFYING_ATTRIBUTE": Role.IDENTIFIER,
    "QUASI_IDENTIFYING_ATTRIBUTE": Role.QUASI_IDENTIFIER,
    "SENSITIVE_ATTRIBUTE": Role.SENSITIVE,
    "INSENSITIVE_ATTRIBUTE": Role.INSENSITIVE,
}


@dataclass(frozen=True, slots=True)
class Project:
    """What a project says of its columns."""

    path: Path
    delimiter: str
    roles: Mapping[str, Role]
    kinds: Mapping[str, str]  # ARX's data types: String, Integer, Decimal, Date/Time, Ordinal
    ladders: Mapping[str, HierarchyTable]
    unusable: Mapping[str, str] = field(default_factory=dict)  # hierarchies that cannot be used, and why
    masked: tuple[str, ...] = ()  # microaggregated: perturbed in the output, not widened
    output: bool = False  # whether ARX kept an output, readable or not


def read_data(path: Path, *, published: bool, error: type[UnveilError] = TableError) -> tuple[bytes, str, bytes | None]:
    """The bytes of the input or the output, and their separator; of an output in ARX's binary form the input and it."""
    with Archive(path, error) as archive:
        if not published or OUTPUT in archive.names:
            return archive.read(OUTPUT if published else INPUT), _separator(archive), None
        if BINARY not in archive.names:
            raise error(
                f"{path}: the project holds no output; anonymize it in ARX and save it, or export the output as CSV, "
                f"then: unveil audit EXPORT.csv --original {path.name}"
            )
        return archive.read(INPUT), _separator(archive), archive.read(BINARY)


def shown_output(path: Path, found: Columns, raw: bytes | None, error: type[UnveilError] = TableError) -> Columns:
    """The output as ARX shows it: this one, or out of its binary form, with `*` for all that is suppressed."""
    project = read_project(path)
    with Archive(path, error) as archive:
        withheld, text = _suppression(archive)
    if raw is None:
        return found if text == "*" else starred_columns(found, project.roles, text)
    try:
        return published_columns(found, output_tables(raw), project.roles, withheld)
    except Refusal as reason:
        raise error(
            f"{path}, {BINARY}: cannot be read ({reason}); export the output in ARX as CSV, "
            f"then: unveil audit EXPORT.csv --original {path.name}"
        ) from None


def read_project(path: str | Path) -> Project:
    """Roles and hierarchies; those that belong to the output, if there is one."""
    path = Path(path)
    with Archive(path, SchemaError) as archive:
        output = OUTPUT in archive.names or BINARY in archive.names
        folders = ("output/", "input/", "") if output else ("input/", "")
        folder = next((f for f in folders if f"{f}definition.xml" in archive.names), None)
        if folder is None:
            raise SchemaError(f"{path}: holds no definition.xml; is it an ARX project?")
        separator = _separator(archive)
        roles, kinds, ladders, unusable, masked = {}, {}, {}, {}, []
        for entry in _assignments(archive, f"{folder}definition.xml"):
            name, role = entry.get("name"), _ROLES.get(entry.get("type", "").strip())
            if not name or role is None or name in roles:
                fault = "two roles" if name in roles else f"the type {shown(entry.get('type', ''))}"
                raise SchemaError(
                    f"{path}, {folder}definition.xml: {shown(name or '')} has {fault}; save it again in ARX"
                )
            roles[name], kinds[name] = role, entry.get("datatype", "").strip()
            if "microaggregationfunction" in {key.lower() for key in entry}:  # versions of ARX spell it differently
                masked.append(name)
            found = next((f for f in _places(folder, entry.get("ref"), name) if f in archive.names), None)
            if found is not None:
                try:
                    ladder = repaired_ladder(archive.read(found), f"{path}, {found}", separator)
                except SchemaError as reason:
                    unusable[name] = str(reason)
                else:
                    if ladder is not None:
                        ladders[name] = ladder
        if not roles:
            raise SchemaError(f"{path}, {folder}definition.xml: names no attribute; save it again in ARX")
        return Project(path, separator, roles, kinds, ladders, unusable, tuple(masked), output)


def repaired_ladder(raw: bytes, source: str, separator: str = ";") -> HierarchyTable | None:
    """A hierarchy as ARX allows it, in the form that is needed here; None if it has no levels.

    Levels that say `*` twice on top become one. A lower `*`, which ARX writes for a value that is withheld early,
    becomes the label below it. Without `*` on top it is added: the label there stays, as one for the whole domain.
    """
    rows = hierarchy_rows(raw, source, separator)[0]
    widths = {len(row) for row in rows}
    if not rows or len(widths) > 1:
        raise SchemaError(f"{source}: " + ("holds no rows" if not rows else "has rows of different lengths"))
    while len(rows[0]) > 1 and all(row[-1] == row[-2] == "*" for row in rows):
        rows = [row[:-1] for row in rows]
    if any(row[-1] != "*" for row in rows):
        rows = [(*row, "*") for row in rows]
    repaired = []
    for row in rows:
        labels = [row[0]]
        for label in row[1:-1]:
            labels.append(labels[-1] if label == "*" else label)
        repaired.append((*labels, "*"))
    return HierarchyTable(tuple(repaired), source=source) if len(repaired[0]) > 2 else None


def _places(folder: str, ref: str | None, name: str) -> list[str]:
    files = [ref] if ref else []
    files.append(f"hierarchies/{name}.csv")
    return [f"{where}{file}" for where in (folder, "input/", "") for file in files]


def _separator(archive: Archive) -> str:
    """One character, from project.xml; a semicolon, as ARX has it, if that says nothing."""
    if "project.xml" not in archive.names:
        return ";"
    found = [text for path, text in _texts(archive, "project.xml") if path == ("project", "separator")]
    text = found[0] if found else ";"
    text = text if len(text) == 1 else text.strip() or "\t"  # a tab or a blank may be written as it is
    if len(text) != 1 or not text.isascii() or text in '"\r\n\0':
        raise archive.error(f"{archive.path}, project.xml: {shown(text)} is not a separator; save it again in ARX")
    return text


def _suppression(archive: Archive) -> tuple[frozenset[Role], str]:
    """The roles that a suppressed row does not show, and what it shows; as ARX has it, if nothing is said."""
    name = next((n for n in ("output/config.xml", "input/config.xml") if n in archive.names), None)
    texts = _texts(archive, name) if name is not None else []
    inside = ("config", "suppressedAttributeTypes")
    found = {_ROLES.get(text.strip()) for path, text in texts if path == (*inside, "type")}
    told = any(path == inside for path, _ in texts)
    withheld = frozenset(role for role in found if role is not None) if told else frozenset({Role.QUASI_IDENTIFIER})
    return withheld, next((text for path, text in texts if path == ("config", "suppressionString")), "*")


def _assignments(archive: Archive, name: str) -> list[dict[str, str]]:
    """What definition.xml says of each attribute."""
    entries: list[dict[str, str]] = []
    for path, text in _texts(archive, name):
        if path[-1] in ("assigment", "assignment") and len(path) == 2:
            entries.append({})
        elif len(path) == 3 and path[1] in ("assigment", "assignment") and entries:
            entries[-1].setdefault(path[2], text)
    return entries


def _texts(archive: Archive, name: str) -> list[tuple[tuple[str, ...], str]]:
    """Every element's path and text, outer ones first. A document type or an entity is refused, not followed."""
    raw = archive.read(name)
    where = f"{archive.path}, {name}"
    if len(raw) > MOST_XML:
        raise archive.error(f"{where}: over {MOST_XML:,} bytes of XML; is it an ARX project?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:  # ARX writes the platform's own encoding and does not say which
        text = raw.decode("cp1252", errors="replace")
    found: list[tuple[tuple[str, ...], list[str]]] = []
    open_: list[int] = []

    def start(tag: str, _: object) -> None:
        if len(open_) >= MOST_DEPTH:
            raise archive.error(f"{where}: elements within elements over {MOST_DEPTH} deep; is it an ARX project?")
        above = found[open_[-1]][0] if open_ else ()
        open_.append(len(found))
        found.append(((*above, tag), []))

    def refuse(*_: object) -> None:
        raise archive.error(f"{where}: declares a document type or an entity, which no ARX project does; not read")

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_.pop()
    parser.CharacterDataHandler = lambda data: found[open_[-1]][1].append(data)
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse  # type: ignore[assignment]
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as reason:
        raise archive.error(f"{where}: not XML ({reason}); save it again in ARX") from None
    return [(path, "".join(parts)) for path, parts in found]
