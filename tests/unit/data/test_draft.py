"""Drafted schemas: kinds, roles, domains, evidence, and whatever a hostile file can hold."""

import tomllib
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unveil.data.attribute import Kind, Role
from unveil.data.draft import Draft, draft_schema, sets
from unveil.data.schema import read_schema
from unveil.data.table import CodedColumn, code_table
from unveil.errors import SchemaError, TableError


def coded(values):
    number = {}
    rows = [number.setdefault(v, len(number)) for v in values]
    return CodedColumn(tuple(number), np.array(rows, dtype=np.uint32))


def drafted(decimal=".", **columns) -> Draft:
    return draft_schema({name: coded(values) for name, values in columns.items()}, name="t.csv", decimal=decimal)


def evidence_of(found, name):
    return next(e for e in found.evidence if e.name == name)


def table_of(found, columns, folder, decimal="."):
    path = folder / "schema.toml"
    path.write_text(found.toml, encoding="utf-8", newline="")
    return code_table(read_schema(path), columns, name="t", place=str, decimal=decimal)


# --- kinds


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "2", "30"], Kind.NUMERIC),
        (["-1.5", "2", "3e2"], Kind.NUMERIC),
        ([" 7", "8 "], Kind.NUMERIC),
        (["01234", "45501"], Kind.CATEGORICAL),
        (["0", "0.5"], Kind.NUMERIC),
        (["12345678901234567", "12345678901234568"], Kind.CATEGORICAL),
        (["2024-01-31", "1900-12-01"], Kind.DATE),
        (["2024-W05", "2024-W06"], Kind.CATEGORICAL),
        (["31.12.2024", "1.1.2024"], Kind.DATE),
        (["03/04/2024", "05/06/2024"], Kind.CATEGORICAL),  # the day or the month first: a human decides
        (["03/04/2024", "25/06/2024"], Kind.DATE),
        (["2024-01-31 10:00", "2024-01-31 11:00"], Kind.DATE),
        (["25/06/2024", "2024-06-25", "01/02/2024"], Kind.DATE),  # a sheet's real dates beside typed ones
        (["05/06/2024", "2024-06-25", "01/02/2024"], Kind.CATEGORICAL),
        (["1", "two"], Kind.CATEGORICAL),
        (["inf", "nan1"], Kind.CATEGORICAL),
        (["?", "3", "4"], Kind.NUMERIC),
        (["?", ""], Kind.CATEGORICAL),
    ],
)
def test_kinds(texts, kind):
    assert drafted(x=texts).evidence[0].kind is kind


def test_a_kind_that_surprises_has_a_reason():
    found = drafted(a=["01/02/2024", "1/1/2024"], b=["2024-01-31T10:00", "2024-02-01T10:00"], plz=["80331", "10115"])
    assert any("dates must be ISO" in r for r in evidence_of(found, "a").reasons)
    assert "a time of day is left out" in found.toml
    assert evidence_of(found, "plz").kind is Kind.CATEGORICAL
    assert any("codes" in r for r in evidence_of(found, "plz").reasons)
    nearly = drafted(x=[str(i) for i in range(20)] + ["5 to 6"])
    assert any("most values are numbers" in r for r in nearly.evidence[0].reasons)
    assert 'prepare = { date = "yyyymmdd" }' in drafted(d=["20240131", "20231201"]).toml


def test_decimal_comma(tmp_path):
    columns = {"x": coded(["1,5", "2,25", "1.000,5", "?"])}
    found = draft_schema(columns, name="t", decimal=",")
    assert found.evidence[0].kind is Kind.NUMERIC
    table = table_of(found, columns, tmp_path, decimal=",")
    assert table.attributes[0].values == ("1.5", "2.25", "1000.5", "?")
    proposed = draft_schema(columns, name="t")
    assert 'prepare = { decimal = ",", thousands = "." }' in proposed.toml
    assert table_of(proposed, columns, tmp_path).attributes[0].values == ("1.5", "2.25", "1000.5", "?")


# --- domains


def domain(texts, name="x", key="domain"):
    return tomllib.loads(drafted(**{name: texts}).toml)["attributes"][name].get(key)


def test_a_column_of_nothing_but_stars_is_withheld():
    found = drafted(zip=["*"] * 5, age=["30", "31", "32", "33", "34"], part=["*", "a", "b", "*", "c"])
    assert evidence_of(found, "zip").role is Role.IDENTIFIER
    assert "every cell is withheld" in found.toml
    assert evidence_of(found, "part").role is not Role.IDENTIFIER


