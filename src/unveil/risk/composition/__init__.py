"""Composition: what several releases of the same people tell together.

People are linked with the groups of each release by what is published of them; every group's matching ties its members;
beliefs come from all groups at once, exactly in small parts and on trees, by belief propagation elsewhere.
"""

from unveil.risk.composition.check import SampledCheck, sampled_check
from unveil.risk.composition.combinations import Combinations, columns_in_common, combinations_of
from unveil.risk.composition.earlier import EarlierRelease, KnownPeople, presence_view, view_of, views_of
from unveil.risk.composition.exposure import Exposure, exposure_of, minimal_sets
from unveil.risk.composition.inference import JointBelief, ReleaseView, Web, weave
from unveil.risk.composition.keeping import Keeping, kept_together
from unveil.risk.composition.links import Overlap
from unveil.risk.composition.structure import home_of

__all__ = [
    "Combinations",
    "EarlierRelease",
    "Exposure",
    "JointBelief",
    "Keeping",
    "KnownPeople",
    "Overlap",
    "ReleaseView",
    "SampledCheck",
    "Web",
    "columns_in_common",
    "combinations_of",
    "exposure_of",
    "home_of",
    "kept_together",
    "minimal_sets",
    "presence_view",
    "sampled_check",
    "view_of",
    "views_of",
    "weave",
]
