"""Names and options of the command line: what they become, and one clear line for each that makes no sense."""

import json
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from unveil import catalog
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.mondrian import Mondrian
from unveil.errors import UsageError
from unveil.privacy.models import DistinctL, KAnonymity, NTCloseness, TCloseness


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("mondrian", ("mondrian", {})),
        ("mondrian:k=5", ("mondrian", {"k": "5"})),
        ("mondrian:k=5,relaxed=true", ("mondrian", {"k": "5", "relaxed": "true"})),
        ("full_domain:levels=1+0+2", ("full_domain", {"levels": "1+0+2"})),
        ("x:a=b=c", ("x", {"a": "b=c"})),
        ("x:require=t_closeness:t=0.2", ("x", {"require": "t_closeness:t=0.2"})),
    ],
)
def test_name_and_options(text: str, parsed: tuple[str, dict[str, str]]) -> None:
    assert catalog.parse(text) == parsed


@pytest.mark.parametrize("text", ["", ":", ":k=5", "mondrian:"])
def test_what_is_no_member(text: str) -> None:
    with pytest.raises(UsageError, match="is not valid here; write NAME or NAME:key=value"):
        catalog.parse(text)


@pytest.mark.parametrize("text", ["m:k", "m:k=", "m:=5", "m:k=5,", "m:,k=5", "m:k=5,,l=3", "m:k=5;l=3,"])
def test_what_is_no_option(text: str) -> None:
    with pytest.raises(UsageError, match="is not an option; write key=value"):
        catalog.parse(text)


def test_an_option_given_twice() -> None:
    with pytest.raises(UsageError, match="gives 'k' twice; keep one"):
        catalog.parse("mondrian:k=5,k=6")


@pytest.mark.parametrize(
    ("text", "require", "made"),
    [
        ("mondrian:k=5", [], Mondrian(require=(KAnonymity(k=5),))),
        ("mondrian:l=3,k=5", [], Mondrian(require=(KAnonymity(k=5), DistinctL(l=3)))),
        (
            "mondrian:k=5,recoding=hierarchy,regions=cut,relaxed=TRUE",
            ["t_closeness:t=0.2,distance=ordered", "n_t_closeness:n=1000,t=.1"],
            Mondrian(
                require=(KAnonymity(k=5), TCloseness(t=0.2, distance="ordered"), NTCloseness(n=1000, t=0.1)),
                recoding="hierarchy",
                regions="cut",
                relaxed=True,
            ),
        ),
        (
            "mondrian:k=2,require=distinct_l:l=3+t_closeness:t=0.5",
            ["k_anonymity:k=4"],
            Mondrian(require=(KAnonymity(k=2), KAnonymity(k=4), DistinctL(l=3), TCloseness(t=0.5))),
        ),
        ("anatomy:l=4", [], Anatomy(l=4)),
        ("anatomy:l=4,residue=refuse", [], Anatomy(l=4, residue="refuse")),
        ("full_domain:levels=1+0", [], FullDomain(levels=(1, 0))),
        ("full_domain:levels=2,k=3,suppress=.1", [], FullDomain(levels=(2,), suppress=0.1, require=(KAnonymity(k=3),))),
    ],
)
def test_anonymizers(text: str, require: list[str], made: object) -> None:
    assert catalog.anonymizer(text, require) == made


