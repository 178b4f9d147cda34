"""Whatever else is read, spoilt: releases of every form, files beside a table, settings, texts of options, checkpoints.

An answer or an UnveilError of one line, never another exception. Few examples by default; `make fuzz` runs thousands.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoilt import BITS, cells, spoilt
from typer.testing import CliRunner

from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.posterior.checkpoint import Checkpoint
from unveil.audit import code_people
from unveil.audit.limits import check_limits, parse_limit, read_presets
from unveil.audit.membership_trial import run_membership
from unveil.catalog import anonymizer, privacy_model
from unveil.cli import app
from unveil.cli.audit import AuditOptions
from unveil.cli.command import read_config
from unveil.cli.frontier import FrontierOptions
from unveil.engine import Engine
from unveil.errors import OutputError, UnveilError, UsageError
from unveil.formats.databases import located
from unveil.formats.priors import read_fact, read_held
from unveil.formats.releases import read_release
from unveil.formats.releases.assignments import read_assignment
from unveil.formats.tables import read_columns
from unveil.frontier._saved import SavedCandidates
from unveil.frontier.schemes import parse_scheme
from unveil.privacy.knowledge.facts import Facts
from unveil.risk.differential.procedure import SavedProgress
from unveil.risk.differential.sanitizers import parse_sweep
from unveil.risk.linkage.register import read_mapping, register_of_file
from unveil.risk.membership.trial import scores_of_predictions

FEW = None if settings().max_examples > 1000 else 40  # the fuzz profile keeps its thousands
some = settings(max_examples=FEW) if FEW else settings()

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}},
        "day": {"role": QI, "kind": "date", "missing": "category"},
        "zip": {"role": QI, "domain": ["45501", "45502", "46001"]},
        "s": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    },
    {"zip": [("45501", "4550*", "*"), ("45502", "4550*", "*"), ("46001", "4600*", "*")]},
    missing=["NA"],
)
TABLE = made_table(
    SCHEMA,
    (20, "2024-01-31", "45501", "flu"),
    (21, "2024-02-01", "45502", "hiv"),
    (29, "NA", "46001", "none"),
    (29, "2023-12-31", "46001", "flu"),
)
SICK = TABLE.attributes[-1]
PAIRS = anonymizer("mondrian:k=2").anonymize(TABLE, Engine(seed=0)).release
CELLS = np.stack(TABLE.columns[:3], axis=1)


@dataclass(frozen=True)
class Input:
    """A good file by its name, what may stand beside it, and who reads it."""

    name: str
    content: str
    reads: Callable[[Path], object]
    beside: dict[str, str] = field(default_factory=dict)


def _release(path: Path) -> object:
    return read_release(path, SCHEMA, attributes=TABLE.attributes)


def _people(path: Path) -> object:
    mapping = path.with_name("mapping.toml")
    naming = read_mapping(mapping) if mapping.is_file() else None
    columns = read_columns(path, error=UsageError)
    return register_of_file(columns, TABLE.attributes, name=path.name, naming=naming, rows=4)


def _taxonomy(path: Path) -> object:
    done = CliRunner().invoke(app, ["hierarchy", "taxonomy", str(path)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


MAPPING = 'row = "number"\n[attributes]\nage = "years"\n[values.s]\nsick = "flu"\nill = "hiv"\n'
CLUB = "number,years,zip,s\n1,20,4550*,sick\n4,29,,none\n"
INPUTS = {
    "intervals": Input("r.csv", 'age,zip,s\n"[20,24]",4550*,flu\n"[20,24]",4550*,hiv\n25-29,*,none\n', _release),
    "bounds": Input(
        "r.csv", "age,day,s\n<25,>= 2024-01-31,flu\n≤24,2023-12-31..2024-02-01,hiv\n≥ 25,NA,none\n", _release
    ),
    "lists": Input("r.csv", "age,zip,count\n\"['20', '21']\",\"{45501,45502}\",2\n29,46001,00002\n", _release),
    "open ends": Input("r.csv", 'age;zip;s\n[20, 25[;455**;"flu,hiv"\n"]24; 29]";46001;none\n', _release),
    "two tables": Input(
        "r.csv",
        "g,age,zip\n1,20,45501\n1,21,45502\n2,29,46001\n2,29,46001\n",
        _release,
        {
            "r.toml": 'group = "g"\nblocks = [["age", "zip"], ["s"]]\nsensitive_table = "s.csv"\n',
            "s.csv": "g,s,count\n1,flu,1\n1,hiv,1\n2,none,2\n",
        },
    ),
    "masked": Input(
        "r.csv",
        "age,day,s\n20.5,2024-01-31,flu\n-7,*,hiv\n1e2,2024-02-01,*\n",
        lambda path: read_release(path, SCHEMA, attributes=TABLE.attributes),
        {"r.toml": 'masked = ["age", "s"]\nmethod = "m"\n[channel]\ns = [[1, 0, 0], [0, 0.5, 0.5], [0.1, 0, 0.9]]\n'},
    ),
    "people": Input("club.csv", CLUB.replace("number,years", "row,age").replace("sick", "flu"), _people),
    "people by other names": Input("club.csv", CLUB, _people, {"mapping.toml": MAPPING}),
    "control": Input(
        "c.csv",
        "age,day,zip,s\n20,2024-01-31,46001,hiv\n21,NA,45501,flu\n",
        lambda path: code_people(read_columns(path), TABLE.attributes, path.name),
    ),
    "beliefs": Input(
        "held.csv", "flu,hiv,none\n0.5,0.25,0.25\n1,,\n0,1,0\n.1,.1,.8\n", lambda p: read_held(p, SICK, 4)
    ),
    "fact": Input("fact.csv", "row,fact\n1,yes\n3,no\n4,\n", lambda path: read_fact(path, 4)),
    "fact of others": Input("fact.csv", "age,s,fact\n20,flu,yes\n29,hiv,no\n", lambda path: read_fact(path, 4)),
    "assignment": Input("a.csv", "row,group\n1,1\n2,1\n3,2\n4,2\n", lambda path: read_assignment(path, TABLE, PAIRS)),
    "predictions": Input(
        "p.csv",
        "member,score\n" + "1,0.9\n0,0.25\n1,0.5\n0,1e-3\n" * 3,
        lambda path: run_membership(scores_of_predictions(read_columns(path), name="p.csv"), seed=1),
    ),
    "chances": Input(
        "p.csv",
        "member,label,a,b\nyes,a,0.9,0.1\nno,b,0.5,0.5\n",
        lambda p: scores_of_predictions(read_columns(p), name="p"),
    ),
    "taxonomy": Input("t.csv", "child,parent\nflu,lung\nasthma,lung\nlung,any\nmigraine,head\nhead,any\n", _taxonomy),
    "presets": Input(
        "presets.toml",
        '[ours]\nwords = "w"\nsource = "s"\nlimits = ["k_anonymity >= 5", "accuracy - learner.accuracy < .1"]\n',
        read_presets,
    ),
    "audit settings": Input(
        "audit.toml",
        'schema = "s.toml"\nreleases = ["a.csv"]\nknown = ["age,zip"]\noriginal = "sqlite:///a.db#t"\n'
        "precision = 0.02\nseed = 7\njoint = true\nmost-sweeps = 1000\n",
        lambda path: read_config(path, AuditOptions),
    ),
    "frontier settings": Input(
        "sweep.toml",
        'with = ["mondrian:k=2+5"]\nlimit = ["k_anonymity >= 2"]\nminutes = 1.5\nbudget = 9\n',
        lambda path: read_config(path, FrontierOptions),
    ),
    "options": Input("o.toml", 'k = 5\nsuppress = 0.05\nrecode = "x"\n', lambda path: anonymizer(f"mondrian:@{path}")),
    "statement": Input("q.sql", "SELECT age FROM t -- all of them\n;", lambda path: located(f"sqlite:///a.db#@{path}")),
}


def _fault(reads: Callable[[], object]) -> str | None:
    """What an UnveilError says, in one line; any other error ends the test."""
    said = None
    try:
        reads()
    except UnveilError as error:
        said = str(error)
    assert said is None or (said and "\n" not in said)
    return said


@pytest.mark.parametrize("name", INPUTS)
@some
@given(data=st.data())
def test_any_input(data: st.DataObject, name: str) -> None:
    good = INPUTS[name]
    files = {good.name: good.content, **good.beside}
    chosen = data.draw(st.sampled_from(sorted(files)))
    with tempfile.TemporaryDirectory() as folder:
        for file, content in files.items():
            raw = content.encode()
            (Path(folder) / file).write_bytes(data.draw(spoilt(raw)) if file == chosen else raw)
        _fault(lambda: good.reads(Path(folder) / good.name))


@pytest.mark.parametrize("name", INPUTS)
def test_good_inputs_are_read(name: str, tmp_path: Path) -> None:
    """Or else the test above would show nothing."""
    good = INPUTS[name]
    for file, content in {good.name: good.content, **good.beside}.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    said = _fault(lambda: good.reads(tmp_path / good.name))
    assert said is None or name == "options", said
    assert name != "options" or "no option" in str(said) or "unknown option" in str(said)


@pytest.mark.parametrize("name", ["people", "fact", "assignment"])
@pytest.mark.parametrize("number", ["00000000000199", "1" * 5000, "0", "٣"])
def test_row_numbers_are_looked_at_whole(name: str, number: str, tmp_path: Path) -> None:
    good = INPUTS[name]
    (tmp_path / good.name).write_text(good.content.replace("\n1,", f"\n{number},"), encoding="utf-8")
    said = _fault(lambda: good.reads(tmp_path / good.name))
    assert said is not None
    assert " is no row" in said or " is not a row" in said


TEXTS: dict[str, tuple[str, Callable[[str], object]]] = {
    "limit": (
        "bayesian.global_threat - learner.global_threat <= 0.25",
        lambda t: check_limits([t], ["bayesian"], ["flu"]),
    ),
    "limit of a value": ("global_threat.value:a - b > 1e-3", parse_limit),
    "model": ("t_closeness:t=0.2,distance=ordered", privacy_model),
    "anonymizer": ("full_domain:k=5,suppress=0.05", lambda t: anonymizer(t, ["t_closeness:t=0.2"])),
    "scheme": ("mondrian:k=2+5 distinct_l:l=2+3", lambda t: list(parse_scheme(t, ["k_anonymity:k=2"]).candidates())),
    "sweep": ("k=2+4.5+1e3", parse_sweep),
    "fact": ("age=[20,24] & zip={45501,46001} has s=flu 0.4", lambda t: Facts(say=(t,)).prior(TABLE).of(CELLS)),
}


@pytest.mark.parametrize("kind", TEXTS)
@some
@given(data=st.data())
def test_any_text_of_an_option(data: st.DataObject, kind: str) -> None:
    good, reads = TEXTS[kind]
    broken = spoilt(good.encode()).map(lambda raw: raw.decode(errors="replace"))
    text = data.draw(
        st.one_of(broken, cells, st.lists(st.one_of(BITS, st.sampled_from(good.split())), max_size=8).map("".join))
    )
    _fault(lambda: reads(text))


@pytest.mark.parametrize("kind", TEXTS)
def test_good_texts_are_read(kind: str) -> None:
    good, reads = TEXTS[kind]
    assert _fault(lambda: reads(good)) is None


def _chains(folder: Path) -> object:
    return Checkpoint(folder / "unveil-1.npz").load()


def _records(folder: Path) -> object:
    engine = Engine(seed=0, checkpoints=folder)
    found = SavedProgress.start(engine, ("asked",), [np.arange(3)], np.full((4, 2), 0.5), draws=2)
    return found.done.tolist(), found.score.tolist(), found.failed


def _candidate(folder: Path) -> object:
    return SavedCandidates(folder, "table").load("mondrian:k=2")


def _saved(folder: Path) -> None:
    """One checkpoint of each kind."""
    Checkpoint(folder / "unveil-1.npz").save({"world": np.arange(40), "weight": np.linspace(0, 1, 7)})
    found = SavedProgress.start(
        Engine(seed=0, checkpoints=folder), ("asked",), [np.arange(3)], np.full((4, 2), 0.5), draws=2
    )
    found.done[1:], found.failed = True, {0: "no answer"}
    found.save()
    SavedCandidates(folder, "table").save("mondrian:k=2", {"status": "measured", "rows": 7})


@pytest.mark.parametrize(
    ("pattern", "load"), [("unveil-1*", _chains), ("unveil-d*", _records), ("unveil-p*", _candidate)]
)
@some
@given(data=st.data())
def test_a_checkpoint_is_whole_or_refused(data: st.DataObject, pattern: str, load: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _saved(folder)
        (file,) = folder.glob(pattern)
        good, before = file.read_bytes(), load(folder)
        assert str(before) != str(load(Path(name) / "none"))
        file.write_bytes(data.draw(spoilt(good)))
        if file.read_bytes() == good:
            assert str(load(folder)) == str(before)
        else:
            with pytest.raises(OutputError, match="not a checkpoint"):
                load(folder)
