"""What the pages write: the same files that the command line does, and nothing else."""

import json
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from studios import Visitor, running

from unveil.cli.audit import AuditOptions
from unveil.cli.command import read_config
from unveil.data.draft import draft_schema
from unveil.data.schema import read_schema
from unveil.data.schema.edit import with_keys
from unveil.errors import SchemaError
from unveil.formats.tables import read_columns
from unveil.studio.texts import LANGUAGES, catalogue, language_of

ROWS = "".join(f"{20 + i % 40},{'fm'[i % 2]},{45000 + i % 7},{['flu', 'none', 'asthma'][i % 3]}\n" for i in range(80))
TEMPLATES = Path(__file__).parents[3] / "src" / "unveil" / "studio"


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Visitor]:
    (tmp_path / "people.csv").write_text(f"age,sex,postcode,disease\n{ROWS}")
    (tmp_path / "documents").mkdir()
    found = read_columns(tmp_path / "people.csv")
    draft = draft_schema(found.columns, name="people.csv")
    (tmp_path / "schema.toml").write_text("# mine\n" + draft.toml)
    (tmp_path / "documents" / "draft.json").write_text(draft.evidence_json("people.csv", found.rows))
    with running(tmp_path) as visitor:
        visitor.admitted().post("/data", file="people.csv")
        yield visitor


def test_settings_are_those_of_an_audit(studio: Visitor) -> None:
    studio.post("/data", file="people.csv", delimiter=",", encoding="utf-8")
    studio.post("/roles", confirm="yes")
    (studio.folder / "releases" / "r.csv").write_text("age,sex,postcode,disease\n*,f,*,flu\n")
    studio.made.studio.jobs.start = lambda words, **rest: studio.made.studio.jobs._words.append(words)
    studio.made.studio.jobs._words = []
    answer = studio.post(
        "/audit", release="releases/r.csv", limit="k_anonymity >= 5\n", minutes="2", recipient="<b>x</b>"
    )
    assert answer.status == 303, answer.text
    held = read_config(studio.folder / "unveil.toml", AuditOptions)
    assert held["limit"] == ["k_anonymity >= 5"]
    assert (held["minutes"], held["recipient"], held["delimiter"]) == (2.0, "<b>x</b>", ",")
    assert Path(held["original"]) == studio.folder / "people.csv"
    (words,) = studio.made.studio.jobs._words
    assert words[:3] == ["audit", "releases/r.csv", "--config=unveil.toml"]
    assert "<b>x</b>" not in studio.get("/audit").text
    assert "&lt;b&gt;x&lt;/b&gt;" in studio.get("/audit").text


@pytest.mark.parametrize("limit", ["k_anonymity", "k_anonymity >= x", "$(touch x) <= 1", "--report=/tmp/x"])
def test_a_limit_that_is_none_is_refused_in_words(studio: Visitor, limit: str) -> None:
    (studio.folder / "releases" / "r.csv").write_text("age\n*\n")
    answer = studio.post("/audit", release="releases/r.csv", limit=limit)
    assert answer.status == 400
    assert "limit" not in tomllib.loads((studio.folder / "unveil.toml").read_text())


def test_roles_are_corrected_in_place_and_confirmed(studio: Visitor) -> None:
    before = (studio.folder / "schema.toml").read_text()
    page = studio.get("/roles").text
    assert "Together with" in page
    assert "of 80 people" in page
    assert studio.post("/roles", role__3="sensitive", role__0="insensitive", membership="harmless").status == 303
    schema = read_schema(studio.folder / "schema.toml")
    assert not schema.document.confirmed
    assert [str(schema.declaration(n).role) for n in ("age", "disease")] == ["insensitive", "sensitive"]
    assert schema.document.membership == "harmless"
    studio.post("/roles", confirm="yes", earlier="none")
    schema = read_schema(studio.folder / "schema.toml")
    assert schema.document.confirmed
    assert schema.document.earlier_releases == ()
    after = (studio.folder / "schema.toml").read_text()
    kept = [line for line in before.splitlines() if line.startswith("#")]
    assert [line for line in kept if line not in after.splitlines()] == []  # comments stay
    assert studio.post("/roles", role__0="boss").status == 400
    assert (studio.folder / "schema.toml").read_text() == after


def test_a_hierarchy_is_built_named_and_a_node_moved(studio: Visitor) -> None:
    assert studio.post("/roles/0/build", preset="ages").status == 303
    rows = read_schema(studio.folder / "schema.toml").hierarchies["age"].rows
    assert rows[0] == ("20", "20-24", "20-29", "20-39", "*")
    assert studio.get("/roles/0").text.count("data-node") == 40 + 8 + 4 + 2 + 1
    assert studio.post("/roles/0/move", node="1.0", parent="2.1").status == 303  # 20-24 under 30-39
    rows = read_schema(studio.folder / "schema.toml").hierarchies["age"].rows
    assert rows[0] == ("20", "20-24", "30-39", "20-39", "*")
    for node, parent in (("0.0", "2.1"), ("9.0", "10.0"), ("x", "1.0"), ("-1.0", "0.0")):
        assert studio.post("/roles/0/move", node=node, parent=parent).status == 400
    assert read_schema(studio.folder / "schema.toml").hierarchies["age"].rows == rows
    assert studio.post("/roles/0/build", preset="prefixes").status == 400


