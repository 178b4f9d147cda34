"""Whoever has the original and every published byte tries to replay what an anonymizer drew; and finds planted seeds.

Candidates are small numbers, every number that is written in the files or lies in their bytes, their hashes and
checksums, their sizes and their times. Some of each here, all of them in `make thorough`.
"""

import hashlib
import random
import re
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from test_masking_members import PEOPLE

from thorough import THOROUGH
from unveil import catalog, cli
from unveil.engine import Engine
from unveil.formats.output import content_bytes, write_whole
from unveil.formats.releases import release_files

SMALL = 4096 if THOROUGH else 16
SOME = None if THOROUGH else 40  # of the candidates that the files give
SCHEMES = {  # one that draws of every member that can
    "anatomy": "l=2",
    "dp_histogram": "epsilon=1,attributes=zip+sex+disease",
    "injector": "l=2",
    "local_suppression": None,  # determined by the table, as are the others without options
    "microaggregation": None,
    "full_domain": None,
    "mondrian": "k=3,relaxed=true",
    "noise": "amount=0.3",
    "pram": "retain=0.7",
    "rank_swapping": "p=10",
    "rounding": "base=7,kind=random",
    "sampling": "share=0.5",
    "slicing": "c=3,grouping=random,size=7",
    "top_bottom": None,
}
DRAWING = [name for name, options in SCHEMES.items() if options is not None]


def made(name: str, engine: Engine) -> dict[Path, bytes]:
    """The files of a release."""
    found: Any = catalog.anonymizer(f"{name}:{SCHEMES[name]}").anonymize(PEOPLE, engine)
    path = Path("release.csv")
    files = release_files(found.release, path, like=PEOPLE)
    return {file: content_bytes(content) for file, content in files.items() if content is not None}


def candidates(files: list[Path], seed: int) -> list[int]:
    """Seeds that a reader may think of: small ones, and those that the files give away, in some order."""
    found: set[int] = set()
    for file in files:
        content, told = file.read_bytes(), file.stat()
        found |= {int(number) for number in re.findall(rb"\d{1,39}", content)}
        found |= {zlib.crc32(content), zlib.adler32(content), len(content)}
        for hashed in (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.blake2b):
            digest = hashed(content, usedforsecurity=False).digest()
            found |= {int.from_bytes(digest[:size], order) for size in (4, 8, 16) for order in ("little", "big")}
        for size in (4, 8, 16):
            windows = (content[at : at + size] for at in range(len(content) - size + 1))
            found |= {int.from_bytes(each, order) for each in windows for order in ("little", "big")}
        for moment in (told.st_mtime_ns, told.st_ctime_ns):
            found |= {moment // unit + off for unit in (1, 10**3, 10**6, 10**9) for off in range(-3, 2)}
    given = sorted(found)
    random.Random(seed).shuffle(given)
    return [*range(SMALL), *given[:SOME]]


def replayed(name: str, files: list[Path], seed: int = 0) -> list[int]:
    """The candidates that give the published release again."""
    published = {Path(file.name): file.read_bytes() for file in files if file.suffix in (".csv", ".toml")}
    return [
        each
        for each in candidates(files, seed)
        if made(name, Engine(seed=each, workers=1)).items() <= published.items()
    ]


def test_every_member_is_here() -> None:
    listed = {found["name"] for found in catalog.describe("anonymizers")}
    assert set(SCHEMES) == listed
    for name in DRAWING:
        assert len({tuple(made(name, Engine(seed=seed)).values()) for seed in range(6)}) > 1, f"{name} draws nothing"


@pytest.mark.parametrize("name", DRAWING)
def test_draws_cannot_be_replayed(name: str, tmp_path: Path) -> None:
    drawn = made(name, Engine(workers=1))
    write_whole({tmp_path / file: content for file, content in drawn.items()})
    assert not replayed(name, sorted(tmp_path.iterdir()))


def test_planted_seeds_are_found(tmp_path: Path) -> None:
    """Or else the test above would show nothing: a small seed, and the time at which the file was written."""
    for place, seed in (("small", 7), ("moment", int(time.time()))):
        folder = tmp_path / place
        folder.mkdir()
        write_whole({folder / file: content for file, content in made("noise", Engine(seed=seed)).items()})
        files = sorted(folder.iterdir())
        near = [int(files[0].stat().st_mtime) + off for off in range(-3, 2)]
        assert seed in candidates(files, 0) or seed in near
        assert made("noise", Engine(seed=seed)) == {Path(f.name): f.read_bytes() for f in files}
    assert replayed("noise", sorted((tmp_path / "small").iterdir())) == [7]


def test_an_external_report_holds_no_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that names the seed goes to standard error, and is for the owner."""
    (tmp_path / "people.csv").write_text(
        "age,sex,disease\n" + "".join(f"{20 + i % 10},{'fm'[i % 2]},{'xyz'[i % 3]}\n" for i in range(60))
    )
    (tmp_path / "schema.toml").write_text(
        "version = 1\nconfirmed = true\n"
        '[attributes.age]\nrole = "quasi-identifier"\nkind = "numeric"\ndomain = { from = 20, to = 29 }\n'
        '[attributes.sex]\nrole = "quasi-identifier"\n[attributes.disease]\nrole = "sensitive"\n'
    )
    monkeypatch.chdir(tmp_path)
    seed = 2**127 + 987654321987654321
    for line in (
        f"anonymize people.csv -s schema.toml --with anatomy:l=2 -o out.csv --seed {seed}",
        "audit out.csv -s schema.toml --original people.csv --variant external --sample 5 --sweeps 50 "
        "--most-sweeps 50 --json out.json --report out.html",
    ):
        monkeypatch.setattr(sys, "argv", ["unveil", *line.split()])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code in (0, 1, 3)
    spellings = [str(seed).encode(), f"{seed:x}".encode(), seed.to_bytes(16, "little"), seed.to_bytes(16, "big")]
    published = list(tmp_path.glob("out*"))
    assert len(published) >= 4
    for path in published:
        assert not [s for s in spellings if s in path.read_bytes()], path
