"""Every option that several commands have, declared once. A command's options are a dataclass made of these groups."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from unveil.formats.databases import located

__all__ = [
    "REQUIRED",
    "AlignedRows",
    "AskedAndKnown",
    "AskedOptions",
    "Attackers",
    "ChainLengths",
    "CheckpointOptions",
    "ClusterOption",
    "Config",
    "Control",
    "Data",
    "EngineSettings",
    "KnownOptions",
    "Limits",
    "MemoryBound",
    "OneRelease",
    "Original",
    "Pairing",
    "PeopleOptions",
    "Population",
    "Priors",
    "ReleaseCase",
    "ReleaseDialect",
    "ReleaseRun",
    "Report",
    "ReportAndLimits",
    "Require",
    "SchemaFile",
    "TableDialect",
    "TableRun",
    "Verbose",
    "With",
    "argument",
    "data_option",
    "flag",
    "option",
    "output_option",
]


REQUIRED: Any = object()  # the default of what must be given


def option(help: str, metavar: str | None = None, *names: str, default: Any = None, parser: Any = None) -> Any:
    """A field of a command's dataclass that is an option; `default=list`: it may be repeated."""
    shown = default not in (None, False, list, REQUIRED) and not isinstance(default, Path)
    made = typer.Option(*names, help=help, metavar=metavar, parser=parser, show_default=shown)
    return _field(made, default)


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return _field(typer.Option(name, help=help, show_default=False), False)


def data_option(help: str, *, default: Any = None) -> Any:
    """A table to read: a file, or DATABASE#TABLE. Typer wants one type, so the field's is Any."""
    return option(help, "DATA", default=default, parser=located)


def output_option(help: str, metavar: str = "FILE", *, default: Any = None) -> Any:
    """Where a command that makes one thing writes it."""
    return option(help, metavar, "--output", "-o", default=default)


def argument(help: str, metavar: str | None = None, *, default: Any = None, parser: Any = None) -> Any:
    """A field that is an argument."""
    return _field(typer.Argument(metavar=metavar, help=help, parser=parser, show_default=False), default)


def _field(made: Any, default: Any) -> Any:
    if default is list:
        return field(default_factory=list, metadata={"typer": made})
    return field(metadata={"typer": made}) if default is REQUIRED else field(default=default, metadata={"typer": made})


@dataclass(frozen=True, kw_only=True)
class SchemaFile:
    """What the columns are."""

    schema: Path | None = option("The schema, which says what each column is: schema.toml.", "FILE", "--schema", "-s")


@dataclass(frozen=True, kw_only=True)
class Data:
    """The table that a release is made of."""

    data: Any = argument("The original table: a file, or DATABASE#TABLE.", "DATA", parser=located)


@dataclass(frozen=True, kw_only=True)
class OneRelease:
    """The release that is read."""

    release: Path | None = argument("The published table.", "RELEASE")


@dataclass(frozen=True, kw_only=True)
class Original:
    """The table that a release was made of."""

    original: Any = data_option("The original table: a file, or DATABASE#TABLE.")


@dataclass(frozen=True, kw_only=True)
class TableDialect:
    """How the original and other tables are written."""

    delimiter: str | None = option("Column delimiter of tables; detected if not given.", "CHARACTER")
    decimal: str | None = option("Decimal mark of tables: . or ,", "CHARACTER")
    encoding: str | None = option("Encoding of tables: utf-8, utf-16 or cp1252; detected if not given.", "ENCODING")