def test_domains_by_their_ends():
    assert domain(["17", "18", "20"]) == {"from": 17, "to": 20, "step": 1}
    assert domain(["1000", "3000", "2000"]) == {"from": 1000, "to": 3000, "step": 1000}
    assert domain(["0.5", "0.75", "1.25"]) == {"from": 0.5, "to": 1.25, "step": 0.25}
    assert domain(["2024-01-01", "2024-01-08"], "d") == {
        "from": tomllib.loads("d=2024-01-01")["d"],
        "to": tomllib.loads("d=2024-01-08")["d"],
        "step": 7,
    }


def test_sparse_numbers_are_listed():
    assert domain(["0", "1", "99999"]) == [0, 1, 99999]
    assert domain(["1e-9", "3.5"]) == [1e-9, 3.5]
    assert domain(["5", "5.0"]) == [5]


@pytest.mark.parametrize("scale", ["{}", "{}.5", "0.{:09d}1"])
@pytest.mark.parametrize("zeros", [0, 50_000])
def test_many_sparse_numbers_get_bins(tmp_path, scale, zeros):
    texts = [scale.format(i * i * 7 + i) for i in range(1_500)] + ["0"] * zeros
    columns = {"x": coded(texts)}
    found = draft_schema(columns, name="t")
    table = table_of(found, columns, tmp_path)
    assert 4 <= table.attributes[0].codes <= 20
    assert table.attributes[0].binned
    assert np.bincount(table.columns[0]).min() > 0
    assert "move the cuts" in found.toml


def test_bins_hold_about_equally_many_rows(tmp_path):
    texts = [str(round(x)) for x in np.random.default_rng(1).lognormal(10, 1, 5_000)]
    table = table_of(drafted(x=texts), {"x": coded(texts)}, tmp_path)
    share = np.bincount(table.columns[0]) / len(texts)
    assert share.max() < 0.2


def test_a_sensitive_number_never_has_over_1000_codes(tmp_path):
    texts = [str(i) for i in range(2_000)]
    columns = {"income": coded(texts), "x": coded(texts)}
    table = table_of(draft_schema(columns, name="t"), columns, tmp_path)
    assert table.attributes[0].role is Role.SENSITIVE
    assert table.attributes[0].codes <= 1_000


def test_categories_are_listed_up_to_a_number():
    assert domain(["b", "a", "a"]) == ["a", "b"]
    many = [f"v{i}" for i in range(10_001)] * 2
    found = drafted(place_of_work=many)
    assert "domain" not in tomllib.loads(found.toml)["attributes"]["place_of_work"]
    assert "over 10,000 values" in found.toml


def test_identifiers_keep_their_values_out_of_the_file():
    found = drafted(email=["ann@x.org", "bob@y.org"], age=["1", "2"])
    assert "ann@" not in found.toml
    assert "domain" not in tomllib.loads(found.toml)["attributes"]["email"]


def test_missing_lists_only_tokens_that_occur(tmp_path):
    columns = {"a": coded(["x", "?", "y", " ?"]), "b": coded(["1", "2", "NA", "3"]), "c": coded(["u", "v", "u", "v"])}
    found = draft_schema(columns, name="t")
    document = tomllib.loads(found.toml)
    assert document["missing"] == [" ?", "?", "NA"]
    assert {n: a.get("missing") for n, a in document["attributes"].items()} == {
        "a": "category",
        "b": "category",
        "c": None,
    }
    assert [e.missing for e in found.evidence] == [2, 1, 0]
    table = table_of(found, columns, tmp_path)
    assert [a.missing for a in table.attributes] == [True, True, False]
    assert "missing" not in tomllib.loads(drafted(a=["x", "y"]).toml)


def test_other_missing_tokens_can_be_named(tmp_path):
    columns = {"age": coded(["30", "31", "-9", "32"])}
    found = draft_schema(columns, name="t", missing=["-9"])
    assert tomllib.loads(found.toml)["attributes"]["age"]["domain"] == {"from": 30, "to": 32, "step": 1}
    assert table_of(found, columns, tmp_path).attributes[0].values == ("30", "31", "32", "-9")


