"""What a release teaches about the population: the one object that learner and attacker share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._linked import AttributePosterior, attribute_posteriors, linked_counts
from unveil.belief import Diagnostics, Prior
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.release import Release

__all__ = ["Posterior", "posterior"]


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The posterior of the population's parameters given a release, for one sensitive attribute."""

    release: Release
    asked: int
    value_share: NDArray[np.float64]  # (chains, values) mean share of each sensitive value
    attributes: dict[int, AttributePosterior]
    chains: int

    def shares(self, index: int) -> NDArray[np.float64]:
        """(chains, values, codes) mean shares of an attribute's codes given each value."""
        found = self.attributes[index].shares()
        return found if len(found) == self.chains else np.repeat(found, self.chains, axis=0)

    def diagnostics(self) -> Diagnostics:
        """How the posterior was reached."""
        sampled = [self.release.attributes[i].name for i, a in self.attributes.items() if a.sampled is not None]
        if not sampled:
            return Diagnostics("exact")
        return Diagnostics("sampled on counts", facts={"chains": float(self.chains), "sampled": ", ".join(sampled)})


def posterior(
    release: Release, asked: int, prior: Prior, engine: Engine, *, chains: int, sweeps: int, tree: bool = True
) -> Posterior:
    """Learn from a release: exactly where the Dirichlet tree applies, else by chains."""
    if chains < 2 or sweeps < 10:
        raise UsageError("a sampler needs at least 2 chains of 10 sweeps")
    values = release.attributes[asked].codes
    if len(prior.alpha) != values or any(prior.beta[i].shape[1] != release.attributes[i].codes for i in prior.beta):
        raise UsageError("the prior does not fit the release's domains")
    counts = linked_counts(release, asked)
    if counts is None:
        raise NotApplicable(
            "the link between sensitive values and quasi-identifiers is hidden within groups, or values are withheld; "
            "learning from such a release is not built yet"
        )
    found = attribute_posteriors(
        release, counts, prior, engine.named("posterior"), chains=chains, sweeps=sweeps, tree=tree
    )
    held = _value_counts(release, asked)
    share = (prior.alpha + held) / (prior.alpha.sum() + held.sum())
    most = max((a.chains for a in found.values()), default=1)
    return Posterior(release, asked, np.repeat(share[None], most, axis=0), found, most)


def _value_counts(release: Release, asked: int) -> NDArray[np.int64]:
    block = release.block_of(asked)
    value = release.regions[asked].single()[block.region(asked)]
    return np.bincount(value, weights=block.count, minlength=release.attributes[asked].codes).astype(np.int64)
