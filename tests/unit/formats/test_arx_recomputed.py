"""ARX projects that keep no output: a saved transformation is applied, as ARX applies it, or refused in one line."""

import csv
import io
import math
import shutil
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from arx_projects import ROLES, config, made_project, zipped
from foreign import ARX, needs_foreign_files
from java_objects import Java, java_stream
from unveil import cli
from unveil.errors import ReleaseError
from unveil.formats import arx
from unveil.formats.arx import read_project
from unveil.formats.arx.recomputed import shown_node
from unveil.formats.arx.schema import project_schema
from unveil.formats.releases import read_release
from unveil.formats.tables import read_columns, read_table

NAMES = ("age", "zip", "disease")
ROWS = [
    *[(str(30 + i % 4), "81541", "flu" if i % 3 else "hiv") for i in range(9)],
    *[(str(41 + i % 3), "81667", "cold" if i % 2 else "flu") for i in range(6)],
    *[("55", "81667", "flu")] * 3,
    ("70", "80331", "hiv"),
]
AGES = {str(age): (str(age), f"[{age // 10 * 10}, {age // 10 * 10 + 9}]", "*") for age in range(20, 80)}
ZIPS = {z: (z, z[:3] + "**", "*****") for z in ("81541", "81667", "80331")}
CRITERIA = "org.deidentifier.arx.criteria."
QUASI = "QUASI_IDENTIFYING_ATTRIBUTE"