def test_a_star_in_the_data_is_pointed_out(tmp_path):
    columns = {"a": coded(["*", "x", "y"])}
    found = draft_schema(columns, name="t")
    assert tomllib.loads(found.toml)["attributes"]["a"]["domain"] == ["x", "y"]
    assert "rename it" in found.toml
    with pytest.raises(TableError, match=r"'\*' is not a value"):
        table_of(found, columns, tmp_path)


# --- roles


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("ssn", Role.IDENTIFIER),
        ("E-Mail", Role.IDENTIFIER),
        ("Telefon", Role.IDENTIFIER),
        ("prénom", Role.IDENTIFIER),
        ("Straße", Role.IDENTIFIER),
        ("patientId", Role.IDENTIFIER),
        ("name", Role.IDENTIFIER),
        ("diagnosis_code", Role.SENSITIVE),
        ("Gehalt", Role.SENSITIVE),
        ("religion", Role.SENSITIVE),
        ("age", Role.QUASI_IDENTIFIER),
        ("Geschlecht", Role.QUASI_IDENTIFIER),
        ("colour", Role.QUASI_IDENTIFIER),
        ("idea", Role.QUASI_IDENTIFIER),
    ],
)
def test_names_hint_at_roles(name, role):
    found = drafted(**{name: [f"v{i}" for i in range(12)]}).evidence[0]
    assert found.role is role
    assert found.reasons


def test_amounts_written_in_several_ways_are_not_published_to_the_cent():
    amounts = [f"{1000 + 7 * i}.{i % 100:02d}" if i % 2 else f"{1 + i}.{i:03d},50 €" for i in range(60)]
    evidence = evidence_of(drafted(reddito=amounts, sex=["f", "m"] * 30), "reddito")
    assert evidence.role is Role.IDENTIFIER
    assert "write them in one way" in evidence.reasons[0]
    assert evidence_of(drafted(reddito=[f"{1000 + 7 * i}" for i in range(60)]), "reddito").role is Role.SENSITIVE


