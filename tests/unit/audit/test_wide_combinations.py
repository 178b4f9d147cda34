"""Combinations in wide tables: one run of the chains, everybody's rows counted, the sample's error, many at once."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from test_linked_support import overlapping

from one_round import attack as believe
from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.slicing import Slicing
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior import fits as _weigh
from unveil.attackers.posterior import linked_posterior as _linked_posterior
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import attack
from unveil.audit import combinations as module
from unveil.data.belief import Prior
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.kernels import matching
from unveil.report import print_blocks
from unveil.report.reading import names_of
from unveil.report.sections.combinations import MOST_SHOWN, combination_words, combinations

SHORT = Chains(chains=2, sweeps=50, burn_in=20, every=1, most_sweeps=0)
SETS = [["a0"], ["a1", "a2"], ["a0", "a1", "a2"]]


def people(rows: int, *sensitive: str) -> Table:
    roles = dict.fromkeys(["a0", "a1", "a2"], QI) | dict.fromkeys(sensitive, SENSITIVE)
    schema = made_schema({name: {"role": role, "domain": ["x", "y", "z"]} for name, role in roles.items()})
    codes = np.random.default_rng(3).integers(0, 3, (rows, len(roles)))
    return made_table(schema, *[["xyz"[c] for c in row] for row in codes])


def audited(release: Release, table: Table, **more: object) -> list[dict[str, object]]:
    given = {"combinations": SETS, "background": None, "chains": SHORT} | more
    return run_audit({"r": release}, original=table, **given).document.diagnostics.get("combinations", [])  # type: ignore[arg-type]


def test_chains_run_once_where_links_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit's own chains are asked; one combination at a time gives the same numbers, by chains of their own."""
    table = people(30, "s")
    release = Anatomy(l=2).anonymize(table, Engine(seed=1)).release
    calls = []
    real = attack.learn
    monkeypatch.setattr(attack, "learn", lambda *given, **more: calls.append(given) or real(*given, **more))
    audited(release, table, combinations=[])
    alone = len(calls)
    at_once = audited(release, table)
    assert len(calls) == 2 * alone
    monkeypatch.setattr(module, "MOST_NOTED", 0)
    calls.clear()
    one_by_one = audited(release, table)
    assert len(calls) == alone + 2
    assert at_once == one_by_one