def csv_of(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def project(
    folder: Path,
    node: str | None,
    *criteria: Java,
    rows: Sequence[Sequence[str]] = ROWS,
    saved: Sequence[str] = (),
    order: Sequence[str] | None = ("age", "zip"),
    said: Mapping[str, str] | None = None,  # more of an attribute, as XML
    local: bool = False,
    limit: float = 1.0,
    lattice: str | None = None,
    anyway: bool = True,
    name: str = "clinic.deid",
) -> Path:
    definition = ["<definition>"]
    for attribute in NAMES:
        ref = f"<ref>hierarchies/{attribute}.csv</ref><min>All</min><max>All</max>" if attribute != "disease" else ""
        kind = "" if "<datatype>" in (said or {}).get(attribute, "") else "<datatype>String</datatype>"
        role = ROLES.get(attribute, QUASI)
        more = (said or {}).get(attribute, "")
        definition.append(f"<assigment><name>{attribute}</name><type>{role}</type>{kind}{ref}{more}</assigment>")
    model = {"anonymizationConfiguration": Java("org.x.Config", transformationType="LOCAL")} if local else {}
    always = Java("java.lang.Boolean", value=anyway)
    inside = Java("org.x.ARXConfiguration", relMaxOutliers=limit, criteria=criteria, suppressionAlwaysEnabled=always)
    given: dict[str, str | bytes | None] = {
        "data__output_dot_csv": None,
        "data__input_dot_csv": csv_of([NAMES, *rows]),
        "project_dot_dat": java_stream(Java("org.x.Model", outputNodeAsString=node, optimalNodeAsString=node, **model)),
        "lattice_dot_dat": None if order is None else java_stream(None, {n: i for i, n in enumerate(order)}),
        "lattice_dot_xml": lattice,
        "clipboard_dot_xml": f"<clipboard>{''.join(f'<node>{n}</node>' for n in saved)}</clipboard>" if saved else None,
        "output__config_dot_dat": java_stream(Java("org.x.ModelConfiguration", config=inside)),
        "output__config_dot_xml": config(QUASI),
    }
    for where in ("input", "output"):
        given[f"{where}__definition_dot_xml"] = "".join([*definition, "</definition>"])
        given[f"{where}__hierarchies__age_dot_csv"] = csv_of(list(AGES.values()))
        given[f"{where}__hierarchies__zip_dot_csv"] = csv_of(list(ZIPS.values()))
    path = folder / name
    path.write_bytes(made_project(**given))
    return path


def shown(path: Path) -> list[tuple[str, ...]]:
    found = read_columns(path, published=True, error=ReleaseError)
    return list(zip(*([c.texts[i] for i in c.text_of_row] for c in found.columns.values()), strict=True))


def by_hand(levels: tuple[int, int], keeps, rows: Sequence[Sequence[str]] = ROWS) -> list[tuple[str, ...]]:  # type: ignore[no-untyped-def]
    """The definition, slowly: `keeps` says of a class's sensitive values whether it stays."""
    cells = [(AGES[a][levels[0]], ZIPS[z][levels[1]]) for a, z, _ in rows]
    members: dict[tuple[str, str], list[str]] = {}
    for cell, row in zip(cells, rows, strict=True):
        members.setdefault(cell, []).append(row[2])
    return [(*(c if keeps(members[c]) else ("*", "*")), row[2]) for c, row in zip(cells, rows, strict=True)]


def share(values: Sequence[str]) -> dict[str, float]:
    return {v: n / len(values) for v, n in Counter(values).items()}


ALL = share([row[2] for row in ROWS])


def k_anonymity(k: int) -> Java:
    return Java(f"{CRITERIA}KAnonymity", k=k)


def test_classes_below_k_are_suppressed(tmp_path: Path) -> None:
    path = project(tmp_path, "[1, 0]", k_anonymity(4))
    found = shown(path)
    assert found == by_hand((1, 0), lambda values: len(values) >= 4)
    assert found.count(("*", "*", "flu")) == 3  # the class of three
    assert found[0] == ("[30, 39]", "81541", "hiv")


def test_transformations_that_were_saved_are_chosen_by_number(tmp_path: Path) -> None:
    path = project(tmp_path, "[1, 0]", k_anonymity(4), saved=("[1, 0]", "[2, 1]", "[0, 2]"))
    assert shown(Path(f"{path}#1")) == shown(path)
    assert shown(Path(f"{path}#2")) == by_hand((2, 1), lambda values: len(values) >= 4)
    assert shown(Path(f"{path}#3")) == by_hand((0, 2), lambda values: len(values) >= 4)
    for wrong in ("4", "0", "first", "-1"):
        with pytest.raises(ReleaseError, match=r"it keeps no transformation '.*'; it has 1: \[1, 0\], 2: \[2, 1\], 3:"):
            shown(Path(f"{path}#{wrong}"))


def test_a_chosen_transformation_goes_before_a_stored_output(tmp_path: Path) -> None:
    path = project(tmp_path, "[1, 0]", k_anonymity(4), saved=("[2, 1]",))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("data/output.csv", csv_of([NAMES, *[("*", "*", r[2]) for r in ROWS]]))
    assert set(shown(path)) == {("*", "*", v) for v in ALL}
    assert shown(Path(f"{path}#2")) == by_hand((2, 1), lambda values: len(values) >= 4)


@pytest.mark.parametrize(
    ("criterion", "keeps"),
    [
        (Java(f"{CRITERIA}DistinctLDiversity", attribute="disease", minSize=2, l=2.0), lambda v: len(set(v)) >= 2),
        (
            Java(f"{CRITERIA}EntropyLDiversity", attribute="disease", minSize=1, l=1.95),
            lambda v: -sum(p * math.log2(p) for p in share(v).values()) >= math.log2(1.95),
        ),
        (
            Java(f"{CRITERIA}RecursiveCLDiversity", attribute="disease", minSize=2, l=2.0, c=1.5),
            lambda v: len(set(v)) > 1 and max(Counter(v).values()) < 1.5 * (len(v) - max(Counter(v).values())),
        ),
        (
            Java(f"{CRITERIA}EqualDistanceTCloseness", attribute="disease", t=0.35),
            lambda v: sum(abs(share(v).get(d, 0) - ALL[d]) for d in ALL) / 2 <= 0.35,
        ),
        (
            Java(
                f"{CRITERIA}HierarchicalDistanceTCloseness",
                attribute="disease",
                t=0.3,
                hierarchy=Java(
                    "org.x.ArrayHierarchy",
                    hierarchy=[["flu", "lung", "*"], ["cold", "lung", "*"], ["hiv", "other", "*"]],
                ),
            ),
            # half a step within "lung", a whole one between the two
            lambda v: (
                abs(share(v).get("hiv", 0) - ALL["hiv"])
                + 0.5
                * min(
                    max(share(v).get("flu", 0) - ALL["flu"], 0) + max(share(v).get("cold", 0) - ALL["cold"], 0),
                    max(ALL["flu"] - share(v).get("flu", 0), 0) + max(ALL["cold"] - share(v).get("cold", 0), 0),
                )
                <= 0.3
            ),
        ),
        (
            Java(f"{CRITERIA}DDisclosurePrivacy", attribute="disease", d=0.9),
            lambda v: all(abs(math.log2(p / ALL[d])) < 0.9 for d, p in share(v).items()),
        ),
        (
            Java(f"{CRITERIA}BasicBLikeness", attribute="disease", b=1.0),
            lambda v: all((p - ALL[d]) / ALL[d] <= 1.0 for d, p in share(v).items()),
        ),
        (
            Java(f"{CRITERIA}EnhancedBLikeness", attribute="disease", b=1.0),
            lambda v: all((p - ALL[d]) / ALL[d] <= min(1.0, -math.log(ALL[d])) for d, p in share(v).items()),
        ),
    ],
    ids=lambda value: value.kind.rsplit(".")[-1] if isinstance(value, Java) else "",
)
def test_every_class_model_suppresses_what_breaks_it(tmp_path: Path, criterion: Java, keeps) -> None:  # type: ignore[no-untyped-def]
    found = shown(project(tmp_path, "[1, 0]", criterion))
    assert found == by_hand((1, 0), keeps)
    assert {row[:2] == ("*", "*") for row in found} == {True, False}  # some, and not all


def test_a_research_subset_counts_alone(tmp_path: Path) -> None:
    inside = [i for i in range(len(ROWS)) if i not in (0, 1, 2, 3, 4, 5, 17)]
    rowset = Java("org.x.RowSet", length=len(ROWS), array=[sum(1 << i for i in inside)])
    subset = Java("org.x.DataSubset", set=rowset)
    path = project(tmp_path, "[1, 0]", Java(f"{CRITERIA}Inclusion", subset=subset, dMin=0.0, dMax=1.0), k_anonymity(3))
    found = shown(path)
    assert all(found[i][:2] == ("*", "*") for i in range(len(ROWS)) if i not in inside)
    assert [found[i][:2] for i in (6, 7, 8)] == [("[30, 39]", "81541")] * 3
    assert [found[i][:2] for i in (15, 16)] == [("*", "*")] * 2  # two of three are inside
    present = Java(f"{CRITERIA}DPresence", subset=subset, dMin=0.0, dMax=0.5)
    found = shown(project(tmp_path, "[1, 0]", present, name="present.deid"))
    assert [found[i][:2] for i in (6, 9)] == [("[30, 39]", "81541"), ("*", "*")]  # 3 of 9 are inside, and 6 of 6


def test_without_leave_to_suppress_an_output_is_shown_as_it_is(tmp_path: Path) -> None:
    """ARX's setting: suppress rows also where that does not make the output anonymous."""
    assert shown(project(tmp_path, "[1, 0]", k_anonymity(4), limit=0.0)) == by_hand((1, 0), lambda v: len(v) >= 4)
    path = project(tmp_path, "[1, 0]", k_anonymity(4), limit=0.0, anyway=False)
    assert shown(path) == by_hand((1, 0), lambda v: True)


@pytest.mark.parametrize(
    ("said", "first", "age_of_forties"),
    [
        (
            "<datatype>Decimal</datatype><microaggregationFunction>Arithmetic mean</microaggregationFunction>",
            "31.3",
            "42.0",
        ),
        (
            "<datatype>Integer</datatype><microAggregationFunction>Arithmetic mean</microAggregationFunction>",
            "31",
            "42",
        ),
        ("<datatype>Integer</datatype><microaggregationFunction>Median</microaggregationFunction>", "31", "42"),
        (
            "<datatype>Integer</datatype><microaggregationFunction>Interval</microaggregationFunction>",
            "[30, 33]",
            "[41, 43]",
        ),
        (
            "<datatype>String</datatype><microaggregationFunction>Set</microaggregationFunction>",
            "{30, 31, 32, 33}",
            "{41, 42, 43}",
        ),
    ],
)
def test_microaggregated_columns_beside_generalised_ones(
    tmp_path: Path, said: str, first: str, age_of_forties: str
) -> None:
    path = project(tmp_path, "[1, 0]", k_anonymity(4), said={"age": said})
    found = shown(path)
    assert found[0][0].startswith(first)
    assert (found[9][0], found[9][1], found[-1][0]) == (age_of_forties, "81667", "*")
    widened = "Interval" in said or "Set" in said
    assert read_project(path).masked == (() if widened else ("age",))


def test_a_column_that_is_only_microaggregated_makes_no_classes(tmp_path: Path) -> None:
    said = "<datatype>Integer</datatype><microaggregationFunction>Median</microaggregationFunction>"
    found = shown(project(tmp_path, "[0]", k_anonymity(4), said={"age": said}, order=("zip",)))
    assert {row[:2] for row in found} == {("31", "81541"), ("43", "81667"), ("*", "*")}


def test_dates_are_averaged_in_their_own_pattern(tmp_path: Path) -> None:
    rows = [(f"0{1 + i % 3}.06.2020", "81541", "flu") for i in range(6)]
    said = (
        "<datatype>Date/Time</datatype><format>dd.MM.yyyy</format>"
        "<microaggregationFunction>Arithmetic mean</microaggregationFunction>"
    )
    assert set(shown(project(tmp_path, "[0]", k_anonymity(2), said={"age": said}, order=("zip",), rows=rows))) == {
        ("02.06.2020", "81541", "flu")
    }


def test_without_a_stored_choice_the_lattice_says_which_is_best(tmp_path: Path) -> None:
    """In both vocabularies; bounds that differ are estimates and count for nothing."""
    short = (
        "<lattice><level depth='0'>"
        "<n i='0'><t>[0, 0]</t><a>ANONYMOUS</a><l><u>0.1</u><f>0.0</f></l></n>"
        "<n i='1'><t>[1, 0]</t><a>ANONYMOUS</a><l><u>0.4</u><f>0.4</f></l></n>"
        "<n i='2'><t>[2, 0]</t><a>NOT_ANONYMOUS</a><l><u>0.2</u><f>0.2</f></l></n>"
        "<n i='3'><t>[2, 1]</t><a>ANONYMOUS</a><l><u>0.5</u><f>0.5</f></l></n></level></lattice>"
    )
    long = short
    for one, other in (("t", "transformation"), ("a", "anonymity"), ("l", "infoloss"), ("u", "max"), ("f", "min")):
        long = long.replace(f"<{one}>", f"<{other}>").replace(f"</{one}>", f"</{other}>")
    long = long.replace("<n ", "<node ").replace("</n>", "</node>")
    for number, lattice in enumerate((short, long)):
        path = project(tmp_path, None, k_anonymity(4), lattice=lattice, order=None, name=f"{number}.deid")
        assert shown(path) == by_hand((1, 0), lambda values: len(values) >= 4)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"local": True}, "it was recoded locally after the transformation, and the steps are not stored"),
        ({"node": "[1, 0, 2]"}, "the transformation [1, 0, 2] has 3 levels, and 2 attributes are recoded"),
        ({"node": "[7, 0]"}, "the hierarchy of 'age' has no level 7"),
        ({"node": None}, "the project keeps no transformation"),
        ({"order": ("age", "shoe")}, "the input lacks 'shoe', which is recoded"),
        ({"rows": [*ROWS, ("99", "81541", "flu")]}, "the hierarchy of 'age' has no row for '99'"),
        ({"criteria": ()}, "its configuration names no privacy model"),
        ({"criteria": (Java(f"{CRITERIA}PopulationUniqueness", threshold=0.1),)}, "which classes break PopulationUniq"),
        ({"criteria": (Java(f"{CRITERIA}SampleUniqueness", threshold=0.01),)}, "SampleUniqueness suppresses further"),
        (
            {"said": {"age": "<datatype>Integer</datatype><microaggregationFunction>Mode</microaggregationFunction>"}},
            "a class has several most frequent values of 'age', and ARX takes any of them",
        ),
        (
            {"said": {"age": "<datatype>Decimal</datatype><format>#.#</format>"
                             "<microaggregationFunction>Arithmetic mean</microaggregationFunction>"}},
            "'age' is written by the pattern '#.#'",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_faithfully_is_one_line(
    tmp_path: Path,
    changed: dict,  # type: ignore[type-arg]
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = {"node": "[1, 0]", "criteria": (k_anonymity(2),), **changed}
    path = project(tmp_path, options.pop("node"), *options.pop("criteria"), **options)
    monkeypatch.setattr("sys.argv", ["unveil", "audit", str(path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert reason in err
    assert err.count("\n") == 1
    assert "export the output in ARX as CSV" in err


def test_a_model_of_the_whole_table_that_is_met_suppresses_nothing(tmp_path: Path) -> None:
    average = Java(f"{CRITERIA}AverageReidentificationRisk", threshold=0.5, highestRisk=None)
    assert shown(project(tmp_path, "[1, 0]", average, k_anonymity(4))) == by_hand((1, 0), lambda v: len(v) >= 4)


@needs_foreign_files
def test_the_shipped_example_is_what_arx_exports() -> None:
    assert shown(ARX / "example.deid") == shown(ARX / "example_deid_subset_output.csv")


@needs_foreign_files
def test_rows_that_arx_did_not_recode_locally_are_those_that_it_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """example5 was recoded locally after its transformation: which rows were is not stored, but all others are."""
    stored = shown(ARX / "example5.deid")
    bare = Path(shutil.copy(ARX / "example5.deid", tmp_path / "bare.deid"))
    changed(bare, data__output_dot_dat=None)
    monkeypatch.setattr(arx, "shown_node", lambda raw: (shown_node(raw)[0], False))
    columns = arx.shown_output(bare, read_columns(bare)).columns.values()
    computed = list(zip(*([c.texts[i] for i in c.text_of_row] for c in columns), strict=True))
    kept = [(mine, theirs) for mine, theirs in zip(computed, stored, strict=True) if set(mine) != {"*"}]
    assert len(kept) == 481
    assert all(mine == theirs for mine, theirs in kept)  # means to the last digit


@pytest.mark.parametrize("kind", [["identity", "--subsets", "0"], ["attribute", "--attacker", "random_worlds"]])
def test_a_project_is_attacked_without_naming_its_input(
    tmp_path: Path, kind: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(tmp_path, "[1, 0]", k_anonymity(4))
    name, *options = kind
    monkeypatch.setattr("sys.argv", ["unveil", "attack", name, str(path), *options, "--json", str(tmp_path / "d.json")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (0, None), capsys.readouterr().err
    assert (tmp_path / "d.json").is_file()


def changed(path: Path, **members: str | bytes | None) -> Path:
    """The same project with some members replaced (`__` for `/`, `_dot_` for `.`), or left out (None)."""
    given = {name.replace("__", "/").replace("_dot_", "."): content for name, content in members.items()}
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    path.write_bytes(zipped({name: content for name, content in {**kept, **given}.items() if content is not None}))
    return path


def in_words(text: str, separator: str) -> str:
    return text.replace(";", separator)


INPUT = csv_of([NAMES, *ROWS])
TREES = {"age": csv_of(list(AGES.values())), "zip": csv_of(list(ZIPS.values()))}
VARIATIONS: dict[str, dict[str, str | bytes | None]] = {
    "no lattice, no clipboard, no metadata": {"lattice_dot_dat": None, "metadata_dot_xml": None},
    "no project.xml": {"project_dot_xml": None},
    "no config.xml": {"output__config_dot_xml": None, "input__config_dot_xml": None},
    "no definition of the input": {"input__definition_dot_xml": None},
    "tabs": {
        "project_dot_xml": "<project><separator>\t</separator></project>",
        "data__input_dot_csv": in_words(INPUT, "\t"),
        **{f"{w}__hierarchies__{n}_dot_csv": in_words(t, "\t") for w in ("input", "output") for n, t in TREES.items()},
    },
    "CRLF and a byte-order mark": {"data__input_dot_csv": ("\ufeff" + INPUT.replace("\n", "\r\n")).encode()},
    "no line break at the end": {"data__input_dot_csv": INPUT.rstrip("\n")},
    "hierarchies of the output only": {f"input__hierarchies__{name}_dot_csv": None for name in TREES},
    "a version to come": {
        "metadata_dot_xml": "<metadata><version>9.9.9</version><vocabulary>7.0</vocabulary></metadata>"
    },
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_what_a_project_may_leave_out_or_write_otherwise_changes_nothing(tmp_path: Path, name: str) -> None:
    path = changed(project(tmp_path, "[1, 0]", k_anonymity(4)), **VARIATIONS[name])
    assert shown(path) == by_hand((1, 0), lambda values: len(values) >= 4)
    schema = project_schema(path)
    table = read_table(path, schema)
    release = read_release(path, schema, attributes=table.attributes)
    assert (table.rows, release.rows, release.class_sizes().min()) == (len(ROWS), len(ROWS), 6)


TYPES = {
    "Integer": ("<datatype>Integer</datatype>", str),
    "Ordinal": ("<datatype>Ordinal</datatype><format>" + ",".join(AGES) + "</format>", str),
    "Decimal": ("<datatype>Decimal</datatype>", lambda age: f"{age}.5"),
    "Date/Time": ("<datatype>Date/Time</datatype><format>yyyy-MM-dd</format>", lambda age: f"19{age}-07-01"),
    "umlauts": ("<datatype>String</datatype>", lambda age: f'Jahrgang {age}, süd; "neu"'),
}


@pytest.mark.parametrize("name", TYPES)
def test_every_data_type_is_read(tmp_path: Path, name: str) -> None:
    said, write = TYPES[name]
    rows = [(write(age), zip_, value) for age, zip_, value in ROWS]
    tree = csv_of([(write(age), *labels[1:]) for age, labels in AGES.items()])
    both = {f"{where}__hierarchies__age_dot_csv": tree for where in ("input", "output")}
    path = changed(project(tmp_path, "[1, 0]", k_anonymity(4), rows=rows, said={"age": said}), **both)
    assert shown(path) == by_hand((1, 0), lambda values: len(values) >= 4)
    schema = project_schema(path)
    table = read_table(path, schema)
    release = read_release(path, schema, attributes=table.attributes)
    assert release.class_sizes().min() == 6
    assert release.attributes == table.attributes


def test_several_sensitive_models_all_count(tmp_path: Path) -> None:
    """Each of its own attribute; a class must keep all of them."""
    two = Java(f"{CRITERIA}DistinctLDiversity", attribute="disease", minSize=2, l=2.0)
    near = Java(f"{CRITERIA}EqualDistanceTCloseness", attribute="disease", t=0.35)

    def keeps(values: Sequence[str]) -> bool:
        apart = sum(abs(share(values).get(d, 0) - ALL[d]) for d in ALL) / 2
        return len(values) >= 4 and len(set(values)) >= 2 and apart <= 0.35

    assert shown(project(tmp_path, "[1, 0]", k_anonymity(4), two, near)) == by_hand((1, 0), keeps)


@pytest.mark.parametrize("function", ["Geometric mean", "Mode", "Generalization", "Sum of squares", "", "ärger"])
def test_any_function_is_computed_or_refused_in_one_line(tmp_path: Path, function: str) -> None:
    said = f"<datatype>Integer</datatype><microaggregationFunction>{function}</microaggregationFunction>"
    path = project(tmp_path, "[1, 0]", k_anonymity(4), said={"age": said})
    if function == "Geometric mean":
        assert shown(path)[9][0] == "42"
        return
    with pytest.raises(ReleaseError, match=r"^[^\n]*xport the output in ARX as CSV[^\n]*$"):
        shown(path)
