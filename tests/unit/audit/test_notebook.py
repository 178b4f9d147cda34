"""The notebook layer: frames in, an audit out that shows itself in a few lines."""

import json

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.audit.notebook import _schema_of
from unveil.errors import UsageError

ROLES = {"name": "identifier", "age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}


def people(rows: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": draw.integers(20, 40, rows),
            "sex": draw.choice(["f", "m"], rows),
            "disease": draw.choice(["flu", "hiv", "none"], rows),
        }
    )


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_frames_in_an_audit_out(library: str) -> None:
    original = people()
    release = original.drop("name").with_columns(
        age=pl.when(pl.col("age") < 30).then(pl.lit("20-29")).otherwise(pl.lit("30-39"))
    )
    frames = [f.to_pandas() if library == "pandas" else f for f in (release, original)]
    found = unveil.audit(release=frames[0], original=frames[1], roles=ROLES, limits=["k_anonymity >= 2"])
    assert {f.id: f.value for f in found.document.findings}["k_anonymity"] >= 2
    assert len(repr(found).splitlines()) <= 10
    assert "release: " in repr(found)
    assert "person 1" not in repr(found)
    html = found._repr_html_()
    assert len(html) < 10_000
    assert "<table>" in html
    again = unveil.audit_frames(release=frames[0], original=frames[1], roles=ROLES, limits=["k_anonymity >= 2"])
    assert again.verdict == found.verdict


def kept_by_a_notebook(shown: object) -> dict[str, str]:
    """What IPython saves of the last value of a cell: its repr, and every richer form that its class offers."""
    rich = {"text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "application/json": "json"}
    found = {"text/plain": repr(shown)}
    found |= {kind: getattr(shown, f"_repr_{n}_")() for kind, n in rich.items() if hasattr(shown, f"_repr_{n}_")}
    assert not hasattr(shown, "_repr_mimebundle_"), "it would stand instead of all of these"
    return found


def found_schema(frame: pl.DataFrame, roles: dict[str, str]) -> unveil.Schema:
    return _schema_of(frame, roles, published=False)


def test_a_saved_notebook_stays_small_however_many_values_there_are() -> None:
    """What IPython keeps of a cell: the text and the HTML of whatever a first hour shows."""
    rows = 400
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": draw.integers(0, 90, rows),
            "code": [f"c{i:04d}" for i in draw.integers(0, 300, rows)],
            "disease": [f"d{i:03d}" for i in draw.integers(0, 200, rows)],
        }
    )
    roles = {"age": "quasi-identifier", "code": "quasi-identifier", "disease": "sensitive"}
    found = unveil.audit(
        {f"release {i}": frame for i in range(3)},
        frame,
        roles,
        attackers={"random_worlds": unveil.attacker("random_worlds")},
    )
    shown = (found, *found.answers.values(), unveil.read_table(frame, found_schema(frame, roles)))
    outputs = [kept_by_a_notebook(one) for one in shown]
    assert len(outputs[0]["text/plain"].splitlines()) <= 10
    assert outputs[0]["text/html"].count("<table>") == 3, "one a release"
    for output in outputs:
        assert len(output["text/plain"].splitlines()) <= 10
        assert "c0001" not in str(output)  # never a domain
    cells = [
        {"cell_type": "code", "source": "found", "outputs": [{"output_type": "execute_result", "data": one}]}
        for one in outputs
    ]
    assert len(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})) < 60_000


def test_several_releases_by_name_and_without_the_original() -> None:
    release = people().drop("name")
    roles = {n: r for n, r in ROLES.items() if n != "name"}
    found = unveil.audit({"raw": release, "copy": release}, roles=roles)
    assert set(found.document.diagnostics["verdicts"]) == {"raw", "copy"}


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"age": "quasi-identifier"}, "say what 'name', 'sex', 'disease' is"),
        ({**ROLES, "agee": "sensitive"}, "there is no column 'agee'"),
        ({**ROLES, "age": "known"}, "'known' is not a role"),
        (None, "say what the columns are"),
    ],
)
def test_roles_are_never_guessed(roles: dict[str, str] | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        unveil.audit(release=people().drop("name"), original=people(), roles=roles)


def test_the_package_and_the_verb_are_one_name() -> None:
    from unveil.audit import run_audit

    assert callable(unveil.audit)
    assert unveil.audit.run_audit is run_audit
