"""The demo: a made-up hospital, two releases of its table, checked side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.errors import OutputError
from unveil.hospital import made_up_hospital

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["run_demo"]

RELEASES = {
    "mondrian.csv": ("mondrian:k=5,l=3", "cells widened until 5 patients look alike, with 3 diagnoses among them"),
    "anatomy.csv": ("anatomy:l=4", "cells exact, but which of 4 patients has which of 4 diagnoses is hidden"),
}
# What the summary shows: finding id, in words, and whether a larger number is safer.
SHOWN = (
    ("k_anonymity", "patients who look exactly alike, at least"),
    ("distinct_l", "diagnoses a patient may have, at least"),
    ("alpha_k", "largest share of one diagnosis among them"),
    ("t_closeness", "distance of their diagnoses from the hospital's, at most"),
    ("certainty_penalty", "detail lost in the cells: 0 none, 1 all"),
)


def run_demo(folder: Path, *, seed: int, console: "Console") -> None:
    """Write the hospital, its schema, two releases; print what `check` says of both."""
    from unveil.catalog import anonymizer
    from unveil.check import run_check
    from unveil.engine import Engine
    from unveil.formats.output import csv_bytes, write_whole
    from unveil.formats.releases import read_release, release_files
    from unveil.formats.tables import read_table
    from unveil.schema import read_schema

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
    rows = len(hospital.columns["age"])
    console.print(f"A made-up hospital: {rows} patients; their diagnosis is sensitive, the rest may be known.\n")
    found = {}
    for name, (method, words) in RELEASES.items():
        made = anonymizer(method).anonymize(table, Engine(seed=seed))
        write_whole(release_files(made.release, folder / name))
        found[name] = run_check(read_release(folder / name, schema), name=name)
        console.print(f"{name:<14} {method:<18} {words}")
    console.print(_summary(found))
    console.print("Levels count values. A reader who learns from the table does more (this takes some seconds) …")
    console.print(_attacked(table, {name: read_release(folder / name, schema) for name in RELEASES}, seed))
    console.print(
        "The learner never saw the patient; what the attacker guesses beyond the learner is the price of being in the\n"
        "table. Both readings are lower bounds.\n\n"
        f"The files are in {folder}/. Try it yourself:\n\n"
        f"  unveil check {folder}/mondrian.csv --schema {folder}/schema.toml\n"
        f"  unveil anonymize {folder}/hospital.csv --schema {folder}/schema.toml "
        f"--with mondrian:k=11 -o {folder}/mine.csv\n"
        f"  unveil attack {folder}/anatomy.csv --schema {folder}/schema.toml --original {folder}/hospital.csv\n",
        soft_wrap=True,
    )


def _summary(found: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="\nWhat the releases promise", title_justify="left")
    table.add_column("worst case over all patients")
    for name in found:
        table.add_column(name, justify="right")
    for id, words in SHOWN:
        values = []
        for check in found.values():
            value = next(f.value for f in check.findings if f.id == id)
            values.append(f"{value:.3g}" if isinstance(value, float) else str(value))
        table.add_row(words, *values)
    return table


def _attacked(table: Any, releases: dict[str, Any], seed: int) -> Any:
    """Learner and attacker on each release, side by side."""
    from rich.table import Table

    from unveil import risk
    from unveil.attack import run_attack, targets_of_table
    from unveil.attackers._posterior import Chains
    from unveil.attackers.bayesian import Bayesian
    from unveil.belief import sensitive_attribute
    from unveil.engine import Engine

    rows: dict[str, list[str]] = {}
    for release in releases.values():
        asked = sensitive_attribute(release)
        truth = table.columns[table.index(release.attributes[asked].name)]
        chains = Chains(sweeps=600, burn_in=600, most_sweeps=0)
        targets = targets_of_table(table, release, asked)
        result = run_attack(release, targets, {"bayesian": Bayesian()}, engine=Engine(seed=seed), chains=chains)
        attacker, learner = result.attackers["bayesian"], result.learner
        for words, estimate in (
            ("diagnoses guessed right by one who knows only the population", risk.global_threat(learner, truth)),
            ("… by one who also knows that the patient is in the table", risk.global_threat(attacker, truth)),
            ("patients at least twice as exposed by being in it", risk.relative_threat_share(attacker, learner, truth)),
            ("patients whose diagnosis is believed with 80% or more", risk.confident(attacker, at_least=0.8)),
        ):
            sure = "" if estimate.low == estimate.high else f" ±{50 * (estimate.high - estimate.low):.1f}"
            rows.setdefault(words, []).append(f"{estimate.value:.1%}{sure}")
        agree = attacker.diagnostics.converged and learner.diagnostics.converged
        rows.setdefault("chains agree", []).append("yes" if agree else "NO: do not rely on this")
        largest = max(float(b.diagnostics.facts.get("error_max", 0.0)) for b in (attacker, learner))
        rows.setdefault("error of the belief in one diagnosis, at most", []).append(f"{largest:.1%}")
    shown = Table(title="\nWhat a reader learns", title_justify="left")
    shown.add_column("")
    for name in releases:
        shown.add_column(name, justify="right")
    for words, cells in rows.items():
        shown.add_row(words, *cells)
    return shown