def test_values_hint_at_identifiers():
    rows = 200
    found = drafted(
        record=[str(10_000 + i) for i in range(rows)],
        long=[str(7_000_000 + i * 9_973) for i in range(rows)],
        token=[f"x{i}" for i in range(rows)],
        amount=[str(i * 137 % 9_000) for i in range(rows)],
        measured=[f"{i}.25" for i in range(rows)],
        day=[f"20{i // 4:02d}-01-{i % 4 + 1:02d}" for i in range(rows)],
        birth_city=[f"c{i}" for i in range(rows)],
        country_name=["a", "b"] * (rows // 2),
    )
    roles = {e.name: e.role for e in found.evidence}
    assert [n for n, r in roles.items() if r is Role.IDENTIFIER] == ["record", "long", "token"]
    assert all(e.reasons for e in found.evidence)


def test_a_column_that_numbers_the_rows_is_drafted_as_an_identifier():
    few = drafted(**{"Unnamed: 0": list("0123"), "index": list("1243"), "grade": list("1234"), "level_0": list("2345")})
    assert [e.name for e in few.evidence if e.role is Role.IDENTIFIER] == ["Unnamed: 0", "index"]
    assert "numbers the rows" in evidence_of(few, "index").reasons[0]


def test_in_a_few_rows_all_different_says_nothing():
    assert drafted(x=[f"v{i}" for i in range(12)]).evidence[0].role is Role.QUASI_IDENTIFIER
    assert drafted(number_of_children=["0", "1", "2"] * 4).evidence[0].role is Role.QUASI_IDENTIFIER


def test_one_value_is_insensitive_unless_its_name_says_otherwise():
    assert drafted(year=["2020"] * 3).evidence[0].role is Role.INSENSITIVE
    assert drafted(disease=["hiv"] * 3).evidence[0].role is Role.SENSITIVE
    assert drafted(x=["?", ""]).evidence[0].role is Role.INSENSITIVE


def test_weights_and_frequencies_are_only_offered(tmp_path):
    columns = {"fnlwgt": coded(["1.5", "2.5", "9"]), "n": coded(["1", "2", "7"]), "weight": coded(["-1", "2", "3"])}
    found = draft_schema(columns, name="t")
    document = tomllib.loads(found.toml)
    assert "weight" not in document
    assert "frequency" not in document
    assert '# weight = "fnlwgt"' in found.toml
    assert '# frequency = "n"' in found.toml
    assert '# weight = "weight"' not in found.toml
    assert {e.role for e in found.evidence} == {Role.QUASI_IDENTIFIER}
    assert not {"n", "fnlwgt"} & {name for s in found.sets for name in s.names}
    taken = found.toml.replace("# frequency = ", "frequency = ").replace("[attributes.n]\n", "[attributes.unused]\n")
    assert tomllib.loads(taken)["frequency"] == "n"


def test_a_draft_is_not_confirmed(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(drafted(age=["1", "2"]).toml)
    with pytest.raises(SchemaError, match="not confirmed"):
        read_schema(path).confirmed()


# --- evidence


def test_evidence_of_one_column():
    found = drafted(a=["x", "x", "y", "?"]).evidence[0]
    assert (found.distinct, found.missing) == (3, 1)
    assert found.distinctness == 3 / 4
    assert found.separation == pytest.approx(5 / 6)  # of 6 pairs only x-x is alike
    assert found.uniqueness == 2 / 4


def test_unused_texts_do_not_count():
    column = CodedColumn(("a", "b", "unused"), np.array([0, 1, 0], dtype=np.uint8))
    found = draft_schema({"x": column}, name="t").evidence[0]
    assert found.distinct == 2


@given(
    st.integers(1, 40).flatmap(
        lambda rows: st.lists(
            st.lists(st.sampled_from(["a", "b", "c", "d", "?"]), min_size=rows, max_size=rows), min_size=1, max_size=4
        )
    )
)
def test_sets_agree_with_counting_by_hand(table):
    names = [f"q{i}" for i in range(len(table))]
    found = drafted(**dict(zip(names, table, strict=True)))
    rows = len(table[0])
    for measured in found.sets:
        keys = list(zip(*(table[names.index(n)] for n in measured.names), strict=True))
        assert measured.uniqueness == pytest.approx(sum(keys.count(k) == 1 for k in keys) / rows)
        assert measured.distinctness == pytest.approx(len(set(keys)) / rows)
        pairs = list(combinations(keys, 2))
        assert measured.separation == pytest.approx(sum(a != b for a, b in pairs) / len(pairs) if pairs else 0)
    worst = [s.uniqueness for s in found.sets]
    assert worst == sorted(worst, reverse=True)


def test_a_set_is_listed_only_if_it_is_worse_than_its_parts():
    texts = [f"v{i}" for i in range(30)]
    found = drafted(alone=texts, pair=["a", "b"] * 15, other=["c"] * 10 + ["d"] * 20)
    assert found.sets[0].names == ("alone",)
    assert all("alone" not in s.names for s in found.sets[1:])


def test_the_search_for_sets_has_a_stated_cost(monkeypatch):
    generator = np.random.default_rng(5)
    columns = {f"q{i}": coded([f"v{x}" for x in generator.integers(0, 3 + i, 300)]) for i in range(12)}
    whole = draft_schema(columns, name="t")
    assert whole.search == "all sets of up to 3 of 12 attributes"
    monkeypatch.setattr(sets, "SET_ROWS", 300 * 20)
    part = draft_schema(columns, name="t")
    assert part.search == "20 sets of 2 or 3, the most separating first"
    assert part.sets[0].uniqueness >= 0.8 * whole.sets[0].uniqueness
    monkeypatch.setattr(sets, "SET_ATTRIBUTES", 3)
    assert "2 or 3" in draft_schema(columns, name="t").search


def test_combinations_beyond_64_bits_are_renumbered():
    codes = [np.array([0, 0, 1, 2], dtype=np.uint64)] * 3
    counts = sets._joint_counts(codes, [2**31, 2**31, 2**31])
    assert sorted(counts.tolist()) == [1, 1, 2]


def test_nothing_to_draft_from():
    with pytest.raises(TableError, match="holds no rows"):
        draft_schema({}, name="t")
    with pytest.raises(TableError, match="holds no rows"):
        draft_schema({"a": coded([])}, name="t")


# --- hostile input

HOSTILE = st.text(
    st.one_of(
        st.characters(codec="utf-8"), st.sampled_from(list("\"'\\\n\r\t]#[=.,*?{}\x00\x7f\x85\u2028\u202e\ufeff😀0"))
    ),
    max_size=8,
)
NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=2).map(str),
    st.integers(0, 50).map(str),
)
DATES = st.dates().map(str)


