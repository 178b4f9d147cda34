"""The dictionary of an SPSS file walked record by record before the library sees it.

ReadStat, the C library behind pyreadstat, ends the process on some damaged dictionaries (a value label for a variable
that is not there, a string wider than 255). What is checked here follows the published layout of the system file
(GNU PSPP, "System File Format").
"""

import struct
from pathlib import Path
from typing import BinaryIO

from unveil.errors import UnveilError
from unveil.formats.survey import Refusal

__all__ = ["check_header"]

_HEADER = 176
_MOST_VARIABLES = 1_000_000
_WIDEST = 255
_TEXT_FORMATS = (1, 2)  # A and AHEX


def check_header(path: Path, error: type[UnveilError]) -> None:
    """Refuse a .sav or .zsav whose dictionary cannot stand."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            _walk(file, size)
    except Refusal as damage:
        raise error(f"{path}: cannot be read as SPSS ({damage}); is it whole?") from None
    except (struct.error, IndexError, OSError):
        raise error(f"{path}: cannot be read as SPSS (its dictionary ends too early); is it whole?") from None


def _walk(file: BinaryIO, size: int) -> None:
    head = file.read(_HEADER)
    order = _order(head)
    variables = continued = 0  # variables: of eight bytes each, as the records count them

    def number() -> int:
        return int(struct.unpack(order + "i", file.read(4))[0])

    def count(most: int, what: str) -> int:
        found = number()
        if not 0 <= found <= most:
            raise Refusal(f"{what} cannot be {found}")
        return found

    def skip(length: int) -> None:
        if file.tell() + length > size:
            raise Refusal("its dictionary ends too early")
        file.seek(length, 1)

    while True:
        kind = number()
        if kind == 999:
            break
        if kind == 2:
            width, labelled = number(), count(1, "a mark of a label")
            missing = number()
            formats = [number() >> 16 & 255, number() >> 16 & 255]
            skip(8)
            if not -1 <= width <= _WIDEST or not -3 <= missing <= 3:
                raise Refusal("a variable's type or missing values are none")
            if any(f and (f in _TEXT_FORMATS) != (width > 0) for f in formats) and width >= 0:
                raise Refusal("a number has the format of a text, or a text that of a number")
            if (width == -1) != (continued > 0):
                raise Refusal("a string variable is cut")
            continued = continued - 1 if width == -1 else max(0, (width + 7) // 8 - 1)
            if labelled:
                skip(-(-count(2**16, "the length of a label") // 4) * 4)
            skip(8 * abs(missing))
            variables += 1
            if variables > _MOST_VARIABLES:
                raise Refusal("too many variables")
        elif kind == 3:
            for _ in range(count(2**24, "a number of labels")):
                skip(8)
                skip((file.read(1)[0] + 8) // 8 * 8 - 1)
            if number() != 4:
                raise Refusal("labels belong to no variable")
            for _ in range(count(variables, "a number of labelled variables")):
                if not 1 <= number() <= variables:
                    raise Refusal("labels belong to a variable that is not there")
        elif kind == 6:
            skip(80 * count(2**20, "a number of lines"))
        elif kind == 7:
            number()
            width, times = count(2**30, "the size of a record"), count(2**30, "the size of a record")
            skip(width * times)
        else:
            raise Refusal(f"a record of kind {kind}")
    if continued or not variables:
        raise Refusal("it has no whole variable")


def _order(head: bytes) -> str:
    if len(head) < _HEADER:
        raise Refusal("its header ends too early")
    for order in "<>":
        if struct.unpack(order + "i", head[64:68])[0] in (2, 3):
            return order
    raise Refusal("its layout is unknown")
