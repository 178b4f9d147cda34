"""What the pages write: the same files that the command line does, and nothing else."""

import json
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from studios import Visitor, running

from report_documents import document
from unveil.cli.audit import AuditOptions
from unveil.cli.command import read_config
from unveil.data.draft import draft_schema
from unveil.data.schema import read_schema
from unveil.data.schema.edit import with_keys
from unveil.errors import SchemaError
from unveil.formats.tables import read_columns
from unveil.studio.jobs import Job
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


def audited(studio: Visitor, name: str, verdict: str, **settings: Any) -> None:
    """A document of the folder about r.csv, with a kind that is exceeded."""
    made = document(releases=("r.csv",), attributes=("disease",))
    advice = "unveil anonymize people.csv --schema schema.toml -o new.csv --leave-out postcode --with mondrian:k=9"
    kind = {"release": "r.csv", "kind": "inference", "attribute": "disease", "verdict": verdict, "waived": None}
    kind |= {"sentence": f"{name} says so.", "fix": "", "why": "", "asked_again": "", "where": "", "command": advice}
    made["diagnostics"]["judgement"] = {"r.csv": {"kinds": [kind], "verdict": verdict, "words": verdict}}
    made["settings"] |= settings
    made["inputs"] = []
    (studio.folder / "documents" / f"{name}.json").write_text(json.dumps(made))
    (studio.folder / "releases" / "r.csv").write_text("age,sex,postcode,disease\n*,f,*,flu\n")


@pytest.fixture
def asked(studio: Visitor, monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, Any]]]:
    """Commands that would be run."""
    found: list[tuple[list[str], dict[str, Any]]] = []
    jobs = studio.made.studio.jobs

    def start(words: list[str], **rest: Any) -> Job:
        found.append((words, rest))
        return Job("1", words[0], "", tuple(words), (), rest["page"], "done")

    monkeypatch.setattr(jobs, "start", start)
    studio.post("/roles", confirm="yes")
    return found


def test_what_if_the_reader_also_knows_a_column(studio: Visitor, asked: list[Any]) -> None:
    audited(studio, "r", "within")
    sent = {"release": "releases/r.csv", "document": "documents/r.json", "known": ["0", "2", "77", "²"]}
    answer = studio.post("/audit", **sent)
    ((words, rest),) = asked
    assert "--known=age,postcode" in words
    assert rest["writes"] == ["documents/r (known age, postcode).json"]
    assert answer.headers["location"] == rest["page"]
    assert "limit" not in tomllib.loads((studio.folder / "unveil.toml").read_text())
    audited(studio, "r (known age, postcode)", "exceeded", known=["age", "postcode"])
    page = studio.get(rest["page"]).text
    assert page.index("✓ within<small><bdi>r says so.") < page.index(
        "✕ exceeded<small><bdi>r (known age, postcode) says"
    )


def test_a_report_for_others_names_nobody(studio: Visitor, asked: list[Any]) -> None:
    audited(studio, "r", "within")
    assert 'id="exposed"' in studio.get("/audit").text
    studio.post("/export", exported="releases/r.csv")
    ((words, _),) = asked
    assert "--variant=external" in words
    assert not [word for word in words if word.startswith("--people")]
    audited(studio, "r (external)", "within", variant="external")
    assert 'id="exposed"' not in studio.get("/audit?document=documents/r+(external).json").text
    answer = studio.get("/who?document=documents/r+(external).json&reader=bayesian")
    assert answer.status == 400
    assert "names nobody" in answer.text


def test_advice_is_taken_by_a_click(studio: Visitor, asked: list[Any]) -> None:
    audited(studio, "r", "exceeded")
    audited(studio, "r (external)", "within", variant="external")  # newer, and not what advises
    assert "mondrian:k=9" in studio.get("/choose").text
    assert studio.post("/choose/make", point="0", repair="yes").status == 303
    ((words, rest),) = asked
    assert {"anonymize", "people.csv", "--with=mondrian:k=9", "--leave-out=postcode"} <= set(words)
    assert rest["writes"] == ["releases/mondrian k=9 without postcode.csv"]
    assert rest["replace"] is False
    assert studio.post("/choose/make", point="1", repair="yes").status == 400


def test_a_decision_rests_on_the_whole_audit_of_these_very_files(studio: Visitor) -> None:
    audited(studio, "r", "exceeded")
    audited(studio, "r (known age)", "within", known=["age"])
    audited(studio, "r (external)", "within", variant="external")
    form = {"release": "releases/r.csv", "answer": "do not publish", "who": "Ada", "why": "-"}
    studio.post("/decide", **form)
    file = studio.folder / "documents" / "r.json"
    made = json.loads(file.read_text())
    made["inputs"] = [{"name": "r.csv", "sha256": "0" * 64}]
    file.write_text(json.dumps(made))
    studio.post("/decide", **form)
    first, second = map(json.loads, (studio.folder / "decisions.jsonl").read_text().splitlines())
    assert (first["verdict"], first["document"]) == ("exceeded", "documents/r.json")
    assert (second["verdict"], second["document"]) == (None, None)  # the release was changed since


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
        assert all(one == values[0] for one in values), key
        assert f'"{key}"' in written or key.startswith(families), key
    assert language_of(None, "it-CH, fr-CH;q=0.9, en;q=0.8") == "fr"
    assert language_of("en", "de") == "en"
    assert language_of("xx", "it") == "en"


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