@pytest.mark.parametrize(
    ("text", "require", "message"),
    [
        ("mondrain:k=5", [], "unknown anonymizer 'mondrain'; choose from anatomy, dp_histogram, full_domain, "),
        ("_requirement", [], "unknown anonymizer '_requirement'; choose from"),
        ("mondrian:q=5", [], "mondrian has no option 'q'; choose from require, recoding, regions, relaxed"),
        ("mondrian:k=five", [], "k_anonymity, k: 'five' is not a whole number"),
        ("mondrian:k=2.5", [], "k_anonymity, k: '2.5' is not a whole number"),
        ("mondrian:k=0", [], "k_anonymity: k = 0; choose a whole number of at least 1"),
        ("mondrian:k=5,relaxed=yes", [], "mondrian, relaxed: 'yes' is neither true nor false"),
        ("mondrian:k=5,recoding=tree", [], "mondrian, recoding: unknown value 'tree'; choose from hierarchy, order"),
        ("mondrian:require=secrecy", [], "unknown privacy model 'secrecy'; choose from k_anonymity"),
        ("mondrian", ["t_closeness:t=no"], "t_closeness, t: 'no' is not a number"),
        ("mondrian", ["t_closeness:t=nan"], "t_closeness: t = nan; choose"),
        ("mondrian", ["t_closeness:t=0.1,distance=taxi"], "taxi"),
        ("mondrian", ["n_t_closeness:t=0.1"], "n_t_closeness needs n; write n_t_closeness:n=…"),
        ("mondrian", ["k_anonymity:q=1"], "k_anonymity has no option 'q'; choose from k"),
        ("anatomy", [], "anatomy needs l; write anatomy:l=…"),
        ("anatomy:l=1", [], "anatomy: l = 1; choose a whole number of at least 2"),
        ("anatomy:l=4,k=5", [], "anatomy takes no requirements; its options are l, residue"),
        ("anatomy:l=4", ["k_anonymity:k=5"], "anatomy takes no requirements"),
        ("full_domain:levels=1+x", [], "full_domain, levels: 'x' is not a whole number"),
        ("full_domain:levels=1++2", [], "full_domain, levels: '' is not a whole number"),
        (
            "full_domain:levels=1,suppress=2",
            [],
            "full_domain: suppress = 2.0; choose a number of at least 0 and at most 1",
        ),
        ("full_domain:levels=1,suppress=nan", [], "full_domain: suppress = nan; choose"),
        (
            f"mondrian:k={'9' * 400}",
            [],
            "k_anonymity, k: '99999999999999999999…' is out of range",
        ),
        (f"mondrian:k={2**63}", [], "is out of range"),
        (f"mondrian:k={'9' * 5000}", [], "is not a whole number"),
        (f"noise:amount=1{'0' * 400}", [], "noise, amount: '10000000000000000000…' is out of range"),
        ("mondrian:@no-such-file.toml", [], "no-such-file.toml: cannot be read"),
    ],
)
def test_faults_are_one_clear_line(text: str, require: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        catalog.anonymizer(text, require)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "made"),
    [
        ("mondrian", "\ufeffk = 5\nrelaxed = true\n", Mondrian(require=(KAnonymity(k=5),), relaxed=True)),
        (
            "mondrian",
            'require = ["k_anonymity:k=5", "t_closeness:t=0.2"]\n',
            Mondrian(require=(KAnonymity(k=5), TCloseness(t=0.2))),
        ),
        ("full_domain", "levels = [1, 0]\nsuppress = 1\n", FullDomain(levels=(1, 0), suppress=1)),
    ],
)
def test_options_from_a_file(name: str, content: str, made: object, tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text(content, encoding="utf-8")
    assert catalog.anonymizer(f"{name}:@{tmp_path}/o.toml") == made


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"k = ", "not TOML"),
        (b"k = 'caf\xe9'", "not TOML"),
        (b"k = true", "k_anonymity, k: 'True' is not a whole number"),
        (b"k = 2.5", "k_anonymity, k: '2.5' is not a whole number"),
        (b"k = inf", "k_anonymity, k: 'inf' is not a whole number"),
        (b"k = [5]", "k_anonymity, k: '[5]' is not a whole number"),
        (b"relaxed = 1\nk = 2", "mondrian, relaxed: '1' is neither true nor false"),
        (b"require = 7", "mondrian, require: '7' is not a list; join its items with +"),
        (b"require = [7]", "unknown privacy model '7'"),
        (b"[k]\nk = 5", "is not a whole number"),
    ],
)
def test_faults_of_a_file(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_bytes(content)
    with pytest.raises(UsageError) as error:
        catalog.anonymizer(f"mondrian:@{tmp_path}/o.toml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@dataclass(frozen=True)
class Foreign:
    """A member that another package brings."""

    depth: int = 1


def test_members_are_files_and_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("shuffle", f"{__name__}:Foreign", "unveil.anonymizers"),
        EntryPoint("mondrian", f"{__name__}:Foreign", "unveil.anonymizers"),
        EntryPoint("broken", "no_such_module:Thing", "unveil.anonymizers"),
    ]

    def found(group: str) -> list[Any]:
        return [p for p in points if p.group == group]

    own = catalog.members("anonymizers")
    monkeypatch.setattr(catalog, "entry_points", found)
    assert catalog.members("anonymizers") == (*own, "broken", "shuffle")
    assert catalog.anonymizer("shuffle:depth=3").depth == 3
    assert catalog.member("anonymizers", "mondrian") is Mondrian  # ours is not replaced
    with pytest.raises(UsageError, match="broken: no_such_module:Thing of another package cannot be loaded"):
        catalog.member("anonymizers", "broken")


def test_every_member_names_its_class() -> None:
    for name in catalog.members("anonymizers"):
        assert callable(catalog.member("anonymizers", name).anonymize)


def test_every_member_describes_itself() -> None:
    for family in catalog.FAMILIES:
        found = catalog.describe(family)
        assert [d["name"] for d in found] == list(catalog.members(family))
        for one in found:
            assert len(one["summary"]) > 20, one
        json.dumps(found)


def test_options_are_described_with_their_defaults_and_choices() -> None:
    (mondrian,) = (d for d in catalog.describe("anonymizers") if d["name"] == "mondrian")
    by_name = {o["name"]: o for o in mondrian["options"]}
    assert mondrian["summary"].startswith("Multidimensional recoding (LeFevre et al. 2006)")
    assert by_name["relaxed"] == {"name": "relaxed", "required": False, "default": False, "choices": []}
    assert by_name["recoding"]["choices"] == ["hierarchy", "order"]
    (noise,) = (d for d in catalog.describe("anonymizers") if d["name"] == "noise")
    assert noise["options"][0] == {"name": "amount", "required": True, "default": None, "choices": []}
    (close,) = (d for d in catalog.describe("privacy_models") if d["name"] == "t_closeness")
    assert [o["name"] for o in close["options"]] == ["t", "distance"]


def test_members_of_other_packages_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("shuffle", f"{__name__}:Foreign", "unveil.anonymizers"),
        EntryPoint("broken", "no_such_module:Thing", "unveil.anonymizers"),
    ]
    monkeypatch.setattr(catalog, "entry_points", lambda group: [p for p in points if p.group == group])
    broken, shuffle = catalog.describe("anonymizers")[-2:]
    depth = {"name": "depth", "required": False, "default": 1, "choices": []}
    assert shuffle == {"name": "shuffle", "summary": "A member that another package brings.", "options": [depth]}
    assert "cannot be loaded" in broken["summary"]


def test_a_privacy_model_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("depth", f"{__name__}:Foreign", "unveil.privacy_models")]
    monkeypatch.setattr(catalog, "entry_points", lambda group: [p for p in points if p.group == group])
    assert catalog.members("privacy_models")[-1] == "depth"
    assert catalog.privacy_model("depth:depth=4") == Foreign(depth=4)
