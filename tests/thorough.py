"""Cases that `make test` leaves out for time: `make fuzz` runs them all."""

import os
from collections.abc import Sequence

__all__ = ["chosen"]


def chosen(all_cases: Sequence[str], few: Sequence[str]) -> list[str]:
    """`few` of the cases, one for each way through the program; all of them with UNVEIL_THOROUGH=1."""
    unknown = set(few) - set(all_cases)
    assert not unknown, f"no such cases: {unknown}"
    return list(all_cases) if os.environ.get("UNVEIL_THOROUGH") == "1" else list(few)
