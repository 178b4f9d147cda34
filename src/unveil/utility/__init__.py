"""Utility: what a release still tells. Plain functions of a release, and of the table where the truth is needed.

One module a family of measures: cells (how wide), groups (how large, and what they tell), divergence (of the
whole distribution), queries, populations, classification. A measure gives one Estimate; one
whose name is a plural gives an array, one number a query or a population.
"""

# ruff: noqa: F403 - each file names its measures once, in its own __all__
from unveil.utility import cells, classification, divergence, groups, populations, queries
from unveil.utility.cells import *
from unveil.utility.classification import *
from unveil.utility.divergence import *
from unveil.utility.groups import *
from unveil.utility.populations import *
from unveil.utility.queries import *

__all__: list[str] = []
__all__ += cells.__all__
__all__ += classification.__all__
__all__ += divergence.__all__
__all__ += groups.__all__
__all__ += populations.__all__
__all__ += queries.__all__
