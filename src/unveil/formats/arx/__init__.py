"""ARX projects (.deid): the input, the roles, the hierarchies and, where ARX kept it, the output.

A project is a zip file. ARX's WorkerSave writes data/input.csv and, below input/ and output/, a definition.xml with
one <assigment> (so spelt) an attribute and hierarchies/ATTRIBUTE.csv; project.xml names the separator of all of them.
Versions before 3.7 write data/output.csv, newer ones data/output.dat, serialised Java objects that are read as data
(arx_output.py). Where neither is there, the output is computed again (arx_recomputed.py), from what project.dat,
lattice.dat and config.dat say of it; `clinic.deid#2` is the second transformation that the project keeps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from unveil.data.attribute import Role
from unveil.data.hierarchy import HierarchyTable, hierarchy_rows
from unveil.errors import SchemaError, TableError, UnveilError, shown
from unveil.formats.arx.archive import Archive
from unveil.formats.arx.means import is_widening
from unveil.formats.arx.output import output_tables, published_columns, starred_columns
from unveil.formats.arx.recomputed import attribute_order, configuration, levels_of, recomputed, shown_node
from unveil.formats.columns import Columns, Refusal
from unveil.formats.paths import sheet_file

__all__ = ["Project", "read_data", "read_project", "repaired_ladder", "saved_transformations", "shown_output"]

INPUT, OUTPUT, BINARY = "data/input.csv", "data/output.csv", "data/output.dat"
MOST_XML = 2**24  # bytes
MOST_DEPTH = 50
MOST_LISTED = 12  # transformations that an error names
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
    means: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of microaggregated ones what is said
    folder: str = "input/"  # where its definition stands

    @property
    def masked(self) -> tuple[str, ...]:
        """Attributes that the output perturbs; an interval or a set of a class's values widens them."""
        return tuple(n for n, said in self.means.items() if not is_widening(said["microaggregationFunction"]))


def read_data(path: Path, *, published: bool, error: type[UnveilError] = TableError) -> tuple[bytes, str]:
    """The bytes of the input, or of an output that is kept as text, and their separator."""
    file, chosen = sheet_file(path)
    with Archive(file, error) as archive:
        kept = published and OUTPUT in archive.names and chosen in (None, "1")
        return archive.read(OUTPUT if kept else INPUT), _separator(archive)


def shown_output(path: Path, found: Columns, error: type[UnveilError] = TableError) -> Columns:
    """The output as ARX shows it, with `*` for all that is suppressed: this one, its binary form, or computed again.

    `found`: what `read_data` gave. `clinic.deid#2` is the second of the `saved_transformations`.
    """
    project = read_project(path)
    file, chosen = sheet_file(path)
    with Archive(file, error) as archive:
        withheld, text = _suppression(archive)
        stored = chosen in (None, "1") and not {OUTPUT, BINARY}.isdisjoint(archive.names)
        export = f"xport the output in ARX as CSV, then: unveil audit EXPORT.csv --original {file.name}"
        if not stored and "output/config.dat" not in archive.names:
            raise error(f"{file}: the project holds no output; anonymize it in ARX and save it, or e{export}")
        try:
            if not stored:
                return _recomputed(archive, project, found, chosen, withheld)
            if OUTPUT in archive.names:
                return found if text == "*" else starred_columns(found, project.roles, text)
            return published_columns(found, output_tables(archive.read(BINARY)), project.roles, withheld)
        except Refusal as reason:
            what = f"{BINARY}: cannot be read" if stored else "its output is not stored and cannot be computed"
            raise error(f"{file}, {what} ({reason}); e{export}") from None


def saved_transformations(archive: Archive) -> tuple[tuple[str, ...], bool]:
    """The transformations that a project keeps, the one that ARX shows first; and whether that was recoded locally."""
    node, local = (None, False)
    if "project.dat" in archive.names:
        node, local = shown_node(archive.read("project.dat"))
    kept = [node] if node is not None else []
    if node is None and "lattice.xml" in archive.names:
        kept += _least_loss(archive)
    if "clipboard.xml" in archive.names:
        kept += [text.strip() for path, text in _texts(archive, "clipboard.xml") if path == ("clipboard", "node")]
    return tuple(dict.fromkeys(kept)), local


