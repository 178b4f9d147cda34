"""Privacy models: what each measures on a group, and from which threshold on a group holds; `contract` says how."""

from unveil.privacy.models.contract import MODELS, PrivacyModel, satisfied
from unveil.privacy.reference import Reference, Supersets

# In the order in which MODELS lists them.
from unveil.privacy.models.diversity import (  # isort: skip
    AlphaK,
    DistinctL,
    EntropyL,
    KAnonymity,
    ProbabilisticL,
    PSensitiveK,
    RecursiveCL,
)
from unveil.privacy.models.closeness import (  # isort: skip
    BetaLikeness,
    DeltaDisclosure,
    EnhancedBetaLikeness,
    EpsilonM,
    NTCloseness,
    StrictNTCloseness,
    TCloseness,
)
from unveil.privacy.models.people import BTPrivacy, DeltaPresence, KMap, PopulationUniqueness  # isort: skip

__all__ = [
    "MODELS",
    "AlphaK",
    "BTPrivacy",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctL",
    "EnhancedBetaLikeness",
    "EntropyL",
    "EpsilonM",
    "KAnonymity",
    "KMap",
    "NTCloseness",
    "PSensitiveK",
    "PopulationUniqueness",
    "PrivacyModel",
    "ProbabilisticL",
    "RecursiveCL",
    "Reference",
    "StrictNTCloseness",
    "Supersets",
    "TCloseness",
    "satisfied",
]