def test_groups_that_are_swapped_are_reckoned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large to match exactly: every question of a state asks for the same expected pairs."""
    table = people(200, "s")
    release = Slicing(columns=(("s",),), grouping="random", size=100).anonymize(table, Engine(seed=1)).release
    calls = []
    real = matching.marginals
    monkeypatch.setattr(matching, "marginals", lambda *given: calls.append(given) or real(*given))
    counts = []
    for sets in ([], SETS[:2]):
        calls.clear()
        audited(release, table, combinations=sets, engine=Engine(seed=2), attackers={"bayesian": Bayesian()})
        counts.append(len(calls))
    assert counts[0] == counts[1] > 0


def test_what_is_known_is_not_asked() -> None:
    table = people(20, "s", "t")
    sets = [["s", "a0"], ["a0"], ["s", "t", "a0"]]
    limits = ["known.single_row.s+a0 <= 1", "known.right >= 0"]
    worlds = {"random_worlds": RandomWorlds()}
    found = run_audit({"r": table.as_release()}, original=table, attackers=worlds, combinations=sets, limits=limits)
    rows = found.document.diagnostics["combinations"]
    assert [(row["known"], row["attribute"]) for row in rows] == [
        (["s", "a0"], "t"),
        (["a0"], "s"),
        (["a0"], "t"),
        (["t", "a0"], "s"),  # nothing but these could be asked
        (["s", "a0"], "t"),
    ]
    of_limits = [(f.id, f.attribute) for f in found.document.findings if f.id.startswith("known.single_row")]
    assert of_limits == [("known.single_row.s+a0", "t")]


def test_a_sample_is_asked_but_everybody_is_counted() -> None:
    """Of 200 people one stands alone by a0, whom a sample of ten need not hold; its error is in the beliefs."""
    table = people(200, "s")
    lonely = np.zeros_like(table.columns[0])
    lonely[17] = 1
    odd = replace(table, columns=(lonely, *table.columns[1:]))
    release = odd.as_release()
    worlds = {"random_worlds": RandomWorlds()}
    whole, some = (
        audited(release, odd, combinations=[["a0"], ["a1"]], attackers=worlds, sample=sample) for sample in (None, 10)
    )
    for row, of_some in zip(whole, some, strict=True):
        assert (row["fewest_rows"], row["single_row"]) == (of_some["fewest_rows"], of_some["single_row"])
    assert (some[0]["fewest_rows"], some[0]["single_row"], some[0]["people"]) == (1, 1 / 200, 10)
    value, low, high = whole[1]["right"]  # type: ignore[misc]
    assert low == value == high
    value, low, high = some[1]["right"]  # type: ignore[misc]
    assert low < value < high


def test_very_many_combinations_on_a_terminal() -> None:
    """Those that leave most people with one row, in their order; the rest is in the report."""
    table = people(20, "s")
    found = run_audit(
        {"r": table.as_release()}, original=table, attackers={"random_worlds": RandomWorlds()}, combinations=[["a0"]]
    ).document
    row = found.diagnostics["combinations"][0]
    rows = [row | {"known": [f"k{i}"], "single_row": i / 100} for i in range(MOST_SHOWN + 5)]
    rows[2]["single_row"] = None
    said = StringIO()
    again = found.model_copy(update={"diagnostics": found.diagnostics | {"combinations": rows}})
    print_blocks(combinations(again, names_of(again)), Console(file=said, width=150))
    shown = [line.split()[0] for line in said.getvalue().splitlines() if line.startswith("k")]
    assert shown == ["k2", *(f"k{i}" for i in range(6, MOST_SHOWN + 5))]
    assert "5 more combinations" in said.getvalue()


def test_an_unknown_name_among_very_many() -> None:
    table = people(20, "s")
    release = table.as_release()
    with pytest.raises(UsageError, match=r"^unknown attribute 'a9' in known; choose from a\d, a\d, a\d$"):
        audited(release, table, combinations=[["a9"], ["a0"]])


@pytest.mark.parametrize("room", [0, 10**9])
def test_where_r_hat_is_not_known_it_is_said(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_linked_posterior, "MOST_NUMBERS", room)
    found = run_audit({"r": overlapping()}, background=None, chains=SHORT).document.diagnostics
    said = [remark for remark in found["remarks"] if "R-hat" in remark]
    assert len(said) == (not room)
    assert all(remark.startswith("r, disease: R-hat is not known (learner, bayesian):") for remark in said)
    assert ("r_hat_max" in found["readers"][0]["facts"]) is bool(room)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.0, 0.0], "None of the combinations asked about leaves anybody with a single published row."),
        ([0.0, None], None),
        ([None, None], None),
        (
            [0.0, 0.5],
            "By a, b alone 50% of people are left with a single published row, the most of those asked about.",
        ),
        ([0.002, 0.5], "By a alone 0.2% of people are left with a single published row; by a, b it is 50%, the most"),
        (
            [1.0, None],
            "By a alone 100% of people are left with a single published row, the most of those that can be counted.",
        ),
    ],
)
def test_the_conclusion_first(shares: list[float | None], words: str | None) -> None:
    known = [["a"], ["a", "b"]]
    rows = [{"release": "r", "known": k, "single_row": s} for k, s in zip(known, shares, strict=True)]
    found = combination_words(rows, "r")
    assert found is None if words is None else found is not None and found.startswith(words)
    assert combination_words(rows, "other") is None


def test_forty_names_do_not_drown_a_sentence() -> None:
    found = combination_words([{"release": "r", "known": [f"k{i}" for i in range(40)], "single_row": 0.5}], "r")
    assert found is not None
    assert found.startswith("By k0, k1, k2, k3, k4, k5, k6, k7 and 32 more alone 50% of people")


def test_support_in_pieces_is_that_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece may end within the pairs of one person."""
    table = people(60, "s")
    for method in (Anatomy(l=2), Slicing(columns=(("a0", "s"), ("a1", "a2")), grouping="random", size=5)):
        release = method.anonymize(table, Engine(seed=1)).release
        targets = attack.targets_of_table(table, release, 3)
        whole = believe(RandomWorlds(), release, targets, Prior.uninformative(release, 3), Engine(seed=0))
        with monkeypatch.context() as patch:
            patch.setattr(_weigh, "AT_ONCE", 7)
            pieces = believe(RandomWorlds(), release, targets, Prior.uninformative(release, 3), Engine(seed=0))
        assert pieces.probability == pytest.approx(whole.probability, rel=1e-12)
