"""The Python of docs/frontier.md runs as written."""

import doctest
from pathlib import Path


def test_the_examples_of_the_page() -> None:
    page = Path(__file__).parents[3] / "docs" / "frontier.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted
    assert not found.failed
