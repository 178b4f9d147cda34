"""The demo: a made-up hospital, two releases of its table, audited side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unveil.cli.options as opt
from unveil.cli.hospital import made_up_hospital
from unveil.cli.output import console as terminal
from unveil.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["LIMITS", "RELEASES", "DemoOptions", "demo", "run_demo"]

RELEASES = {
    "mondrian.csv": (
        "mondrian:k=5,l=3,recoding=order",
        "cells widened until 5 patients look alike, with 3 diagnoses among them",
    ),
    "anatomy.csv": ("anatomy:l=4", "cells exact, but which of 4 patients has which of 4 diagnoses is hidden"),
}
# Limits as a hospital might state them: few more right guesses, few people of whom someone is sure.
LIMITS = ("bayesian.relative_global_threat <= 0.15", "bayesian.confident.80 <= 0.2")
SURE = 0.95  # what both releases together make of a reader
SWEEPS, PRECISION = 400, 0.03  # a coarser precision than the usual: the demo is to be quick
FOLDS, REPEATS = 5, 2  # half of what is usual, too


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of the demo."""

    output: Path = opt.output_option(
        "Where the files go; unveil-demo if not given.", "FOLDER", default=Path("unveil-demo")
    )
    seed: int = opt.option("Seed of the made-up patients and of the anonymizers.", default=0)


def demo(options: DemoOptions) -> None:
    """Run everything on made-up hospital data.

    Two releases of one table, audited side by side.
    """
    run_demo(options.output, seed=options.seed, console=terminal())


def run_demo(folder: Path, *, seed: int, console: "Console") -> None:
    """Write the hospital, its schema, two releases, their audit; print what the audit says."""
    from unveil.attackers.bayesian import Bayesian
    from unveil.attackers.boosted import Boosted
    from unveil.attackers.posterior.contract import Chains
    from unveil.attackers.random_worlds import RandomWorlds
    from unveil.audit import run_audit
    from unveil.audit.document import describe_inputs
    from unveil.catalog import anonymizer
    from unveil.data.schema import read_schema
    from unveil.engine import Engine
    from unveil.formats.output import csv_bytes, write_whole
    from unveil.formats.releases import read_release, release_files
    from unveil.formats.tables import read_columns, read_table
    from unveil.report import print_document, render_page
    from unveil.risk.published_file import read_published_file

    hospital = made_up_hospital(seed=seed)
    hierarchies = folder / "hierarchies"
    try:
        hierarchies.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror}); choose another folder with --output") from None
    files: dict[Any, Any] = {
        folder / "hospital.csv": csv_bytes(list(hospital.columns), list(hospital.columns.values())),
        folder / "schema.toml": hospital.schema_toml.encode(),
        **{hierarchies / name: text.encode() for name, text in hospital.hierarchies.items()},
    }
    write_whole(files)
    schema = read_schema(folder / "schema.toml").confirmed()
    table = read_table(folder / "hospital.csv", schema)
    console.print(f"A made-up hospital: {table.rows} patients; their diagnosis is sensitive, the rest may be known.\n")
    releases = {}
    for name, (method, words) in RELEASES.items():
        made = anonymizer(method).anonymize(table, Engine(seed=seed))
        write_whole(release_files(made.release, folder / name))
        releases[name] = read_release(folder / name, schema, attributes=table.attributes)
        console.print(f"{name:<14} {method:<18} {words}")
    console.print("\nReading both, as an attacker and as somebody who is not told who is in them (a few seconds) …\n")
    found = run_audit(
        releases,
        original=table,
        attackers={
            "bayesian": Bayesian(),
            "boosted": Boosted(folds=FOLDS, repeats=REPEATS),
            "random_worlds": RandomWorlds(),
        },
        chains=Chains(sweeps=SWEEPS, burn_in=SWEEPS, most_sweeps=1600, precision=PRECISION),
        engine=Engine(seed=seed),
        limits=LIMITS,
        files={
            name: read_published_file(folder / name, schema, original=read_columns(folder / "hospital.csv"))
            for name in releases
        },
        release_type="public",
        recipient="anyone",
        inputs=describe_inputs(
            [folder / "hospital.csv", folder / "schema.toml", *(folder / name for name in releases)]
        ),
    )
    outputs: dict[Any, Any] = {
        folder / "audit.json": (found.document.model_dump_json(indent=2) + "\n").encode(),
        folder / "report.html": render_page(found.document).encode(),
    }
    write_whole(outputs)
    print_document(found.document, console, report=folder / "report.html")
    judged = found.document.diagnostics["judgement"]
    exceeded = {name: sum(row["verdict"] == "exceeded" for row in one["kinds"]) for name, one in judged.items()}
    safer = min(exceeded, key=lambda name: exceeded[name])
    console.print(
        f"\n{safer} gives away less, but neither may be published as it is. The commands below make one that may be."
        if all(exceeded.values())
        else f"\nPublish {safer}."
    )
    console.print(_together(table, releases))
    console.print(
        f"\nWrote {' and '.join(str(path) for path in outputs)}. The other files are in {folder}/. Try it yourself:\n\n"
        f"  unveil check {folder}/mondrian.csv --schema {folder}/schema.toml\n"
        f"  unveil anonymize {folder}/hospital.csv --schema {folder}/schema.toml "
        f"--with mondrian:k=20 --require t_closeness:t=0.3 -o {folder}/mine.csv\n"
        f"  unveil audit {folder}/mine.csv --schema {folder}/schema.toml "
        f"--original {folder}/hospital.csv\n",
        soft_wrap=True,
    )


def _together(table: Any, releases: Any) -> str:
    """What publishing both would tell: the second release breaks the first."""
    from unveil.data.belief import sensitive_attribute
    from unveil.data.targets import targets_of_table
    from unveil.risk.composition import ReleaseView, weave

    asked = [sensitive_attribute(release) for release in releases.values()]
    views = [
        ReleaseView(name, release, targets_of_table(table, release, index))
        for (name, release), index in zip(releases.items(), asked, strict=True)
    ]
    values = table.attributes[asked[0]].codes
    own = table.columns[asked[0]]
    sure = [
        int((weave(some, values).beliefs().probability[range(table.rows), own] >= SURE).sum())
        for some in (views[:1], views[1:], views)
    ]
    return (
        f"If both were published, a reader would be {SURE:.0%} sure of the diagnosis of {sure[2]:,} patients; "
        f"from either alone, of {sure[0]:,} and {sure[1]:,}. See docs/composition.md."
    )