@st.composite
def hostile_columns(draw):
    rows = draw(st.integers(1, 12))
    names = draw(st.lists(HOSTILE, min_size=1, max_size=4, unique=True))
    kinds = st.sampled_from([HOSTILE, NUMBERS, DATES, st.sampled_from(["0", "1", "?", "x"])])
    return {n: draw(kinds.flatmap(lambda k: st.lists(k, min_size=rows, max_size=rows))) for n in names}


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(columns=hostile_columns(), source=HOSTILE)
def test_any_text_gives_a_schema_that_reads_and_encodes(tmp_path, columns, source):
    found = draft_schema({n: coded(v) for n, v in columns.items()}, name=source)
    document = tomllib.loads(found.toml)
    assert list(document["attributes"]) == list(columns)
    assert document["confirmed"] is False
    assert set(document) <= {"version", "confirmed", "missing", "attributes"}
    tokens = document.get("missing", [])
    for line in found.toml.splitlines():
        assert line.isprintable()
    for name, texts in columns.items():
        declared = document["attributes"][name]
        if declared["kind"] == "categorical" and declared["role"] != "identifier" and "prepare" not in declared:
            assert declared.get("domain", []) == sorted(set(texts) - set(tokens) - {"*"})
    kept = {n: coded(v) for n, v in columns.items() if "*" not in v}
    if any(document["attributes"][n]["role"] != "identifier" for n in kept):
        again = draft_schema(kept, name=source)
        table = table_of(again, kept, tmp_path)
        for attribute, codes in zip(table.attributes, table.columns, strict=True):
            texts = columns[attribute.name]
            if attribute.kind is Kind.CATEGORICAL:
                expected = [attribute.values[-1] if t in tokens and attribute.missing else t for t in texts]
                assert [attribute.values[c] for c in codes] == expected


def test_half_a_character_is_refused():
    with pytest.raises(SchemaError, match="half a character"):
        drafted(a=["\ud800", "x"])


@pytest.mark.parametrize(
    ("texts", "kind", "frozen"),
    [
        (["['17']", "['17-20']", "['21-30']"], "numeric", False),  # anonypy's lists of one
        (["Female", "Male", "Female,Male"], "categorical", False),
        (["['Female']", "['Female,Male']"], "categorical", False),
        (["{a,b}", "a"], "categorical", False),
        (["a|b", "b|c"], "categorical", False),
        (["Smith, John", "Doe, Jane"], "categorical", True),  # no part stands elsewhere
        (["Female", "Male"], "categorical", True),
    ],
)
def test_cells_of_several_values_are_no_domain(texts: list[str], kind: str, frozen: bool) -> None:
    """As values they would pass for exact ones, and an audit would be of another release."""
    columns = {"x": CodedColumn(tuple(texts), np.arange(len(texts)))}
    drafted = draft_schema(columns, name="r.csv", published=True).toml
    assert f'kind = "{kind}"' in drafted
    assert ("\ndomain = " in drafted) == frozen
    assert ("--cells x=list" in drafted) == (kind == "categorical" and not frozen)
    assert "--cells" not in draft_schema(columns, name="t.csv").toml  # an original shows values


@pytest.mark.parametrize(
    ("name", "texts", "kind", "domain"),
    [
        ("dob", ["1980-01-01~1980-12-31", "1981-01-01/1981-12-31", "*"], "date", None),
        ("dob", ["[1980-01-01, 1981-01-01[", "1981-02-03"], "date", None),
        ("dob", ["<1980-01-01", "≥ 1980-01-01"], "date", None),
        ("dob", ["1980-01-01", "1980-01-03", "*"], "date", None),
        ("age", ["(-Inf,20]", "(20, Inf]"], "numeric", None),
        ("age", ["(1e+04,2e+04]", "[30000, ∞)"], "numeric", None),
        ("age", ["20 to 29", "30..39", "40 – 49", "=>50", "90 +"], "numeric", None),
        ("age", ["20", "21", "*"], "numeric", None),  # numbers, of which some are withheld
        ("zip", ["81541", "80331"], "categorical", ["80331", "81541"]),  # codes, not intervals of numbers
        ("zip", ["01067", "81541", "*"], "categorical", ["01067", "81541"]),
        ("zip", ["81541", "81541,81549"], "categorical", None),
        ("zip", ["81541-81549", "81667"], "numeric", None),
        ("x", ["a", "b", "*"], "categorical", ["a", "b"]),
        ("x", ["a", "*"], "categorical", None),  # `*` could not be told from a
        ("x", ["a", "*", "NA"], "categorical", ["a"]),
        ("x", ["*", "***"], "categorical", None),
    ],
)
def test_what_a_release_shows_is_drafted(name: str, texts: list[str], kind: str, domain: list[str] | None) -> None:
    drafted = draft_schema({name: coded(texts)}, name="r.csv", published=True).toml
    document = tomllib.loads(drafted)["attributes"][name]
    assert (document["kind"], document.get("domain")) == (kind, domain)
    assert "rename it in the data" not in drafted
    assert (f"say --cells {name}=suppressed" in drafted) == ("NA" in texts)


