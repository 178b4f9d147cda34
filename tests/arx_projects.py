"""ARX projects made in code, in the shape that ARX's own writer gives them."""

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape

__all__ = ["DEFINITION", "INPUT", "OUTPUT", "definition", "made_project", "zipped"]

INPUT = (
    "name;age;zip;disease\nann;34;81541;flu\nbob;35;81549;flu\ncid;47;81667;hiv\ndan;45;81667;flu\neve;70;80331;hiv\n"
)
OUTPUT = (
    "name;age;zip;disease\n"
    "*;[30, 40[;8154*;flu\n*;[30, 40[;8154*;flu\n*;[40, 50[;8166*;hiv\n*;[40, 50[;8166*;flu\n*;*;*;hiv\n"
)
AGES = (
    "34;[30, 40[;[20, 60[;*\n35;[30, 40[;[20, 60[;*\n47;[40, 50[;[20, 60[;*\n45;[40, 50[;[20, 60[;*\n70;≥ 60;≥ 60;*\n"
)
ZIPS = "81541;8154*;81***;*****\n81549;8154*;81***;*****\n81667;8166*;81***;*****\n80331;8033*;80***;*****\n"
ROLES = {
    "name": "IDENTIFYING_ATTRIBUTE",
    "age": "QUASI_IDENTIFYING_ATTRIBUTE",
    "zip": "QUASI_IDENTIFYING_ATTRIBUTE",
    "disease": "SENSITIVE_ATTRIBUTE",
}


def definition(roles: Mapping[str, str] = ROLES, hierarchies: tuple[str, ...] = ("age", "zip")) -> str:
    """definition.xml as ARX writes it, its misspelt element included."""
    lines = ["<definition>"]
    for name, role in roles.items():
        lines += ["\t<assigment>", f"\t\t<name>{escape(name)}</name>", f"\t\t<type>{role}</type>"]
        lines.append("\t\t<datatype>String</datatype>")
        if name in hierarchies:
            lines.append(f"\t\t<ref>hierarchies/{escape(name)}.csv</ref>\n\t\t<min>All</min>\n\t\t<max>All</max>")
        lines.append("\t</assigment>")
    return "\n".join([*lines, "</definition>"]) + "\n"


DEFINITION = definition()


def made_project(**changed: str | bytes | None) -> bytes:
    """A project with an output; `changed` replaces members by path (`__` for `/`, `_dot_` for `.`), None removes."""
    members: dict[str, str | bytes | None] = {
        "metadata.xml": "<metadata>\n\t<version>3.9.0</version>\n\t<vocabulary>2.0</vocabulary>\n</metadata>\n",
        "project.dat": b"\xac\xed\x00\x05sr",
        "project.xml": "<project>\n\t<separator>;</separator>\n\t<quote>&quot;</quote>\n</project>\n",
        "data/input.csv": INPUT,
        "data/output.csv": OUTPUT,
        "input/config.dat": b"\xac\xed\x00\x05sr",
        "input/definition.xml": DEFINITION,
        "input/hierarchies/age.csv": AGES,
        "input/hierarchies/zip.csv": ZIPS,
        **{path.replace("__", "/").replace("_dot_", "."): text for path, text in changed.items()},
    }
    return zipped({path: text for path, text in members.items() if text is not None})


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """A zip file of these members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members.items():
            archive.writestr(path, content)
    return packed.getvalue()