@pytest.mark.parametrize(
    ("form", "fault"),
    [
        ({"scheme": "mondrian", "k": "1"}, "from 2"),
        ({"scheme": "mondrian", "k": "5 --until=x"}, "give a number"),
        ({"scheme": "mondrian:@/etc/passwd", "k": "5"}, "choose how"),
        ({"scheme": "anatomy"}, "say how large"),
        ({"scheme": "mondrian", "k": "5", "name": "../x"}, "allowed"),
        ({"scheme": "mondrian", "k": "5", "name": "--x"}, "allowed"),
    ],
)
def test_a_release_is_asked_for_in_words_and_numbers_only(studio: Visitor, form: dict[str, str], fault: str) -> None:
    answer = studio.post("/anonymize", **form)
    assert answer.status == 400
    assert fault in answer.text
    assert studio.made.studio.jobs.all() == []


def test_a_decision_is_one_line_with_the_hashes_and_none_is_changed(studio: Visitor) -> None:
    (studio.folder / "releases" / "r.csv").write_text("age\n*\n")
    form = {"release": "releases/r.csv", "answer": "publish", "who": "Ada", "why": "line 1\nline 2"}
    assert studio.post("/decide", **form).status == 303
    first = (studio.folder / "decisions.jsonl").read_text()
    assert studio.post("/decide", **{**form, "answer": "do not publish"}).status == 303
    lines = (studio.folder / "decisions.jsonl").read_text().splitlines()
    assert [lines[0]] == first.splitlines()
    one = json.loads(lines[1])
    assert (one["who"], one["decision"], one["verdict"]) == ("Ada", "do not publish", None)
    assert set(one["sha256"]) == {"releases/r.csv", "schema.toml", "people.csv"}
    assert studio.post("/decide", **{**form, "why": " "}).status == 400
    assert len((studio.folder / "decisions.jsonl").read_text().splitlines()) == 2


def test_what_is_wrong_with_a_file_names_its_line(studio: Visitor) -> None:
    (studio.folder / "short.csv").write_text("a,b\n1,2\n3\n")
    studio.post("/data", file="short.csv")
    page = studio.get("/data").text
    assert "line 3" in page
    assert str(studio.folder) not in page


def test_fifty_at_once_are_all_answered(studio: Visitor) -> None:
    with ThreadPoolExecutor(50) as pool:
        found = list(
            pool.map(lambda i: studio.get(("/data", "/roles", "/release", "/choose", "/jobs")[i % 5]), range(100))
        )
    assert {answer.status for answer in found} == {200}


def test_every_text_is_there_in_every_language_and_used() -> None:
    sources = [p.read_text() for p in TEMPLATES.rglob("*") if p.suffix in (".j2", ".py", ".js")]
    written = "\n".join(sources)
    families = ("title-", "verb-", "state-", "role-", "kind-", "preset-", "scheme-", "parameter-", "missing-")
    for key, texts in catalogue().items():
        assert set(texts) == set(LANGUAGES), key
        assert all(text.strip() for text in texts.values()), key
        values = [sorted(part.split("}")[0] for part in text.split("{")[1:]) for text in texts.values()]
        assert values[0] == values[1], key
        assert f'"{key}"' in written or key.startswith(families), key
    assert language_of(None, "fr-CH, de-CH;q=0.9, en;q=0.8") == "de"
    assert language_of("en", "de") == "en"
    assert language_of("xx", "fr") == "en"


def test_keys_of_a_schema_that_stand_on_several_lines_are_left_to_a_human() -> None:
    text = 'version = 1\n[attributes.a]\nrole = "sensitive"\ndomain = [\n "x",\n]\n'
    assert with_keys(text, {"a": {"role": "insensitive"}}, "s") == text.replace("sensitive", "insensitive")
    assert with_keys(text, {}, "s", {"confirmed": True}) == text.replace(
        "version = 1\n", "version = 1\nconfirmed = true\n"
    )
    assert with_keys(text, {"a": {"role": None}}, "s") == text.replace('role = "sensitive"\n', "")
    for spoilt in ('attributes.a = { role = "sensitive" }\n', '[attributes]\na = { role = "sensitive" }\n'):
        with pytest.raises(SchemaError, match="by hand"):
            with_keys(spoilt, {"a": {"role": "insensitive"}}, "s")
