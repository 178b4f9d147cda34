"""Files that went wrong: good ones with bytes changed, moved or lost and numbers made hostile; or any bytes at all."""

import re

from hypothesis import strategies as st
from strategies import hostile_texts

__all__ = ["BITS", "cells", "spoilt"]

# Bits of every notation, glued together at random.
BITS = st.sampled_from(
    [
        *("[", "]", "(", ")", "{", "}", ",", ";", "|", "~", "-", "–", "..", " to ", "/", "<", ">", "≥", "≤", "=", "+"),
        *(
            "*",
            "**",
            "NA",
            "<NA>",
            "inf",
            "∞",
            "-",
            "'",
            '"',
            "\\",
            " ",
            "0",
            "1",
            "2",
            "19",
            "20",
            "1.5",
            "1,5",
            "1e9",
        ),
        *("a", "b", "a b", "2024-02-28", "2024-03-01", "?", "\n", "\0", "é", "٣"),
    ]
)
cells = st.one_of(st.lists(BITS, max_size=9).map("".join), hostile_texts())

# What a number of a text file, or the four or eight bytes of one in another file, may be made to say.
NUMBERS = (
    *("0", "-1", "00000000000000000007", "2147483648", "9223372036854775808", "1" * 400, "1" * 5000, "0x" + "f" * 5000),
    *(
        "1e308",
        "1e999",
        "-1e999",
        "nan",
        "-inf",
        "1e-400",
        "0.1.2",
        "9999-12-31",
        "0000-00-00",
        "true",
        "'",
        "[" * 2000,
    ),
)
WORDS = (
    b"\0" * 4,
    b"\xff" * 4,
    b"\xff\xff\xff\x7f",
    b"\x7f\xff\xff\xff",
    b"\0\0\0\x80",
    b"\xff" * 8,
    b"\0" * 7 + b"\x80",
)
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")


@st.composite
def spoilt(draw: st.DrawFn, content: bytes, *, whole: bool = False) -> bytes:
    """The good file with up to four faults, or now and then any bytes; `whole`: with at least one number hostile."""
    if not whole and draw(st.integers(0, 19)) == 19:
        return draw(st.binary(max_size=200))
    made = bytearray(content)
    faults = draw(st.lists(FAULTS, min_size=1 if whole else 0, max_size=4))
    for fault in faults:
        _spoil(draw, made, "number" if whole else fault)
    return bytes(made)


FAULTS = st.sampled_from(["change", "put in", "take out", "cut", "swap", "repeat", "number", "word"])


def _spoil(draw: st.DrawFn, made: bytearray, fault: str) -> None:
    at = draw(st.integers(0, max(len(made) - 1, 0)))
    if fault == "cut":
        del made[at:]
    elif fault == "take out":
        del made[at : at + draw(st.integers(1, 8))]
    elif fault == "swap":
        one, other = sorted((at, draw(st.integers(0, max(len(made) - 1, 0)))))
        length = min(draw(st.integers(1, 64)), other - one)
        made[one : one + length], made[other : other + length] = made[other : other + length], made[one : one + length]
    elif fault == "repeat":
        made[at:at] = made[at : at + draw(st.integers(1, 64))] * draw(st.integers(1, 3))
    elif fault == "number":
        found = list(_NUMBER.finditer(made))
        if found:
            meant = found[draw(st.integers(0, len(found) - 1))]
            made[meant.start() : meant.end()] = draw(st.sampled_from(NUMBERS)).encode()
    elif fault == "word":
        word = draw(st.sampled_from(WORDS))
        made[at : at + len(word)] = word
    else:
        some_bytes = draw(st.one_of(st.binary(min_size=1, max_size=4), cells.map(str.encode)))
        made[at : at + (len(some_bytes) if fault == "change" else 0)] = some_bytes