@pytest.mark.parametrize(("other", "said"), [("unknown", True), ("60+", False)])
def test_intervals_beside_something_else_are_remarked(other: str, said: bool) -> None:
    drafted = draft_schema({"age": coded(["[20, 30[", "[30, 40[", other])}, name="r.csv", published=True).toml
    assert ("most cells are intervals: correct the others or list them under missing" in drafted) == said


def test_a_column_name_stays_within_its_comment() -> None:
    columns = {'a\nhierarchy = "/x"': coded(["{a,b}", "a"]), "b\x85c": coded(["a", "b", "NA"])}
    document = tomllib.loads(draft_schema(columns, name="r.csv", published=True).toml)
    assert list(document["attributes"]) == list(columns)
    assert all("hierarchy" not in declared for declared in document["attributes"].values())


# --- a draft protects


COLUMNS = {
    "notes": [f"spoke to Mr Smith{i % 9} again" for i in range(60)],
    "x1": [f"a{i % 50}@example.org" for i in range(60)],
    "x2": [f"0251 {100_000 + i % 30}" for i in range(60)],
    "x3": [f"Lindenstraße {i % 40}" for i in range(60)],
    "x4": [f"Meier{chr(97 + i % 26)}, Anna" for i in range(60)],
    "x5": [f"the patient came in at {i} and left later" for i in range(60)],
    "Geburtsdatum": [f"{1 + i % 28:02d}.03.{1950 + i % 40}" for i in range(60)],
    "Fallnr": [f"F{i}" for i in range(60)],
    "last_name": ["Abernathy", "Lockridge", "Winterbourne"] * 20,  # few families, and names all the same
    "FirstName": ["Ann", "Bob"] * 30,
    "Given name": ["Ann", "Bob"] * 30,
    "NAME": ["Abernathy", "Lockridge"] * 30,
    "Nom de famille": ["Abernathy", "Lockridge"] * 30,
    "Nombre completo": ["Abernathy", "Lockridge"] * 30,
    "e_mail": ["none given", "see file"] * 30,
    "x6": [f"dr. van {name}" for name in ("Dijk", "Leeuwen", "Dam")] * 20,
    "x7": [f"{a} {b}" for a in ("Daan", "Emma", "Sem") for b in map("Rossi{}".format, "abcdefghijklmnopqrst")],
    "Hausarzt": [f"Praxis {chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)],
    "lat": [f"51.{100_000 + 37 * i}" for i in range(60)],
    "Geokoordinaten": [f"51.{100 + i}, 7.{200 + i}" for i in range(60)],
    "Aufnahme": [f"{1 + i % 28}.03.2019" if i % 2 else f"03/{1 + i % 28:02d}/2019" for i in range(60)],
    "Kontonummer": [f"DE{10**19 + 97 * i}" for i in range(60)],
    "x8": [f"192.168.{i}.{i + 7}" for i in range(60)],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_points_at_people_is_drafted_as_an_identifier(name):
    found = drafted(**{name: COLUMNS[name], "sex": ["f", "m"] * 30})
    evidence = evidence_of(found, name)
    assert evidence.role is Role.IDENTIFIER
    assert evidence.reasons[0]
    for text in COLUMNS[name]:
        assert text not in found.toml


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Nachname", Role.IDENTIFIER),
        ("apellidos", Role.IDENTIFIER),
        ("voornaam", Role.IDENTIFIER),
        ("indirizzo", Role.IDENTIFIER),
        ("Téléphone", Role.IDENTIFIER),
        ("Hauptdiagnose", Role.SENSITIVE),
        ("Diagnostic principal", Role.SENSITIVE),
        ("enfermedad", Role.SENSITIVE),
        ("ziekte", Role.SENSITIVE),
        ("malattia", Role.SENSITIVE),
        ("Bruttogehalt", Role.SENSITIVE),
        ("Roepnaam", Role.IDENTIFIER),
        ("Motif de l'arrêt", Role.SENSITIVE),
        ("Reason for absence", Role.SENSITIVE),
        ("Zorgindicatie", Role.SENSITIVE),
        ("Krankenkasse", Role.QUASI_IDENTIFIER),
        ("leeftijd", Role.QUASI_IDENTIFIER),
        ("Staatsangehörigkeit", Role.QUASI_IDENTIFIER),
    ],
)
def test_words_of_roles_in_six_languages(name, role):
    assert evidence_of(drafted(**{name: ["a", "b", "c"]}), name).role is role


