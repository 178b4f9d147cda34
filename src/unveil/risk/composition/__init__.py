"""Composition: what several releases of the same people tell together.

People are linked with the groups of each release by what is published of them; every group's matching ties its members;
beliefs come from all groups at once, exactly in small parts and on trees, by belief propagation elsewhere.
"""

from unveil.risk.composition.inference import JointBelief, Source, Web, weave
from unveil.risk.composition.links import Overlap

__all__ = ["JointBelief", "Overlap", "Source", "Web", "weave"]
