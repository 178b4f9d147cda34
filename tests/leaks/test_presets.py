"""A preset adds limits and removes none: its verdict is never better than the default one."""

from dataclasses import replace

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from thorough import chosen
from unveil.audit import read_presets
from unveil.audit.case import Case
from unveil.audit.run import judge_measured, measure_releases
from unveil.catalog import anonymizer
from unveil.engine import Engine

SCHEMA = made_schema(
    {
        "age": {"role": QI, "domain": ["a", "b", "c", "d"]},
        "ill": {"role": SENSITIVE, "domain": ["v", "w", "x", "y", "z"]},
    }
)
ORDER = ("within", "inconclusive", "exceeded")


@pytest.mark.parametrize("seed", chosen(range(6), [0, 5]))
def test_a_preset_is_never_weaker_than_the_default_limits(seed: int) -> None:
    draw = np.random.default_rng(seed)
    share = draw.dirichlet(np.full(4, (0.3, 3.0)[seed % 2]))
    rows = [("abcd"[draw.choice(4, p=share)], "vwxyz"[draw.integers(5)]) for _ in range((40, 400)[seed % 2])]
    table = made_table(SCHEMA, *rows)
    release = anonymizer("full_domain:levels=0").anonymize(table, Engine(seed=0)).release
    waived = {} if seed < 3 else {"file": "written by our own program"}
    case = Case(releases={"r": release}, original=table, engine=Engine(seed=0, workers=1), waive=waived)
    measured = measure_releases(case)
    default = judge_measured(case, measured)
    smallest = min(np.bincount([("abcd").index(a) for a, _ in rows])[used_classes(rows)])
    for name in read_presets():
        found = judge_measured(replace(case, preset=name), measured)
        kept = {"k_3": 3, "k_5": 5, "k_11": 11}.get(name, 12)  # 0.09 is one in eleven and a bit
        own = "within" if smallest >= kept else "exceeded"
        assert found.verdict == max(default.verdict, own, key=ORDER.index), name
        kept_words = "kept" if own == "within" else "exceeded"
        words = found.document.diagnostics["judgement"]["r"]["words"]
        assert words.startswith(f"{found.verdict}; {name} (singling out only) {kept_words}"), words
        again = found.document.diagnostics["judgement"]["r"]["kinds"]
        for before, after in zip(default.document.diagnostics["judgement"]["r"]["kinds"], again, strict=True):
            assert ORDER.index(_word(after["verdict"])) >= ORDER.index(_word(before["verdict"])), (name, after)


def used_classes(rows: list[tuple[str, str]]) -> list[int]:
    """The classes that somebody is in."""
    return sorted({("abcd").index(a) for a, _ in rows})


def _word(verdict: str) -> str:
    return {"not judged": "inconclusive", "not considered": "within"}.get(verdict, verdict)
