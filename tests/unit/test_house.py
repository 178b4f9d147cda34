"""The house itself: what is in the tree, and that names and imports keep to it."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import vulnerabilities

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "unveil"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
MODULES = sorted(SOURCE.rglob("*.py"))
ENTRIES = {
    "__init__.py", "__main__.py", "anonymizers/", "attackers/", "audit/", "catalog.py", "cli/", "cluster.py",
    "data/", "engine.py", "errors.py", "formats/", "frontier/", "kernels/", "privacy/", "report/", "risk/",
    "studio/", "temporary.py", "utility/",
}  # fmt: skip


def entries(folder: Path) -> set[str]:
    """What a folder holds, but for caches."""
    return {
        f"{path.name}/" if path.is_dir() else path.name
        for path in folder.iterdir()
        if path.name not in ("__pycache__", "py.typed") and not path.name.startswith(".")
    }


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_the_tree_has_these_entries_and_the_page_names_each() -> None:
    assert entries(SOURCE) == ENTRIES
    table = ARCHITECTURE.split("## The tree")[1].split("## ")[0]
    assert set(re.findall(r"^\| \d? ?\| `([\w./]+)` \|", table, re.MULTILINE)) == ENTRIES


def test_every_path_on_the_page_exists() -> None:
    named = set(re.findall(r"`((?:src|tests)/[\w./]+)`", ARCHITECTURE))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_no_class_name_has_two_meanings() -> None:
    where = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(module_name(path))
    twice = {name: places for name, places in where.items() if len(places) > 1}
    assert twice == {}


def imported(path: Path) -> Iterator[str]:
    """Every module or name of ours that a file imports, dotted."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("unveil."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "unveil":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_private_is_imported_from_another_package() -> None:
    """What starts with an underscore is for the package (the folder) it stands in."""
    found = set()
    for path in MODULES:
        package = ".".join(path.parent.relative_to(SOURCE.parent).parts)
        for name in imported(path):
            parts = name.split(".")
            private = next((i for i, part in enumerate(parts) if part.startswith("_") and part != "__version__"), None)
            if private is None:
                continue
            home = parts[:private]
            if (SOURCE.parent.joinpath(*home)).with_suffix(".py").exists():
                home = home[:-1]  # a private name of a module belongs to the module's folder
            if package.split(".")[: len(home)] != home:
                found.add((module_name(path), name))
    assert found == set()


def test_unit_tests_mirror_the_source() -> None:
    packages = {name for name in ENTRIES if name.endswith("/")}
    folders = {name for name in entries(ROOT / "tests" / "unit") if name.endswith("/")}
    assert folders == packages
    loose = {name for name in entries(ROOT / "tests" / "unit") if not name.endswith("/")}
    modules = {f"test_{name}" for name in ENTRIES if name.endswith(".py")}
    assert loose <= modules | {"test_house.py", "test_public.py"}  # the public names are those of __init__.py


def test_every_pinned_package_is_listed_with_its_licence() -> None:
    root = Path(__file__).parents[2]
    pinned = {line.partition("==")[0] for line in (root / "constraints.txt").read_text().splitlines()}
    page = (root / "docs" / "dependencies.md").read_text()
    listed = dict(re.findall(r"^\| ([\w.-]+) \| ([^|\n]*) \|", page, re.MULTILINE))
    assert pinned == set(listed) - {"package"}
    assert all(licence.strip() for licence in listed.values())


def test_every_pin_has_hashes() -> None:
    root = Path(__file__).parents[2]
    parts = re.split(r"(?m)^(?=\S)", (root / "hashes.txt").read_text())[1:]
    assert [part.split(" \\\n")[0] for part in parts] == (root / "constraints.txt").read_text().splitlines()
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", part) for part in parts)
    assert "://" not in "".join(parts)


def test_no_pin_is_affected_by_a_known_vulnerability() -> None:
    root = Path(__file__).parents[2]
    snapshot = tomllib.loads(vulnerabilities.SNAPSHOT.read_text())
    assert not vulnerabilities.affected(vulnerabilities.pins((root / "constraints.txt").read_text()), snapshot)
    earlier = vulnerabilities.pins("Jinja2==3.1.5\npydantic==1.7.3 ; python_version < '4'\n")
    old = vulnerabilities.affected(earlier, snapshot)
    assert [line.split(":")[0] for line in old] == ["jinja2 3.1.5", "pydantic 1.7.3"]


def test_a_snapshot_keeps_which_versions_a_record_affects() -> None:
    events = [{"introduced": "0"}, {"fixed": "1.2"}, {"introduced": "2.0"}, {"last_affected": "2.1"}]
    record = {
        "id": "X-1",
        "aliases": ["CVE-1"],
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "Some_Thing"},
                "ranges": [{"type": "ECOSYSTEM", "events": events}],
            },
            {"package": {"ecosystem": "npm", "name": "some-thing"}, "ranges": []},
        ],
    }
    endless = [{"type": "ECOSYSTEM", "events": [{"introduced": "3"}]}]
    package = {"ecosystem": "PyPI", "name": "some-thing"}
    never_fixed = {"id": "X-2", "affected": [{"package": package, "ranges": endless}]}
    withdrawn = {**record, "id": "X-3", "withdrawn": "2026-01-01"}
    snapshot = vulnerabilities.taken([record, never_fixed, withdrawn], {"some-thing"})
    assert [one["id"] for one in snapshot["vulnerability"]] == ["X-1", "X-2"]
    for version, names in {"1.1": ["X-1"], "1.2": [], "2.1": ["X-1"], "2.1.1": [], "3.0": ["X-2"]}.items():
        found = vulnerabilities.affected(vulnerabilities.pins(f"some-thing=={version}"), snapshot)
        assert [line.split()[2] for line in found] == names, version
