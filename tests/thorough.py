"""What `make test` leaves out for time: `make thorough` runs every test with every case.

A parametrized test takes its cases from `chosen`; a whole test is left out by `@pytest.mark.thorough`.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["THOROUGH", "chosen"]

THOROUGH = os.environ.get("UNVEIL_THOROUGH") == "1"
Case = TypeVar("Case")


def chosen(all_cases: Sequence[Case], few: Sequence[Case]) -> list[Case]:
    """`few` of the cases, one for each way through the program; all of them with UNVEIL_THOROUGH=1."""
    unknown = set(few) - set(all_cases)
    assert not unknown, f"no such cases: {unknown}"
    return list(all_cases if THOROUGH else few)