def test_values_that_name_conditions_are_sensitive_whatever_the_column_is_called():
    some = ["dyslexie", "ADHD", "Épilepsie", "geen"]
    found = evidence_of(drafted(x=some * 5, y=["kanker", "groen", "rood", "blauw"] * 5), "x")
    assert found.role is Role.SENSITIVE
    assert found.reasons == ("3 of its 4 different texts name illnesses or other conditions",)
    assert evidence_of(drafted(y=["Migros", "Coop", "Aldi", "Lidl"] * 5), "y").role is Role.QUASI_IDENTIFIER


def test_a_birth_date_without_another_date_becomes_a_year():
    """The last birth is no day on which ages could be taken."""
    births = [f"{1 + i % 28}-{1 + i % 12}-{1950 + i % 50}" for i in range(100)]
    found = drafted(**{"Geb.datum": births, "Geslacht": ["m", "v"] * 50})
    assert 'prepare = { from = "Geb.datum", date = "dd-mm-yyyy", part = "year" }' in found.toml
    assert evidence_of(found, "Geboortejaar").kind is Kind.NUMERIC
    beside = drafted(**{"Né(e) le": births, "Entrée": [f"1-2-20{10 + i % 9}" for i in range(100)]})
    assert 'age_at = "Entrée"' in beside.toml
    assert "[attributes.Âge]" in beside.toml.replace('"', "")


@pytest.mark.parametrize(
    ("texts", "prepare"),
    [
        ([f"£{i},250.00" for i in range(1, 60)], 'unit = "£", decimal = ".", thousands = ","'),
        ([f"{i}.250,{i % 10} €" for i in range(1, 60)], 'unit = "€", decimal = ",", thousands = "."'),
        ([f"{i}.5%" for i in range(40)], 'unit = "%", decimal = "."'),
        ([f"{i}-Jan-2019" for i in range(1, 31)], 'date = "dd-mmm-yyyy"'),
        ([f"{i} août 2019" for i in range(1, 31)], 'date = "dd mmm yyyy"'),
    ],
)
def test_units_and_months_by_name_are_proposed(texts, prepare):
    found = drafted(x=texts * 2)
    assert f"prepare = {{ {prepare} }}" in found.toml
    assert evidence_of(found, "x").kind.measured


def test_codes_are_no_numbers_with_a_unit():
    for texts in ([f"C{i}" for i in range(40)], [f"{i}A" for i in range(40)], [f"km {i}" for i in range(40)]):
        assert "unit" not in drafted(x=texts * 2).toml


def test_titles_of_jobs_that_many_rows_have_for_themselves_are_free_text():
    jobs = [
        f"Leiter {word} {place}"
        for word in map("Amt{}".format, "abcdefghijk")
        for place in map("Ort{}".format, "lmnopqrstuv")
    ]
    found = drafted(Beruf=[*jobs, *["Lehrer", "Maurer"] * 50], ort=[f"{1000 + i % 150} AB" for i in range(221)])
    assert evidence_of(found, "Beruf").role is Role.IDENTIFIER
    assert evidence_of(found, "ort").role is Role.QUASI_IDENTIFIER, "codes of two parts are not words"


def test_categories_of_several_words_stay_what_they_are():
    titles = [f"Type {i % 80} disorder of {word}" for i in range(2_000) for word in ("eye", "ear")]
    found = drafted(ward=["Innere Medizin", "Chirurgie West"] * 2_000, title=titles)
    assert evidence_of(found, "ward").role is Role.QUASI_IDENTIFIER
    assert evidence_of(found, "title").role is Role.QUASI_IDENTIFIER


