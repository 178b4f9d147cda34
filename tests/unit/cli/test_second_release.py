"""Whatever `anonymize --ledger` writes passes `audit --ledger`; what would not is refused."""

import json

import numpy as np
import pytest
from test_cli import run

from thorough import THOROUGH

FIRST = (
    "mondrian:k=4",
    "mondrian:k=4,l=2",
    "full_domain:k=4",
    "mondrian:k=6,recoding=order",
    "anatomy:l=2",
    "anatomy:l=3",
)
NEXT = ("mondrian:k=4,l=2", "mondrian:k=8,l=3", "full_domain:k=4", "mondrian:k=4,l=2,recoding=order", "anatomy:l=2")
QUICK = ("--background", "no", "--attacker", "random_worlds", "--waive", "background='not now'")
CASES = range(200) if THOROUGH else (5, 18)


@pytest.mark.parametrize("case", CASES)
def test_a_second_release_keeps_the_limits_or_is_refused(case, tmp_path, capsys):
    """Random small tables; one to three releases before it, by different schemes, some made under the ledger."""
    rng = np.random.default_rng(case)
    first, then = (FIRST, NEXT) if THOROUGH else (FIRST[:4], NEXT[:4])  # through hidden links takes long
    schema = _written(tmp_path, rng)
    ledger = ("--ledger", tmp_path / "ledger")

    def call(*args):
        return run(*args, capsys=capsys)

    def made(name, scheme, *rest):
        options = ("--with", scheme, "--seed", str(case), "-o", tmp_path / name)
        return call("anonymize", tmp_path / "data.csv", *schema, *options, *rest)

    count = 0
    for number in range(int(rng.integers(1, 4))):
        under = ledger if count and rng.random() < 0.5 else ()
        code, _, error = made(f"r{number}.csv", first[int(rng.integers(len(first)))], *under)
        if code == 0:
            code, _, error = call("ledger", "add", tmp_path / f"r{number}.csv", *schema, *ledger)
            count += code == 0
        assert code in (0, 1, 2), error
    if not count:
        return
    code, _, error = made("new.csv", then[int(rng.integers(len(then)))], *ledger)
    assert code in (0, 1, 2), error
    if code:
        assert not (tmp_path / "new.csv").exists()
        return
    given = ("--original", tmp_path / "data.csv", *ledger, "--json", "-", *QUICK)
    _, text, _ = call("audit", tmp_path / "new.csv", *schema, *given)
    kinds = json.loads(text)["diagnostics"]["judgement"]["new.csv"]["kinds"]
    kind = next(k for k in kinds if k["kind"] == "composition")
    assert kind["verdict"] in ("within", "inconclusive")  # what was learned may not be known well enough


def _written(folder, rng):
    people, ages, values, zips = (int(rng.integers(*ends)) for ends in ((24, 90), (6, 30), (3, 7), (2, 7)))
    draws = (rng.integers(0, ages, people), rng.integers(0, zips, people), rng.integers(0, values, people))
    rows = "".join(f"{a},z{z},d{d}\n" for a, z, d in zip(*draws, strict=True))
    (folder / "data.csv").write_text(f"age,zip,diagnosis\n{rows}")
    codes = [", ".join(f'"{letter}{i}"' for i in range(n)) for letter, n in (("z", zips), ("d", values))]
    (folder / "schema.toml").write_text(
        "version = 1\nconfirmed = true\n"
        f'[attributes.age]\nrole = "quasi-identifier"\nkind = "numeric"\ndomain = {{ from = 0, to = {ages - 1} }}\n'
        f'[attributes.zip]\nrole = "quasi-identifier"\ndomain = [{codes[0]}]\n'
        f'[attributes.diagnosis]\nrole = "sensitive"\ndomain = [{codes[1]}]\n'
    )
    return "--schema", folder / "schema.toml"