def _least_loss(archive: Archive) -> list[str]:
    """The anonymous transformation of least loss whose loss is known exactly; its elements are spelt in two ways."""
    best, node = float("inf"), ""
    one: dict[str, str] = {}
    for path, text in [*_texts(archive, "lattice.xml"), (("lattice", "level", "n"), "")]:
        if path[-1] in ("n", "node") and len(path) == 3:
            low, high = (next((one[k] for k in keys if k in one), "") for keys in (("f", "min"), ("u", "max")))
            anonymous = "ANONYMOUS" in (one.get("a"), one.get("anonymity"))
            if anonymous and low == high and _is_number(low) and float(low) < best:
                best, node = float(low), one.get("t", one.get("transformation", ""))
            one = {}
        else:
            one[path[-1]] = text.strip()
    return [node] if node else []


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _recomputed(
    archive: Archive, project: Project, found: Columns, chosen: str | None, withheld: frozenset[Role]
) -> Columns:
    """A saved transformation, applied."""
    saved, local = saved_transformations(archive)
    if not saved:
        raise Refusal("the project keeps no transformation")
    number = int(chosen) if chosen is not None and chosen.isdecimal() else 1 if chosen is None else 0
    if not 1 <= number <= len(saved):
        listed = ", ".join(f"{place}: {node}" for place, node in enumerate(saved[:MOST_LISTED], start=1))
        more = f" and {len(saved) - MOST_LISTED} more" if len(saved) > MOST_LISTED else ""
        raise Refusal(f"it keeps no transformation {shown(chosen or '')}; it has {listed}{more}")
    if number == 1 and local:
        raise Refusal("it was recoded locally after the transformation, and the steps are not stored")
    names = [n for n in found.columns if project.roles.get(n) is Role.QUASI_IDENTIFIER]
    if "lattice.dat" in archive.names:
        names = list(attribute_order(archive.read("lattice.dat")))
    rows = {n: _raw_ladder(archive, project, n) for n in {*names, *project.means}}
    given = configuration(archive.read("output/config.dat"), found.rows)
    levels = levels_of(saved[number - 1], names)
    return recomputed(found, levels, rows, project.means, project.roles, withheld, given)


def _raw_ladder(archive: Archive, project: Project, name: str) -> list[tuple[str, ...]]:
    """A hierarchy as ARX applies it: its labels are not repaired."""
    file = next((f for f in _places(project.folder, None, name) if f in archive.names), None)
    return [] if file is None else hierarchy_rows(archive.read(file), f"{archive.path}, {file}", project.delimiter)[0]


def read_project(path: str | Path) -> Project:
    """Roles and hierarchies; those that belong to the output, if there is one."""
    path = sheet_file(Path(path))[0]
    with Archive(path, SchemaError) as archive:
        folders = ("output/", "input/", "")
        folder = next((f for f in folders if f"{f}definition.xml" in archive.names), None)
        if folder is None:
            raise SchemaError(f"{path}: holds no definition.xml; is it an ARX project?")
        separator = _separator(archive)
        roles, kinds, ladders, unusable = {}, {}, {}, {}
        means: dict[str, dict[str, str]] = {}
        for entry in _assignments(archive, f"{folder}definition.xml"):
            name, role = entry.get("name"), _ROLES.get(entry.get("type", "").strip())
            if not name or role is None or name in roles:
                fault = "two roles" if name in roles else f"the type {shown(entry.get('type', ''))}"
                raise SchemaError(
                    f"{path}, {folder}definition.xml: {shown(name or '')} has {fault}; save it again in ARX"
                )
            roles[name], kinds[name] = role, entry.get("datatype", "").strip()
            said = {key.replace("microAggregation", "microaggregation"): text for key, text in entry.items()}
            if "microaggregationFunction" in said:  # versions of ARX spell it differently
                means[name] = said
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
        return Project(path, separator, roles, kinds, ladders, unusable, means, folder)


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
