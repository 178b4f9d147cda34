"""unveil ledger: what has been published about a population."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.command import command, group
from unveil.cli.earlier import distances
from unveil.cli.output import print_text, say
from unveil.errors import UsageError

__all__ = ["ledger_app"]

ledger_app = group("ledger", "Keep track of what was published about a population.")


@dataclass(frozen=True, kw_only=True)
class LedgerFolder:
    """Where the ledger lies."""

    ledger: Path = opt.option("The ledger, a folder that is yours alone.", "FOLDER", default=Path("ledger"))


@dataclass(frozen=True, kw_only=True)
class AddOptions(LedgerFolder, opt.SchemaFile, opt.OneRelease):
    """A release that is out."""

    date: str | None = opt.option("When it was published; today if not given.", "2025-03-01")
    recipient: str | None = opt.option("Who got it.", "TEXT")
    overlap: str = opt.option(
        "Compared with the next release: the same people, a subset, a superset, or overlapping.",
        "RELATION",
        default="same",
    )
    shared: int | None = opt.option("For an overlapping population: how many people are in both.", "N")
    changed: float = opt.option("Probability that a sensitive value has changed since.", "P", default=0.0)
    within: str | None = opt.option("How far its perturbed numbers may have been moved.", "age~5+income~1000")


@command(ledger_app)
def add(options: AddOptions) -> None:
    """Record a published release, with its schema, date and recipient."""
    from unveil.formats.ledger import add_to_ledger

    if options.release is None or options.schema is None:
        missing = "RELEASE" if options.release is None else "--schema FILE"
        raise UsageError(f"{missing} is missing: unveil ledger add RELEASE --schema FILE --ledger FOLDER")
    names = ("date", "recipient", "shared", "changed")
    said: dict[str, Any] = {name: getattr(options, name) for name in names} | {"people": options.overlap}
    said["within"] = distances(options.within)
    entry = add_to_ledger(options.ledger, options.release, options.schema, **said)
    say(f"added {entry.name} of {entry.date} to {options.ledger}")


@command(ledger_app, "list")
def list_(options: LedgerFolder) -> None:
    """List the releases in a ledger."""
    from unveil.formats.ledger import read_ledger

    for entry in read_ledger(options.ledger):
        shared = "" if entry.shared is None else f" ({entry.shared:,} shared)"
        changed = f", values changed with probability {entry.changed:g}" if entry.changed else ""
        to = f", to {entry.recipient}" if entry.recipient else ""
        print_text(f"{entry.date}  {entry.name}  {entry.people} people{shared}{changed}{to}  {entry.sha256[:12]}\n")
