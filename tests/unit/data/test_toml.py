"""TOML that cannot be read is one line, and TOML is written from any text."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.data.toml import read_toml, toml_array, toml_key, toml_string
from unveil.errors import SchemaError, UsageError

names = st.text(st.characters(codec="utf-8"), max_size=10)


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
        (b"k = [1, 0x" + b"f" * 5000 + b"]", "thousands of digits"),  # read by tomllib, and shown by nobody
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
