"""The line of a key in TOML, and TOML written from any text."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.data.toml_lines import line_of_key, read_toml, toml_array, toml_key, toml_string
from unveil.errors import SchemaError, UsageError

TEXT = '''\
# version = 9
version = 1
joined = [
  ["age"],
  ["zip", "sex"],
]
note = """
[attributes.age]
role = 1
"""
membership = "harmless"

[attributes.age] # a comment with [brackets] and a = sign
role = "x # no comment"
domain = { from = 1, to = 2 }
[attributes."a]b".classes]
"odd = key" = ["y"]
'lit\\eral' = []
[ attributes . "t\\u0061b" ]
role = "x"
[attributes]
dotted.role = 3
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("version",), 2),
        (("joined", "1"), 3),
        (("membership",), 11),
        (("attributes", "age"), 13),
        (("attributes", "age", "role"), 14),
        (("attributes", "age", "kind"), 13),
        (("attributes", "age", "domain", "from"), 15),
        (("attributes", "a]b", "classes"), 16),
        (("attributes", "a]b", "classes", "odd = key"), 17),
        (("attributes", "a]b", "classes", "lit\\eral"), 18),
        (("attributes", "tab"), 19),
        (("attributes", "tab", "role"), 20),
        (("attributes", "dotted", "role"), 22),
        (("absent",), 1),
        ((), 1),
    ],
)
def test_line_of_key(key, line):
    assert line_of_key(TEXT, key) == line


def test_only_line_feeds_end_lines():
    text = 'a = "\u2028\x85"\r\nb = 1\r\n'
    assert line_of_key(text, ("b",)) == 2


@given(st.text())
def test_any_text_has_lines(text):
    assert line_of_key(text, ("a", "b")) >= 1


names = st.text(st.characters(codec="utf-8"), max_size=10)


@given(st.lists(names, unique=True, max_size=6))
def test_keys_are_found_where_they_were_written(keys):
    lines = [line for key in keys for line in (f"[attributes.{toml_key(key)}]", "role = [", '  "]", # [x]', "]")]
    text = "\n".join(lines)
    tomllib.loads(text)
    for index, key in enumerate(keys):
        assert line_of_key(text, ("attributes", key, "role", "0")) == 4 * index + 2


@given(names)
def test_strings_and_keys_round_trip(text):
    written = toml_string(text)
    assert tomllib.loads(f"k = {written}")["k"] == text
    assert written.isprintable()
    assert list(tomllib.loads(f"{toml_key(text)} = 1")) == [text]


@given(st.lists(names))
def test_arrays_round_trip(items):
    assert tomllib.loads(f"k = {toml_array([toml_string(i) for i in items])}")["k"] == items


def test_bare_keys_stay_bare():
    assert toml_key("hours-per-week") == "hours-per-week"
    assert toml_key("age\n") == '"age\\n"'
    assert toml_key("größe") == '"größe"'
    assert toml_key("") == '""'


def test_half_a_character_is_refused():
    with pytest.raises(SchemaError, match="half a character"):
        toml_string("a\udfff")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"k = " + b"[" * 5000, "too deep"),
        (b"k = " + b"1" * 5000, "thousands of digits"),
        (b"k = ", "not TOML: Invalid value"),
        (b"k = '\xe9'", "not TOML in UTF-8"),
    ],
)
def test_what_tomllib_gives_up_on_is_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(UsageError, match=rf"a\.toml: .*{said}") as caught:
        read_toml(tmp_path / "a.toml", UsageError)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("none.toml", "nu\0ll.toml"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_toml(tmp_path / name, UsageError)
