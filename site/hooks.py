"""What the site holds beside docs/: the pages at the top of the repository, and a reference made from the program."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from unveil.audit.measures import measures

ROOT = Path(__file__).resolve().parents[1]
VERBS = "schema hierarchy anonymize check audit ledger attack frontier studio list doctor demo"


def on_files(files: Any, config: Any) -> Any:
    """Pages that do not lie in docs/."""
    pages = {"index.md": ROOT / "README.md", "examples/README.md": ROOT / "examples" / "README.md"}
    pages |= {name: ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE")}
    made = {name: path.read_text() for name, path in pages.items()}
    made |= {f"examples/{path.stem}.md": notebook(path) for path in (ROOT / "examples").glob("*.ipynb")}
    made |= {"reference/commands.md": commands(), "reference/measures.md": reference()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Links as they hold in the site: pages lie one folder higher, and notebooks are pages."""
    text = text.replace(".ipynb)", ".md)")
    return re.sub(r"\]\((?:docs/|\.\./(?=[A-Z]))", "](", text)


def notebook(path: Path) -> str:
    """A notebook as a page."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ("".join(cell["source"]) for cell in cells)
    kinds = (cell["cell_type"] for cell in cells)
    return "\n\n".join(f"```python\n{t}\n```" if k == "code" else t for k, t in zip(kinds, texts, strict=True))


def commands() -> str:
    """Every command's help."""
    words = ["# Commands", "What an exit code means: [a gate in a pipeline](../gate.md)."]
    for verb in VERBS.split():
        shown = subprocess.check_output([sys.executable, "-m", "unveil", verb, "--help"], text=True)
        words += [f"## {verb}", f"```text\n{shown.replace('python -m unveil', 'unveil')}```"]
    return "\n\n".join(words) + "\n"


def reference() -> str:
    """Every measure of the registry, by what it is about."""
    words = ["# Measures", "Name them in `--limit 'NAME <= NUMBER'`; `unveil list measures` prints the same."]
    for kind in dict.fromkeys(found.kind for found in measures().values()):
        rows = ["| measure | | source |", "|---|---|---|"]
        for found in measures().values():
            if found.kind == kind:
                name = f"[`{found.name}`](../{found.page.removeprefix('docs/')})"
                rows.append(f"| {name} | **{found.title}.** {found.words} | {found.source} |")
        words += [f"## {kind.capitalize()}", "\n".join(rows)]
    return "\n\n".join(words) + "\n"
