"""The one place that reads Adult: both sources, our hierarchies, nothing from the network."""

import zipfile

import pytest

from realdata import adult
from realdata.adult import AdultMissing, adult_schema, from_file, from_wheel, read_adult

SHARED_FILE = adult.SHARED / "adult.data"
WHEEL = adult.CACHE / adult.WHEEL_FILE


@pytest.mark.skipif(not SHARED_FILE.exists(), reason="no ../shared/data/adult beside the checkout")
def test_complete_rows():
    columns = read_adult(download=False)
    assert tuple(columns) == adult.NAMES
    assert {len(texts) for texts in columns.values()} == {adult.COMPLETE_ROWS}
    assert columns["age"][0] == "39"
    assert not any("?" in texts for texts in columns.values())


@pytest.mark.skipif(
    not (SHARED_FILE.exists() and WHEEL.exists()), reason="needs both sources; make bench downloads one"
)
def test_both_sources_hold_the_same_rows():
    ours, theirs = from_file(SHARED_FILE), from_wheel(WHEEL)
    assert len(ours) == adult.ROWS
    assert ours == theirs


def test_the_wheel_is_read_without_its_header(tmp_path):
    path = tmp_path / "made-up.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(adult.MEMBER, "age,workclass\n39,State-gov\n50, Private\n")
    assert from_wheel(path) == [["39", "State-gov"], ["50", "Private"]]


def test_nothing_is_downloaded_unless_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(adult, "SHARED", tmp_path / "none")
    monkeypatch.setattr(adult, "CACHE", adult.ROOT / "data" / "none")
    with pytest.raises(AdultMissing, match="make bench"):
        read_adult(download=False)


def test_a_file_of_another_length_is_no_adult(tmp_path, monkeypatch):
    (tmp_path / "adult.data").write_text("39, State-gov\n\n")
    monkeypatch.setattr(adult, "SHARED", tmp_path)
    with pytest.raises(AdultMissing, match="1 rows"):
        read_adult(download=False)


def test_our_hierarchies_nest_and_cover():
    columns = {name: list(_leaves(tree)) for name, tree in adult.HIERARCHIES.items()}
    columns["age"] = ["17", "90"]
    schema = adult_schema(columns)
    for name in (*adult.QUASI_IDENTIFIERS[1:], adult.SENSITIVE):
        attribute = schema.attribute(name)
        assert attribute.values == tuple(columns[name])
        assert (attribute.hierarchy.order() == range(attribute.codes)).all()  # every label is a run of values


def _leaves(tree):
    if isinstance(tree, tuple):
        return tree
    return tuple(leaf for below in tree.values() for leaf in _leaves(below))
