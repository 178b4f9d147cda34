"""Attackers: a release becomes a belief about each person. One file a member; they never see the original table.

posterior/ is what members share: the contract `Attacker`, and the chains. `learner` is the baseline of every attribute
risk: it reads the release, but is not told that the person is in it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.attackers.posterior.averages import Averages, belief_of
    from unveil.attackers.posterior.contract import Attacker, Posterior, attack, learn
    from unveil.attackers.posterior.convergence import Chains

__all__ = ["Attacker", "Averages", "Chains", "Posterior", "attack", "belief_of", "learn"]

_HOME = {"Averages": "averages", "belief_of": "averages", "Chains": "convergence"}


def __getattr__(name: str) -> Any:  # what samples is imported when it is used
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"unveil.attackers.posterior.{_HOME.get(name, 'contract')}"), name)
