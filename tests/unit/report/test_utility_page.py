"""The examples of the page on utility give what they say."""

import doctest
from pathlib import Path


def test_the_examples_of_the_page() -> None:
    failed, tried = doctest.testfile(str(Path(__file__).parents[3] / "docs" / "utility.md"), module_relative=False)
    assert tried > 20
    assert not failed
