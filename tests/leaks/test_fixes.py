"""What the officer's page says would fix a leak, done: the kinds that it is said of are no longer exceeded."""

import os
import re
import shlex
from pathlib import Path

import pytest

import tests.leaks.run as run
from tests.leaks.case import LEAKS
from thorough import chosen

# A column kept, an order, a spelling, a secret that tells another, cells that slide, a class of one value.
FOLLOWED = (
    *("row_numbers", "mostly_in_order", "decimals_mark_some", "two_secrets_tell_a_third"),
    *("county_and_the_one_after_it", "one_class_of_one_diagnosis"),
)
COMMAND = re.compile(r"unveil anonymize [^;]*")


@pytest.mark.parametrize("name", chosen(FOLLOWED, ["mostly_in_order", "one_class_of_one_diagnosis"]))
def test_the_fix_that_is_printed_fixes_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = LEAKS[name](1)
    before = run.kinds(case, tmp_path)
    bad = [k for k in before if k["verdict"] == "exceeded" or (k["kind"] == "file" and k["verdict"] != "within")]
    assert bad
    monkeypatch.chdir(tmp_path)
    tried = {command for k in bad for command in COMMAND.findall(k["fix"])[:1]}
    assert tried
    for command in tried:
        about = {(k["kind"], k["attribute"]) for k in bad if command in k["fix"]}
        assert run.unveil([*shlex.split(command)[1:], "--seed", "5"])[0] == 0, command
        after = run.kinds(case, tmp_path, "new.csv")
        left = {(k["kind"], k["attribute"]) for k in after if k["verdict"] == "exceeded"}
        assert not about & left, (command, about & left)
        os.unlink("new.csv")
