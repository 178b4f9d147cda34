"""Documents as the pages show them."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup

from unveil.audit.document import Document
from unveil.errors import UsageError
from unveil.report import read_document, render_sections
from unveil.studio.folder import Folder

__all__ = ["Drawn", "drawn_of", "repairs_of", "who_is_in"]

MOST_ROWS = 200  # people who are listed


@dataclass(frozen=True, slots=True)
class Drawn:
    """A document, its sections as HTML, that of the frontier's chart apart, and all charts."""

    document: Document
    html: Markup
    frontier: Markup
    charts: Markup


def drawn_of(folder: Folder, name: str, language: str) -> Drawn | None:
    """A document of the folder; None if it is not there."""
    try:
        held = json.loads((folder.path / name).read_text("utf-8"))
    except OSError:
        return None
    except ValueError:
        raise UsageError(f"{Path(name).name}: not a document of unveil") from None
    read = read_document(held)
    return Drawn(read, *render_sections(read, "chart", language))


def repairs_of(document: Document) -> list[dict[str, Any]]:
    """What an audit advises where a limit is exceeded, as what an anonymizer is to be given."""
    import shlex

    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for release, one in document.diagnostics.get("judgement", {}).items():
        for row in one["kinds"]:
            for text in (row["command"], row["fix"].partition(": unveil ")[2]):
                words = shlex.split(text.removeprefix("unveil ")) if row["verdict"] == "exceeded" and text else []
                pairs = list(pairwise(words))
                given = {key: [b for a, b in pairs if a == key] for key in ("--with", "--require", "--leave-out")}
                if words[:1] != ["anonymize"] or len(given["--with"]) != 1:
                    continue
                key = (*given["--with"], *given["--require"], *(f"-{name}" for name in given["--leave-out"]))
                found.setdefault(key, {"release": release, "kind": row["kind"], **{k[2:]: v for k, v in given.items()}})
    return list(found.values())


def who_is_in(
    folder: Folder, name: str, document: Document, release: int, attribute: int, reader: str, ends: tuple[float, ...]
) -> list[int]:
    """Rows of the original whose people a reader believes this of: belief in the truth, the learner's and the reader's.

    From the people file that the audit wrote beside its document. `ends`: learner from, to, reader from, to.
    """
    import polars as pl

    try:
        of = document.settings["releases"][release]
        asked = list(document.charts[of])[attribute]
    except (IndexError, KeyError):
        raise UsageError("there is no such release or attribute in the document") from None
    several = len(document.settings["releases"]) > 1
    start = f"{Path(name).stem}-{Path(of).stem}" if several else Path(name).stem
    for file in sorted((folder.path / "people").glob("*.csv")):
        if file.stem != start and not file.stem.startswith(f"{start}-"):
            continue
        frame = pl.read_csv(file, infer_schema=False)
        if frame.height and frame["attribute"][0] == asked:
            break
    else:
        raise UsageError("the audit wrote no people file; run it again")
    rows = frame.to_dicts()
    first = next(iter(document.settings["attackers"]), reader)
    found = []
    for row in rows:
        own = row.get("attacker_belief") if reader == first else row.get(f"{reader}:{row['truth']}")
        learner = row.get("learner_belief")
        if own is None or learner is None:
            continue
        low, high, least, most = ends
        if low <= float(learner) <= high and least <= float(own) <= most:
            found.append(int(row["row"]))
    return found