def test_two_spellings_of_a_long_word_are_one_value_however_often_each_is_written():
    toml = drafted(race=["White", "white", "White ", "Black"] * 30, code=["m", "M", "f"] * 40).toml
    assert 'domain = ["Black", "White"]' in toml
    assert "'white' (30 rows) is read as 'White'" in toml
    assert 'domain = ["M", "f", "m"]' in toml  # one letter may be a code


def test_missing_words_are_found_and_said(tmp_path):
    columns = {"x": coded(["1", "2", "3", "k.A."] * 20), "y": coded(["a", "b", "K.A.", "c"] * 20)}
    found = draft_schema(columns, name="t")
    assert "# found, and read as missing: 'K.A.' 20 rows, 'k.A.' 20 rows" in found.toml
    table = table_of(found, columns, tmp_path)
    assert table.attributes[0].kind is Kind.NUMERIC
    assert [a.real for a in table.attributes] == [3, 3]


def test_a_word_among_numbers_is_missing_in_that_column_only(tmp_path):
    columns = {"x": coded([*map(str, range(30)), "offen"] * 3), "y": coded(["offen", "zu", "zu"] * 31)}
    found = draft_schema(columns, name="t")
    assert 'prepare = { missing = ["offen"] }' in found.toml
    assert evidence_of(found, "x").kind is Kind.NUMERIC
    assert evidence_of(found, "y").distinct == 2


def test_long_domains_stand_in_files(tmp_path):
    columns = {"city / town": coded([f"t;{i % 40}" for i in range(200)])}
    found = draft_schema(columns, name="t", folder="d")
    assert list(found.files) == ["d/city _ town.csv"]
    assert len(found.toml.splitlines()) < 25
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "city _ town.csv").write_text(found.files["d/city _ town.csv"], encoding="utf-8")
    assert table_of(found, columns, tmp_path).attributes[0].codes == 40


def test_what_is_no_word_and_stands_for_missing_among_numbers_does_so_everywhere():
    """Else N/C would be a value of the marital status, and a hierarchy would put it beside the widowed."""
    people = 60
    found = drafted(
        weight=[str(50 + i) if i % 9 else "N/C." for i in range(people)],
        state=["N/C." if i % 7 == 0 else ("married", "single")[i % 2] for i in range(people)],
        children=[str(i % 4) if i % 10 else "N/C." for i in range(people)],  # too few numbers to say it alone
        smokes=["none" if i % 3 else "some" for i in range(people)],
        cigarettes=[str(i) if i % 3 else "none" for i in range(people)],  # a word may mean something elsewhere
    )
    document = tomllib.loads(found.toml)
    assert "N/C." in document["missing"]
    assert document["attributes"]["state"]["domain"] == ["married", "single"]
    assert evidence_of(found, "children").kind is Kind.NUMERIC
    assert document["attributes"]["smokes"]["domain"] == ["none", "some"]
    assert document["attributes"]["cigarettes"]["prepare"] == {"missing": ["none"]}


@pytest.mark.parametrize("name", ["F. Nac.", "D.O.B.", "GEBDATUM", "Naiss.", "生日", "X7"])
def test_days_of_birth_are_found_by_their_name_or_by_their_span(name):
    days = [f"{1930 + i % 80}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(200)]
    found = drafted(**{name: days, "seen": [f"2020-{1 + i % 12:02d}-01" for i in range(200)]})
    assert evidence_of(found, name).role is Role.IDENTIFIER
    assert [e.reasons[0] for e in found.evidence if e.name not in (name, "seen")] == ["completed years on 2020-12-01"]


@pytest.mark.parametrize("name", ["admission date", "X7"])
def test_days_of_a_few_years_or_of_stays_are_no_births(name):
    years = 80 if name == "admission date" else 30
    found = drafted(**{name: [f"{1930 + i % years}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(200)]})
    assert evidence_of(found, name).role is Role.QUASI_IDENTIFIER


def test_codes_in_two_cases_are_read_in_capitals(tmp_path):
    codes = [f"{'EIJK'[i % 4]}{10 + i % 23}.{i % 3}" for i in range(400)]
    columns = {"icd": coded([code.lower() if i % 9 == 0 else code for i, code in enumerate(codes)])}
    found = draft_schema(columns, name="t.csv")
    document = tomllib.loads(found.toml)["attributes"]["icd"]
    assert document["prepare"] == {"case": "upper"}
    assert "are read in capitals" in found.toml
    table = table_of(found, columns, tmp_path)
    assert [table.attributes[0].values[code] for code in table.columns[0]] == codes
