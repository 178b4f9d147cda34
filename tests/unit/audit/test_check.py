"""check: levels of whole releases, by hand and by brute force."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from unveil.audit import level_units
from unveil.audit.levels import run_check
from unveil.data.schema import Schema, SchemaDocument, read_schema
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.formats.releases import read_release
from unveil.privacy.models import (
    DeltaPresence,
    DistinctL,
    EpsilonM,
    KAnonymity,
    NTCloseness,
    StrictNTCloseness,
    TCloseness,
)

TABLE_24 = [("476**", "2*", 300, 300), ("479**", "4*", 200, 1800), ("476**", "3*", 200, 200)]  # Li 2010, Table 2.4


def _schema(**attributes: dict[str, object]) -> Schema:
    return Schema(SchemaDocument.model_validate({"version": 1, "confirmed": True, "attributes": attributes}))


@pytest.fixture
def table_24(tmp_path: Path) -> Path:
    (tmp_path / "zip.csv").write_text("".join(f"{z};{z[:3]}**;*\n" for z in ("47601", "47602", "47901", "47902")))
    (tmp_path / "age.csv").write_text("".join(f"{a};{a // 10}*;*\n" for a in range(20, 50)))
    (tmp_path / "schema.toml").write_text(
        "version = 1\nconfirmed = true\n[attributes.zip]\nrole = 'quasi-identifier'\nhierarchy = 'zip.csv'\n"
        "[attributes.age]\nrole = 'quasi-identifier'\nkind = 'numeric'\nhierarchy = 'age.csv'\n"
        "[attributes.disease]\nrole = 'sensitive'\ndomain = ['Cancer', 'Flu']\n"
    )
    rows = ["zip,age,disease"]
    for zip_code, age, cancer, flu in TABLE_24:
        rows += [f"{zip_code},{age},Cancer"] * cancer + [f"{zip_code},{age},Flu"] * flu
    (tmp_path / "release.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def _values(check: object) -> dict[tuple[str, str | None], object]:
    return {(f.id, f.attribute): f.value for f in check.findings}  # type: ignore[attr-defined]


def test_table_2_4_is_not_close_to_the_table_but_to_large_populations(table_24: Path) -> None:
    schema = read_schema(table_24 / "schema.toml")
    release = read_release(table_24 / "release.csv", schema)
    check = run_check(release, require=[TCloseness(t=0.1), NTCloseness(n=1000, t=0.1)])
    values = _values(check)
    assert values["k_anonymity", None] == 400
    assert values["t_closeness", "disease"] == pytest.approx(0.5 - 700 / 3000)
    assert values["n_t_closeness.1000", "disease"] == pytest.approx(0, abs=1e-12)
    verdicts = {f.id: f.verdict for f in check.findings if f.limit}
    assert verdicts == {"t_closeness": "exceeded", "n_t_closeness.1000": "within"}
    assert not check.kept


def test_strict_closeness_compares_with_every_large_superset(table_24: Path) -> None:
    release = read_release(table_24 / "release.csv", read_schema(table_24 / "schema.toml"))
    check = run_check(release, require=[StrictNTCloseness(n=1000, t=0.1)])
    finding = next(f for f in check.findings if f.id.startswith("strict"))
    # The farthest superset of a .5/.5 group is the whole table (700 of 3000).
    assert finding.value == pytest.approx(0.5 - 700 / 3000)
    assert finding.verdict == "exceeded"


def _brute_force(release: object, schema: Schema, n: int, nearest: bool) -> float:
    """(n,t)-closeness of a one-block release by enumerating groups and lattice nodes in plain Python."""
    block = release.blocks[0]  # type: ignore[attr-defined]
    attributes = release.attributes  # type: ignore[attr-defined]
    known = [i for i, a in enumerate(attributes) if a.role == "quasi-identifier"]
    secret = next(i for i, a in enumerate(attributes) if a.role == "sensitive")
    rows = []
    for group, cell, count in zip(block.group, block.cell, block.count, strict=True):
        members = [frozenset(release.regions[i].members(int(block.cells[cell, i])).tolist()) for i in known]  # type: ignore[attr-defined]
        value = int(release.regions[secret].members(int(block.cells[cell, secret]))[0])  # type: ignore[attr-defined]
        rows += [(int(group), members, value)] * int(count)
    ladders = []
    for position, i in enumerate(known):
        hierarchy = attributes[i].hierarchy
        height = hierarchy.height if hierarchy is not None else 1

        def shown(
            members: list[frozenset[int]],
            level: int,
            position: int = position,
            hierarchy: object = hierarchy,
            height: int = height,
        ) -> object:
            if level == height:
                return "*"
            if level == 0 or hierarchy is None:
                return members[position]
            nodes = {int(hierarchy.node[level][c]) for c in members[position]}  # type: ignore[attr-defined]
            return nodes.pop() if len(nodes) == 1 else members[position]

        ladders.append((shown, height))
    codes = attributes[secret].codes
    by_group: dict[int, list[tuple[list[frozenset[int]], int]]] = {}
    for group, members, value in rows:
        by_group.setdefault(group, []).append((members, value))

    def share(values: list[int]) -> np.ndarray:
        return np.bincount(values, minlength=codes) / len(values)

    whole = share([v for _, _, v in rows])
    worst = 0.0
    for members_of_group in by_group.values():
        mine = share([v for _, v in members_of_group])
        distances = [np.abs(mine - whole).sum() / 2]
        for node in itertools.product(*(range(height + 1) for _, height in ladders)):
            cell = tuple(shown(members_of_group[0][0], level) for (shown, _), level in zip(ladders, node, strict=True))
            inside = [
                v
                for _, members, v in rows
                if tuple(shown(members, level) for (shown, _), level in zip(ladders, node, strict=True)) == cell
            ]
            if len(inside) >= n:
                distances.append(np.abs(mine - share(inside)).sum() / 2)
        if nearest:
            worst = max(worst, 0.0 if len(members_of_group) >= n else min(distances))
        else:
            worst = max(worst, max(distances))
    return worst


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [3, 8, 20])
def test_closeness_to_supersets_equals_enumeration(tmp_path: Path, seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    (tmp_path / "zip.csv").write_text("".join(f"{z};{z[0]}*;*\n" for z in ("aa", "ab", "ba", "bb")))
    (tmp_path / "schema.toml").write_text(
        "version = 1\nconfirmed = true\n[attributes.zip]\nrole = 'quasi-identifier'\nhierarchy = 'zip.csv'\n"
        "[attributes.age]\nrole = 'quasi-identifier'\nkind = 'numeric'\ndomain = {from = 0, to = 9}\n"
        "[attributes.disease]\nrole = 'sensitive'\ndomain = ['x', 'y', 'z']\n"
    )
    cells = [(z, a) for z in ("aa", "a*", "b*", "ba", "{aa,ba}") for a in ("[0,4]", "[5,9]", "3", "*")]
    rows = ["zip,age,disease"]
    for _ in range(45):
        zip_code, age = cells[random.integers(len(cells))]
        rows.append(f'"{zip_code}","{age}",{random.choice(["x", "y", "z"], p=[0.5, 0.3, 0.2])}')
    (tmp_path / "release.csv").write_text("\n".join(rows) + "\n")
    schema = read_schema(tmp_path / "schema.toml")
    release = read_release(tmp_path / "release.csv", schema)
    check = run_check(release, require=[NTCloseness(n=n, t=0.5), StrictNTCloseness(n=n, t=0.5)], n=n)
    found = {f.id.partition(".")[0]: f.value for f in check.findings if f.limit}
    assert found["n_t_closeness"] == pytest.approx(_brute_force(release, schema, n, nearest=True), abs=1e-12)
    assert found["strict_n_t_closeness"] == pytest.approx(_brute_force(release, schema, n, nearest=False), abs=1e-12)


def test_anatomy_hides_the_value_not_the_person(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("group,age\n1,20\n1,30\n2,40\n2,50\n")
    (tmp_path / "s.csv").write_text("group,disease,count\n1,a,1\n1,b,1\n2,a,1\n2,c,1\n")
    (tmp_path / "r.toml").write_text('group = "group"\nsensitive_table = "s.csv"\n')
    schema = _schema(age={"role": "quasi-identifier", "kind": "numeric"}, disease={"role": "sensitive"})
    values = _values(run_check(read_release(tmp_path / "r.csv", schema)))
    assert values["k_anonymity", None] == 1
    assert values["distinct_l", "disease"] == 2
    assert values["alpha_k", "disease"] == 0.5


def test_suppressed_and_withheld_rows_are_counted_apart(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("age,disease\n20,a\n20,b\n*,a\n*,a\n20,*\n")
    schema = _schema(
        age={"role": "quasi-identifier", "kind": "numeric", "domain": [20, 30]},
        disease={"role": "sensitive", "domain": ["a", "b"]},
    )
    check = run_check(read_release(tmp_path / "r.csv", schema))
    values = _values(check)
    assert check.diagnostics["suppressed_rows"] == 2
    assert check.diagnostics["withheld_values"] == {"disease": 1}
    assert values["k_anonymity", None] == 3
    assert values["distinct_l", "disease"] == 2


def test_everything_suppressed_is_one_class(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("age,disease\n*,a\n*,b\n*,a\n")
    schema = _schema(
        age={"role": "quasi-identifier", "kind": "numeric", "domain": [20, 30]},
        disease={"role": "sensitive", "domain": ["a", "b"]},
    )
    values = _values(run_check(read_release(tmp_path / "r.csv", schema)))
    assert values["k_anonymity", None] == 3
    assert values["t_closeness", "disease"] == 0


def test_presence_counts_the_population_in_each_cell(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text('age,sex,disease\n"[20,29]",f,a\n"[20,29]",f,b\n30,*,a\n')
    schema = _schema(
        age={"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 20, "to": 30}},
        sex={"role": "quasi-identifier", "domain": ["f", "m"]},
        disease={"role": "sensitive", "domain": ["a", "b"]},
    )
    people = Table.from_columns(
        schema, {"age": [20, 21, 29, 30, 30, 25], "sex": ["f", "f", "f", "m", "f", "m"], "disease": ["a"] * 6}
    )
    check = run_check(read_release(tmp_path / "r.csv", schema), population=people, require=[DeltaPresence(high=0.6)])
    finding = next(f for f in check.findings if f.id == "delta_presence")
    assert finding.value == pytest.approx(2 / 3)  # two of three women of 20-29; one of two of 30
    assert finding.verdict == "exceeded"


def test_two_requirements_of_one_kind_are_both_judged(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("age,disease\n20,a\n20,b\n20,b\n")
    schema = _schema(age={"role": "quasi-identifier", "kind": "numeric"}, disease={"role": "sensitive"})
    release = read_release(tmp_path / "r.csv", schema)
    check = run_check(release, require=[KAnonymity(k=3), KAnonymity(k=4), DistinctL(l=2), DistinctL(l=3)])
    verdicts = [(f.limit, f.verdict) for f in check.findings if f.limit]
    assert sorted(verdicts) == [
        ("distinct_l >= 2", "within"),
        ("distinct_l >= 3", "exceeded"),
        ("k_anonymity >= 3", "within"),
        ("k_anonymity >= 4", "exceeded"),
    ]


@pytest.mark.parametrize(
    ("model", "reason"),
    [(DeltaPresence(high=0.5), "population"), (EpsilonM(epsilon=1, m=2), "numeric")],
)
def test_a_requirement_that_cannot_be_measured_says_why(tmp_path: Path, model: object, reason: str) -> None:
    (tmp_path / "r.csv").write_text("age,disease\n20,a\n20,b\n")
    schema = _schema(age={"role": "quasi-identifier", "kind": "numeric"}, disease={"role": "sensitive"})
    with pytest.raises((NotApplicable, UsageError), match=reason):
        run_check(read_release(tmp_path / "r.csv", schema), require=[model])  # type: ignore[list-item]


def test_no_sensitive_attribute_gives_k_alone(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("age\n20\n20\n")
    schema = _schema(age={"role": "quasi-identifier", "kind": "numeric"})
    check = run_check(read_release(tmp_path / "r.csv", schema))
    assert {f.id for f in check.findings} == {"k_anonymity", "discernibility", "certainty_penalty"}
    with pytest.raises(NotApplicable, match="no sensitive attribute"):
        run_check(read_release(tmp_path / "r.csv", schema), require=[DistinctL(l=2)])


@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_values_that_no_group_shows_are_taken_as_one_without_a_difference(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    drawn = np.random.default_rng(3).integers(0, 40, 120) ** 2 % 97
    rows = [f"{i // 5},{'xy'[i // 60]},{s}\n" for i, s in enumerate(drawn.tolist())]
    (tmp_path / "r.csv").write_text("a,b,s\n" + "".join(rows))
    known = {"role": "quasi-identifier"}
    schema = _schema(a=known | {"kind": "numeric"}, b=known, s={"role": "sensitive", "kind": kind})
    release = read_release(tmp_path / "r.csv", schema)
    assert release.groups == 24
    require = (StrictNTCloseness(n=20, distance="equal", t=1.0),)
    whole = run_check(release, n=30, require=require).findings
    monkeypatch.setattr(level_units, "FEW_VALUES", 0)
    monkeypatch.setattr(level_units, "CELLS_MERGED", 64)  # a few groups at a time
    monkeypatch.setattr(level_units, "FIRST_ASKED", 3)
    merged = run_check(release, n=30, require=require).findings
    assert [f.id for f in merged] == [f.id for f in whole]
    assert len(whole) > 15
    for one, other in zip(merged, whole, strict=True):
        assert one.verdict == other.verdict
        assert one.value == (other.value if other.value == "inf" else pytest.approx(other.value, abs=1e-12)), one.id
