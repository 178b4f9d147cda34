"""ARX projects made in code, in the shape that ARX's own writer gives them."""

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape

__all__ = [
    "AGES",
    "CONFIG",
    "DEFINITION",
    "INPUT",
    "OUTPUT",
    "ROLES",
    "config",
    "definition",
    "made_newer_project",
    "made_project",
    "zipped",
]

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
        lines += ["\t<assigment>", f"\t\t<name>{_escaped(name)}</name>", f"\t\t<type>{role}</type>"]
        lines.append("\t\t<datatype>String</datatype>")
        if name in hierarchies:
            lines.append(f"\t\t<ref>hierarchies/{_escaped(name)}.csv</ref>\n\t\t<min>All</min>\n\t\t<max>All</max>")
        lines.append("\t</assigment>")
    return "\n".join([*lines, "</definition>"]) + "\n"


def config(*suppressed: str) -> str:
    """config.xml; `suppressed`: the types of attribute that a suppressed row does not show."""
    types = "".join(f"\t\t<type>{one}</type>\n" for one in suppressed)
    return (
        "<config>\n\t<suppressTuplesInNonAnonymousOutput>true</suppressTuplesInNonAnonymousOutput>\n"
        f"\t<suppressedAttributeTypes>\n{types}\t</suppressedAttributeTypes>\n"
        "\t<practicalMonotonicity>false</practicalMonotonicity>\n\t<relativeMaxOutliers>1.0</relativeMaxOutliers>\n"
        "\t<metric>Loss</metric>\n\t<attributeWeights>\n\t</attributeWeights>\n"
        "\t<criteria>\n\t\t<criterion>2-anonymity</criterion>\n\t</criteria>\n</config>\n"
    )


def _escaped(text: str) -> str:
    """As ARX's library escapes: quotes too, and what is not ASCII by number."""
    plain = escape(text, {'"': "&quot;", "'": "&apos;"})
    return "".join(c if c.isascii() else f"&#{ord(c)};" for c in plain)


DEFINITION = definition()
CONFIG = config(ROLES["age"])
PROJECT = (
    "<project>\n\t<name>clinic</name>\n\t<separator>;</separator>\n\t<escape>&quot;</escape>\n"
    "\t<quote>&quot;</quote>\n\t<linebreak>UNIX</linebreak>\n\t<description></description>\n"
    "\t<locale>EN</locale>\n\t<selectedAttribute>age</selectedAttribute>\n</project>\n"
)
JAVA = b"\xac\xed\x00\x05sr"  # how serialised objects begin


def made_project(**changed: str | bytes | None) -> bytes:
    """A project of an older ARX, its output as CSV. `changed` replaces members by path (`__` for `/`, `_dot_` for `.`).

    None removes one. What is changed below input/ is the same below output/, which ARX writes once there is an output.
    """
    given = {path.replace("__", "/").replace("_dot_", "."): text for path, text in changed.items()}
    members: dict[str, str | bytes | None] = {
        "metadata.xml": "<metadata>\n\t<version>3.4.1</version>\n\t<vocabulary>2.0</vocabulary>\n</metadata>\n",
        "project.dat": JAVA,
        "project.xml": PROJECT,
        "data/input.csv": INPUT,
        "data/input_subset.csv": INPUT,
        "data/output.csv": OUTPUT,
        "data/output_subset.csv": OUTPUT,
        **given,
    }
    below: dict[str, str | bytes | None] = {
        "config.dat": JAVA,
        "config.xml": CONFIG,
        "definition.xml": DEFINITION,
        "hierarchies/age.csv": AGES,
        "hierarchies/zip.csv": ZIPS,
    }
    below |= {path.removeprefix("input/"): text for path, text in given.items() if path.startswith("input/")}
    kept = any(members.get(f"data/output.{ending}") is not None for ending in ("csv", "dat"))
    for folder in ("input", "output") if kept else ("input",):
        members = {**{f"{folder}/{path}": text for path, text in below.items()}, **members}
    return zipped({path: text for path, text in members.items() if text is not None})


def made_newer_project(output: bytes, **changed: str | bytes | None) -> bytes:
    """A project of ARX 3.7 or newer: the output in binary, no subsets beside it."""
    gone = dict.fromkeys(("data__output_dot_csv", "data__output_subset_dot_csv", "data__input_subset_dot_csv"))
    version = "<metadata>\n\t<version>3.9.1</version>\n\t<vocabulary>2.0</vocabulary>\n</metadata>\n"
    return made_project(metadata_dot_xml=version, data__output_dot_dat=output, **{**gone, **changed})


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """A zip file of these members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members.items():
            archive.writestr(path, content)
    return packed.getvalue()
