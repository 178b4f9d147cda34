"""What options say of a run, without reading a table: names, dialects, attackers, engine, chains, priors, waivers."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from unveil.errors import UsageError, shown

__all__ = [
    "answered",
    "attackers_of",
    "chains_of",
    "cluster_of",
    "dialect_of",
    "engine_of",
    "names_of",
    "one_name",
    "one_of",
    "one_set",
    "stated",
    "waivers_of",
]

PLAIN = ("wrong", "alpha", "beta", "joint", "panel", "sample", "preset", "release_type", "recipient", "variant")


def names_of(texts: Sequence[str]) -> list[str] | None:
    """The names of an option A,B that may be repeated; None if it was not given."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()] if texts else None


def one_name(texts: Sequence[str]) -> str | None:
    """What is asked about, where it is one attribute."""
    names = names_of(texts) or []
    if len(names) > 1:
        raise UsageError("--asked: an attack is about one attribute; unveil audit asks about several")
    return names[0] if names else None


def one_set(texts: Sequence[str]) -> list[str] | None:
    """What is known, where one set is tested."""
    if len(texts) > 1:
        raise UsageError("--known is given twice; unveil audit tests several sets, an attack one")
    return names_of(texts)


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not among those allowed."""
    if value not in allowed:
        raise UsageError(f"{option} {shown(value)}: choose one of {', '.join(allowed)}")


def dialect_of(options: Any, of: str = "") -> dict[str, Any]:
    """How tables are written; `of`: `release_`, how releases are."""
    return {name: getattr(options, f"{of}{name}") for name in ("delimiter", "decimal", "encoding")}


def attackers_of(texts: Iterable[str]) -> dict[str, Any]:
    """The attackers NAME:options, each by its text as it is written; options from a file without the file's folder."""
    from unveil.catalog import attacker, parse

    attackers: dict[str, Any] = {}
    for text in texts:
        made, (name, _) = attacker(text), parse(text)
        text = f"{name}:@{Path(text).name}" if text.startswith(f"{name}:@") else text
        if text in attackers:
            raise UsageError(f"--attacker {shown(text)} is given twice; keep one")
        attackers[text] = made
    return attackers


@contextmanager
def cluster_of(options: Any) -> Iterator[Any]:
    """A client of the cluster that --cluster names, for as long as this lasts; None without it."""
    text = options.cluster
    if text is None:
        yield None
        return
    from unveil.formats.columns import needed

    needed("distributed", "cluster", "--cluster: to work on a Dask cluster", UsageError)
    from unveil.cluster import connected, local_cluster

    if "://" in text:
        with connected(text) as client:
            yield client
        return
    from unveil.catalog import parse
    from unveil.cli.memory import memory_size
    from unveil.engine import free_bytes

    name, said = parse(text)
    wrong = [key for key in said if key not in ("workers", "memory")]
    workers = str(said.get("workers", os.cpu_count() or 1))
    if name != "local" or wrong or not (workers.isascii() and workers.isdigit() and 1 <= int(workers) <= 1024):
        raise UsageError(
            f"--cluster {shown(text)}: write tcp://HOST:8786, tls://HOST:8786 or local:workers=4,memory=2GB"
        )
    size = str(said.get("memory", f"{(free_bytes() or 2**32) * 0.8 / int(workers):.0f}B"))
    with local_cluster(int(workers), memory_size(size, "--cluster memory")) as client:
        yield client


def engine_of(options: Any, cluster: Any = None) -> Any:
    """The engine that options ask for; all cores if they do not say how many."""
    from unveil.engine import Engine

    workers = getattr(options, "workers", None)
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: at least one thread is needed")
    engine = Engine(seed=getattr(options, "seed", 0), checkpoints=getattr(options, "checkpoint", None), cluster=cluster)
    return engine if workers is None else replace(engine, workers=workers)


def chains_of(options: Any) -> Any:
    """How long chains run."""
    from unveil.attackers.posterior.contract import Chains

    given = {"precision": options.precision, "most_sweeps": options.most_sweeps}
    more = {name: number for name, number in given.items() if number is not None}
    return Chains(chains=options.chains, sweeps=options.sweeps, burn_in=options.sweeps, **more)


def waivers_of(texts: Sequence[str]) -> dict[str, str]:
    """KIND='why', by kind."""
    found = {}
    for text in texts:
        kind, sign, reason = text.partition("=")
        if not sign:
            raise UsageError(f"--waive {shown(text)}: write KIND='why', for instance membership='public register'")
        found[kind.strip()] = reason.strip().strip("'\"")
    return found


def stated(options: Any) -> dict[str, Any]:
    """What a command's own options say of the case, without reading a table."""
    from unveil.audit import read_presets

    found: dict[str, Any] = {}
    for name in PLAIN:
        if hasattr(options, name):
            found[name] = getattr(options, name)
    found |= {"least_count": options.least_count} if hasattr(options, "least_count") else {}
    if hasattr(options, "release_type"):
        one_of("--release-type", options.release_type, ("not stated", "public", "controlled", "internal"))
        one_of("--variant", options.variant, ("internal", "external"))
    if hasattr(options, "limit"):
        found["limits"] = options.limit
    if hasattr(options, "attacker"):
        found["attackers"] = attackers_of(options.attacker) or None
    if hasattr(options, "asked"):
        found["asked"] = names_of(options.asked)
    sets = [names_of([text]) or [] for text in getattr(options, "known", ())]
    found |= {"known": sets[0]} if len(sets) == 1 else {"combinations": sets}
    if hasattr(options, "chains"):
        found["chains"] = chains_of(options)
    if hasattr(options, "background"):
        found["background"] = _background(options.background)
    if hasattr(options, "presets"):
        found["presets"] = read_presets(options.presets)
    if getattr(options, "smooth", None) or getattr(options, "prior", None) is not None:
        found["prior"] = _prior(options)
    return found


def answered(options: Any, schema: Any) -> dict[str, Any]:
    """What only the steward can know, as the schema answers it."""
    from unveil.audit import MembershipQuestion

    said = schema.document
    sensitive = None if said.membership is None else said.membership == "sensitive"
    return {
        "membership": MembershipQuestion(sensitive, getattr(options, "membership_prior", None)),
        "earlier_releases": said.earlier_releases,
        "population_register": said.population_register,
    }


def _prior(options: Any) -> Any:
    """The population's prior for a release and the attribute asked about."""

    def prior_of(release: Any, asked: int) -> Any:
        from unveil.data.belief import Prior
        from unveil.data.smoothing import bandwidths
        from unveil.formats.priors import read_prior

        tied = bandwidths(options.smooth, release.attributes)
        held = Prior.uninformative(release, asked, alpha=options.alpha, beta=options.beta, smooth=tied)
        if options.prior is None:
            return held
        read = read_prior(options.prior, release, asked, alpha=options.alpha, beta=options.beta)
        return replace(read, smooth=held.smooth)

    return prior_of


def _background(text: str) -> Any:
    """auto, None, or what exactly is asked."""
    from unveil.audit.background import Background
    from unveil.catalog import make, parse

    if text in ("auto", "no"):
        return "auto" if text == "auto" else None
    name, options = parse(text)
    if name != "yes":
        raise UsageError(f"--background {shown(text)}: choose auto, no, yes or yes:bandwidths=0.1+0.3,t=0.2,l=3")
    return make(Background, options, "background")