@dataclass(frozen=True, kw_only=True)
class ReleaseDialect:
    """How releases are written, which may come from another tool."""

    release_delimiter: str | None = option("Column delimiter of releases.", "CHARACTER")
    release_decimal: str | None = option("Decimal mark of releases.", "CHARACTER")
    release_encoding: str | None = option("Encoding of releases.", "ENCODING")
    cells: list[str] = option(
        "How cells are written, if ambiguous: value, interval, range, bound, list, mask, prefix, suppressed; "
        "repeatable.",
        "[ATTRIBUTE=]NOTATION",
        default=list,
    )


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Whose row is whose."""

    assignment: list[Path] = option(
        "Which original row went where, as written by anonymize --assignment; one file per release, in the same order.",
        "FILE",
        default=list,
    )
    key: str | None = option(
        "A column in both files that says whose row is whose; no attacker sees it, and it must not be published.",
        "COLUMN",
    )


@dataclass(frozen=True, kw_only=True)
class AlignedRows:
    """The same, where rows kept their order."""

    aligned: bool = flag("--aligned", "Row i of the release is row i of the original.")


@dataclass(frozen=True, kw_only=True)
class Control:
    """People outside."""

    control: Any = data_option("People known not to be in the original.")


@dataclass(frozen=True, kw_only=True)
class Population:
    """People around."""

    population: Any = data_option("A table of the population in which an attacker may look people up.")


@dataclass(frozen=True, kw_only=True)
class AskedOptions:
    """What is asked about."""

    asked: list[str] = option("The attributes to guess, or all sensitive ones. Repeatable.", "A,B", default=list)


@dataclass(frozen=True, kw_only=True)
class KnownOptions:
    """What an attacker knows of a person."""

    known: list[str] = option("What an attacker knows of a person, or all quasi-identifiers.", "A,B", default=list)


@dataclass(frozen=True, kw_only=True)
class Priors:
    """What an attacker believes before reading."""

    wrong: float = option("Probability that a known attribute is wrong.", default=0.0)
    alpha: float = option("Prior pseudo-count of each sensitive value.", default=1.0)
    beta: float = option("Prior pseudo-count of each other value.", default=1.0)
    smooth: list[str] = option(
        "Tie neighbouring values of an ordered attribute; repeatable.", "ATTRIBUTE=BANDWIDTH", default=list
    )
    prior: Path | None = option("Pseudo-counts of single values, a CSV: attribute,value,given,count.", "FILE")


@dataclass(frozen=True, kw_only=True)
class Attackers:
    """Who reads the release."""

    attacker: list[str] = option(
        "bayesian, random_worlds …; repeatable. unveil attack attribute --help lists them.",
        "NAME:options",
        default=list,
    )


@dataclass(frozen=True, kw_only=True)
class ChainLengths:
    """How long chains run."""

    chains: int = option("How many chains, where sampling is needed.", default=4)
    sweeps: int = option("Sweeps of the first round; chains run on until they are precise.", default=1000)
    most_sweeps: int | None = option("At most this many sweeps of each chain; 16,000 if not given.")
    precision: float | None = option(
        "Stop when the Monte-Carlo error of 99% of probabilities is below this; 0.003 if not given."
    )


@dataclass(frozen=True, kw_only=True)
class MemoryBound:
    """How much memory a command may use."""

    memory: str | None = option("Stop with an error if more memory than this may be needed, e.g. 8G.", "SIZE")


@dataclass(frozen=True, kw_only=True)
class ClusterOption:
    """Where the work is done."""

    cluster: str | None = option(
        "Read and count part by part on a Dask cluster: a scheduler, or processes here, local:workers=4,memory=2GB.",
        "ADDRESS",
    )


@dataclass(frozen=True, kw_only=True)
class EngineSettings(MemoryBound):
    """How the work is done."""

    seed: int = option("Random seed: the same seed gives the same figures.", default=0)
    workers: int | None = option("Number of threads; all cores if not given.")


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """Where long work is saved."""

    checkpoint: Path | None = option(
        "Save progress in this folder and resume from it. Keep it secret; removed when done.", "FOLDER"
    )


@dataclass(frozen=True, kw_only=True)
class Require:
    """What an anonymizer must keep."""

    require: list[str] = option(
        "A privacy model to satisfy, e.g. t_closeness:t=0.2; repeatable.", "MODEL:options", default=list
    )


@dataclass(frozen=True, kw_only=True)
class With(Require):
    """How a release is made."""

    with_: str | None = option("The anonymizer, e.g. mondrian:k=5,l=3.", "NAME:options", "--with")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is still acceptable."""

    limit: list[str] = option(
        "A limit on a measure, e.g. 'relative_threat.max <= 10'; repeatable.", "'ID <= NUMBER'", default=list
    )


@dataclass(frozen=True, kw_only=True)
class Verbose:
    """How much is printed."""

    verbose: bool = flag("--verbose", "Print every finding instead of one screen.")


@dataclass(frozen=True, kw_only=True)
class Report(Verbose):
    """The document and its page."""

    report: Path | None = option("Write the report as one HTML file.", "FILE")
    language: str = option("The report's language: en, de or fr.", "CODE", default="en")
    json: Path | None = option("Write the document as JSON; - for standard output.", "FILE")
    junit: Path | None = option("Write what was judged as JUnit XML, for a pipeline.", "FILE")
    sarif: Path | None = option("Write what was not a pass as SARIF 2.1.0, for a code host.", "FILE")


@dataclass(frozen=True, kw_only=True)
class PeopleOptions:
    """Results that name people."""

    people: Path | None = option("Findings on each person (.csv, .parquet, .arrow, .xlsx): it names people.", "FILE")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The same options from a file."""

    config: Path | None = option(
        "A TOML file of options by the same names; options given here take precedence.", "FILE"
    )


@dataclass(frozen=True, kw_only=True)
class ReleaseCase(TableDialect, ReleaseDialect, Config, Original, SchemaFile):
    """What every command that reads a release needs beside it."""


@dataclass(frozen=True, kw_only=True)
class ReleaseRun(ReleaseCase, EngineSettings):
    """What every attack on a release needs."""


@dataclass(frozen=True, kw_only=True)
class TableRun(Config, TableDialect, CheckpointOptions, EngineSettings):
    """What every long run that makes releases of a table needs."""


@dataclass(frozen=True, kw_only=True)
class ReportAndLimits(Report, Limits):
    """What is still acceptable, and where the answer goes."""


@dataclass(frozen=True, kw_only=True)
class AskedAndKnown(AskedOptions, KnownOptions):
    """What is asked about, and what an attacker knows."""
