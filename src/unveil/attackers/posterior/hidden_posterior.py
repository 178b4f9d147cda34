"""The posterior where the release hides the link: chains that can be drawn on, and what they say of targets."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, DistinctTargets, Running
from unveil.attackers.posterior.averages import shares as shares_of
from unveil.attackers.posterior.chain import Chain, each_alone
from unveil.attackers.posterior.chain_facts import Reading, chain_facts, log_fit, log_prior, middle, parted
from unveil.attackers.posterior.chain_facts import readings_in_words as in_words
from unveil.attackers.posterior.checkpoint import Arrays, Checkpoint
from unveil.attackers.posterior.convergence import BATCHES, FAR, Chains
from unveil.attackers.posterior.draws import conditional_term
from unveil.attackers.posterior.flips import other_side
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_terms import joint_term, support_term
from unveil.attackers.posterior.questions import HiddenAnswers, Question, ThinnedStates, add_state, averages_of
from unveil.attackers.posterior.tempering import Likelihood, Tempering
from unveil.data.belief import Targets
from unveil.data.contrasts import contrast_weights, shift_size
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.kernels import matching

__all__ = ["HiddenPosterior"]

MOST_MEMORY = 1 << 29  # bytes for the kept states of all chains
MOST_OF_STATE, FEWEST_KEPT = 1 << 27, 10  # bytes of one; states of a chain, or none are worth keeping
TASK = "learning through hidden links"
FIT_EVERY = 20  # states that are looked at, to one whose log posterior is noted
TRIPS = 8  # states that must have come all the way down the ladders
BETTER = 5.0  # in log posterior: a start that ends this much above the chains found a better place; without a ladder,
# one that ends no more than this below has found one as good
UNSURE = 3.0  # standard errors that a fit may lie off where matchings cannot be summed out
MOST_SIDES = 4  # starts on the other side of where chains stand
ALIKE, MOST_PAIRS = 0.1, 10  # how far apart counts of values are that may take each other's place; pairs tried
UNTRIED = "the work was stopped before chains were tried from other starts; a reading may be missed"
FALSE_ALARM = 0.01  # of starts from which a chain finds nothing new
TERMS = {"joint": joint_term, "support": support_term, "conditional": conditional_term}


@dataclass(slots=True, eq=False)
class HiddenPosterior(HiddenAnswers):
    """Chains where they stand, some of their states, and the answers so far."""

    model: HiddenModel
    engine: Engine
    settings: Chains
    chains: list[Chain]
    kept: list[ThinnedStates]
    questions: list[Question]
    every: int
    goal: int  # sweeps of each chain at the end of this round
    saved: Checkpoint | None = None
    refused: list[tuple[str, Targets, NotApplicable]] = field(default_factory=list)
    distinct: DistinctTargets = field(default_factory=DistinctTargets)
    ladders: list[Tempering] = field(default_factory=list)  # beside each chain, where matchings can be summed out
    disagreed: int = 0  # rounds after which chains did not agree
    fits: list[list[float]] = field(default_factory=list)  # by chain: log posterior of some states after burn-in

    @classmethod
    def of(
        cls,
        model: HiddenModel,
        engine: Engine,
        settings: Chains,
        questions: Sequence[tuple[str, Targets]],
        saved: Checkpoint | None,
    ) -> "HiddenPosterior":
        """Chains that start apart, or where they were saved."""
        number = range(settings.chains)
        asked, refused, distinct = [], [], DistinctTargets()
        for kind, everyone in questions:
            targets = distinct.of(everyone)[0]
            try:
                asked.append(Question(kind, targets, TERMS[kind](model, targets), [Running() for _ in number]))
            except NotApplicable as reason:  # said when it is asked for: other questions go on
                refused.append((kind, targets, reason))
        # A state that is dear to look at is looked at less often: then most of the time goes into sweeps.
        cost = sum(question.term.cost for question in asked)
        every = int(np.clip(cost // (4 * _cost(model)), settings.every, 10 * settings.every))
        every = min(every, max(settings.sweeps // BATCHES, 1))
        most = _most_kept(model, settings)
        started = [_start(model, engine.named(f"chain {chain}"), chain) for chain in number]
        kept = [ThinnedStates(most, model.layout) for _ in number]
        goal = settings.burn_in + settings.sweeps
        found = cls(model, engine, settings, started, kept, asked, every, goal, saved, refused)
        found.distinct, found.fits = distinct, [[] for _ in number]
        if Tempering.suits(model) and settings.burn_in:
            likelihood = Likelihood.of(model)
            found.ladders = [Tempering.of(model, likelihood, engine.named(f"chain {chain}")) for chain in number]
        if saved is not None and (arrays := saved.load()) is not None:
            found._restore(arrays)
        return found

    @property
    def reusable(self) -> bool:
        """See Posterior: later questions are answered from the few states that were kept."""
        return False

    def run(self) -> None:
        """Every chain to the end of this round."""
        lock, done = Lock(), [sum(chain.sweep for chain in self.chains)]
        total = self.goal * len(self.chains)
        burn_in = self.settings.burn_in

        def one(number: int) -> None:
            ladder = self.ladders[number] if self.ladders else None
            move = None if ladder is None else partial(ladder.step, self.model, burn_in=burn_in)
            anneal = self.settings.anneal and not (ladder is not None and ladder.hot)
            shape = {"burn_in": burn_in, "every": self.every, "anneal": anneal, "move": move}
            for draw in self.chains[number].run_to(self.model, self.goal, **shape):  # type: ignore[arg-type]
                if draw is not None:
                    states = [draw] if ladder is None else ladder.mirrored(self.chains[number], draw)
                    self.kept[number].add(states[self.kept[number].seen % len(states)])
                    if ladder is not None and self.kept[number].seen % FIT_EVERY == 1:
                        chain = self.chains[number]
                        self.fits[number].append(ladder.likelihood.log_posterior(chain.drawn, chain.pi))
                    for question in self.questions:
                        for state in states:
                            add_state(question.term, question.running[number], state)
                with lock:
                    done[0] += 1
                    if done[0] % 20 == 0 or done[0] == total:
                        self.engine.report(TASK, done[0], total)
                if self.engine.stop.is_set():
                    return

        with ThreadPoolExecutor(self.engine.workers) as pool:
            list(pool.map(one, range(len(self.chains))))
        if self.saved is not None:
            self.saved.save(self._arrays())

    def run_on(self, *, agree: bool, times: float = 2.0) -> bool:
        """See Posterior."""
        self.disagreed += not agree
        drawn = self.goal - self.settings.burn_in
        ahead = min(int(np.ceil((times - 1) * drawn)), self.settings.most_sweeps - drawn)
        if self.engine.stop.is_set() or ahead <= 0:
            return False
        self.goal += ahead
        self.run()
        return True

    def finish(self, *, done: bool) -> None:
        """See Posterior."""
        if self.saved is not None and done:
            self.saved.remove()

    def alarm(self, starts: Sequence[Mapping[int, NDArray[np.float64]]] | None = None) -> str:
        """See Posterior. Chains that no temperature moves are also tried from the other side of where they stand: all
        of them may have cooled into the same mode."""
        ladders = [ladder for ladder in self.ladders if ladder.hot]
        trips = [ladder.trips for ladder in ladders]
        if trips and (sum(trips) < TRIPS or not min(trips)):
            return "too few states came from the prior all the way to the posterior; a reading may have been missed"
        if self._unswitched():
            return "two sensitive values could trade places at no cost, and in no chain did; a reading may be missed"
        if starts is None:
            return ""
        model, join = self.model, self.model.layout.join
        own = {i: model.prior.shares(i) for i in model.layout.attributes}
        tried = [join({i: start.get(i, shares) for i, shares in own.items()}) for start in starts]
        places = (*tried, *(() if ladders else self._other_sides()))
        for number, place in enumerate(places):
            self.engine.report("trying other starts", number, len(places))
            if said := self._probe(place, number):
                return said
        return ""

    def _other_sides(self) -> list[NDArray[np.float64]]:
        """Mirror images of where the chains stand: of all matched attributes, then of each alone if they are few."""
        layout, model = self.model.layout, self.model
        here = layout.split(np.mean([chain.drawn for chain in self.chains], axis=0))
        pi = np.mean([chain.pi for chain in self.chains], axis=0)
        matched = [i for i, m in zip(layout.attributes, model.matched.tolist(), strict=True) if m]
        some = [matched, *([i] for i in matched if 1 < len(matched) < MOST_SIDES)] if matched else []
        return [layout.join({i: other_side(s, pi) if i in those else s for i, s in here.items()}) for those in some]

    def _unswitched(self) -> bool:
        """The label-switch test: do mirror images fit as well as where the chains stand, and were never visited?

        Only values that are about as frequent can take each other's place.
        """
        if not self.ladders or any(ladder.trades[:, 1].any() for ladder in self.ladders):
            return False
        counts, layout = self.model.value_counts, self.model.layout
        ladder = self.ladders[0]
        alike = [(a, b) for a, b in ladder.pairs if abs(counts[a] - counts[b]) <= ALIKE * max(counts[a], counts[b])]
        for chain in self.chains:
            here = ladder.likelihood(chain.drawn, chain.pi)
            for flip in ladder.flips[0][:1]:
                for pair in alike[:MOST_PAIRS]:
                    traded, prior = flip.made(layout, chain.drawn, *pair)
                    if ladder.likelihood(traded, chain.pi) + prior - here > -1.0:
                        return True
        return False

    def _probe(self, start: NDArray[np.float64], number: int) -> str:
        """A chain from a given start: does it fit as well, and believe something else? It is never believed.

        A short chain differs by its noise, which is judged by how far the others lie apart: their contrasts err as
        their mean does, a chain more, and a shorter one still more. One that differs by more than one in a hundred
        would by chance goes on until it is as long as they are. Where chains have no temperatures its values trade
        places as theirs do.
        """
        model, settings = self.model, self.settings
        engine = self.engine.named(f"probe {number}")
        chain, move = Chain.start(model, engine).put(model, start), None
        if self.ladders and not self.ladders[0].hot:
            move = partial(Tempering.of(model, self.ladders[0].likelihood, engine).step, model, burn_in=0)
        drawn = self.goal - settings.burn_in
        noise = shift_size(len(self.chains) - 1, FALSE_ALARM) * self._noise()
        rounds = int(np.log2(max(drawn / max(settings.sweeps // 4, 50), 1.0)))
        few = 0 if self.ladders else min(BATCHES, self.kept[0].most)
        for long in (drawn >> left for left in range(rounds, -1, -1)):
            fits, running, states = [], [Running() for _ in self.questions], ThinnedStates(few, model.layout)
            for draw in chain.run_to(model, 2 * long, burn_in=long, anneal=False, every=self.every, move=move):
                if self.engine.stop.is_set():
                    return UNTRIED
                if draw is not None:
                    states.add(draw)
                    if self.ladders:
                        fits.append(self.ladders[0].likelihood.log_posterior(chain.drawn, chain.pi))
                    for question, one in zip(self.questions, running, strict=True):
                        add_state(question.term, one, draw)
            if self._apart(running) <= max(FAR, noise * (1 + len(self.chains) * drawn / long) ** 0.5):
                return ""
            better = self._better(fits, states)
            if better < (BETTER if self.ladders and self.ladders[0].hot else -BETTER):
                return ""
        return f"a chain from another start fits as well (log posterior {better:+.1f}) and believes something else"

    def _better(self, fits: Sequence[float], states: ThinnedStates) -> float:
        """By how much a chain's log posterior lies above the others'; at most, where matchings cannot be summed out."""
        if self.ladders:
            mine = [fit for each in self.fits for fit in each[len(each) // 2 :]]
            return float(np.mean(fits) - np.mean(mine)) if fits and mine else -np.inf
        everyone = [middle(self.model, kept.states) for kept in (*self.kept, states) if kept.states]
        if len(everyone) <= len(self.chains):
            return 0.0  # nothing is kept of states this large: nobody can say which fits better
        found = [log_fit(self.model, place, self.engine.named("probe")) for place in everyone]
        error = np.array([error for _, error in found])
        fit = [fit + log_prior(self.model, place) for (fit, _), place in zip(found, everyone, strict=True)]
        return float(fit[-1] - np.mean(fit[:-1]) + UNSURE * np.hypot(error[-1], error[:-1].mean()))

    def _noise(self) -> float:
        """How far the chains' contrasts lie from 0: at most, of 99% of the people."""
        found = [0.0]
        for question in self.questions:
            each = shares_of(question.averages(self.settings.precision).mean)
            contrast = np.abs(np.tensordot(contrast_weights(len(each)), each, axes=1)).max(axis=2, initial=0.0)
            found += [float(np.quantile(one, 0.99)) for one in contrast if len(one)]
        return max(found)

    def _apart(self, running: Sequence[Running]) -> float:
        """How far one chain's beliefs lie from those of all chains: at most, of 99% of the people."""
        found = [0.0]
        for question, one in zip(self.questions, running, strict=True):
            mean = one.mean()
            assert mean is not None
            here = shares_of(question.term.weights(mean))
            pooled = question.averages(self.settings.precision).mean.mean(axis=0)
            apart = np.abs(here - shares_of(pooled)).max(axis=1, initial=0.0)
            found += [float(np.quantile(apart, 0.99))] if len(apart) else []
        return max(found)

    def readings(self, targets: Targets) -> list[Reading]:
        """Readings of the release that differ, the likeliest first, and what each alone would have one believe."""
        term = support_term(self.model, targets)
        states = [state for kept in self.kept for state in kept.states]
        return [
            Reading(weight, shares_of(averages_of(term, [part], self.engine.workers).mean[0]))
            for weight, part in parted(self.model, states)
        ]

    def joint_mean(self, targets: Targets) -> NDArray[np.float64]:
        """See Posterior."""
        return self._answer("joint", targets).mean

    def conditional(self, targets: Targets) -> Averages:
        """See Posterior."""
        return self._of_everyone("conditional", targets)

    def _of_everyone(self, kind: str, targets: Targets) -> Averages:
        distinct, number = self.distinct.of(targets)
        return replace(self._answer(kind, distinct), number=number)

    def _answer(self, kind: str, targets: Targets) -> Averages:
        for refused_kind, refused_targets, reason in self.refused:
            if refused_kind == kind and refused_targets is targets:
                raise reason
        for question in self.questions:
            if question.kind == kind and question.targets is targets:
                return question.averages(self.settings.precision)
        if not self.kept[0].most:
            raise NotApplicable("the domains are too large for questions beyond the first; declare bins")
        return averages_of(
            TERMS[kind](self.model, targets),
            [kept.states for kept in self.kept],
            self.engine.workers,
            self.settings.precision,
        )

    def method(self) -> str:
        """See Posterior."""
        exact = all(matching.exact(block.groups).all() for block in self.model.hidden)
        return "sampled" if exact else "sampled; the largest groups by swaps"

    def facts(self) -> dict[str, float | str]:
        """See Posterior."""
        facts: dict[str, float | str] = {
            "sweeps": float(min(chain.sweep for chain in self.chains) - self.settings.burn_in),
            "burn_in": float(self.settings.burn_in),
            "disagreed": float(self.disagreed),
        }
        each = [ladder.facts() for ladder in self.ladders]
        rates = ("trade_rate", max), ("set_trade_rate", max)
        for name, combine in (("levels", max), ("round_trips", sum), ("exchange_rate_least", min), *rates):
            values = [found[name] for found in each if name in found]
            if values:
                facts[name] = float(combine(values))
        asked = next((question.targets for question in self.questions if question.kind == "support"), None)
        if asked is not None and asked.count and any(ladder.hot for ladder in self.ladders):
            said = in_words(self.readings(asked))
            facts |= {"readings": said} if said else {}
        return facts | chain_facts(self.model, [kept.states for kept in self.kept], self.engine)

    def _arrays(self) -> Arrays:
        found: Arrays = {"goal": np.array([self.goal, self.disagreed])}
        for number, (chain, kept) in enumerate(zip(self.chains, self.kept, strict=True)):
            at = f"chain{number}"
            found |= chain.arrays(at)
            if self.ladders:
                found |= self.ladders[number].arrays(f"{at}/ladder")
            found[f"{at}/fits"] = np.array(self.fits[number])
            found |= kept.arrays(at)
            for which, question in enumerate(self.questions):
                found |= question.arrays(number, f"{at}/question{which}")
        return found

    def _restore(self, arrays: Arrays) -> None:
        self.goal, self.disagreed = arrays["goal"].tolist()
        for number, chain in enumerate(self.chains):
            at = f"chain{number}"
            chain.restore(self.model, arrays, at)
            if self.ladders:
                self.ladders[number].restore(self.model, arrays, f"{at}/ladder")
            self.fits[number] = arrays[f"{at}/fits"].tolist()
            self.kept[number] = ThinnedStates.of_arrays(self.model, arrays, at)
            for which, question in enumerate(self.questions):
                question.restore(number, arrays, f"{at}/question{which}")


def _start(model: HiddenModel, engine: Engine, number: int) -> Chain:
    """Anywhere, but every third chain where each attribute alone points."""
    chain = Chain.start(model, engine)
    return chain if number % 3 != 2 else chain.put(model, each_alone(model))


def _cost(model: HiddenModel) -> int:
    """Numbers that a sweep works on."""
    pairs = sum(len(block.entry) for block in model.hidden)
    some = model.layout.possible
    return max(pairs + (len(model.layout.beta) if some is None else len(some.place)), 1)


def _most_kept(model: HiddenModel, settings: Chains) -> int:
    """How many states of each chain are kept: as asked, or fewer where domains are large; none of very large ones."""
    size = sum(16 * model.values * model.release.attributes[i].codes for i in model.layout.attributes)
    size += sum(4 * int(block.groups.row_start[-1]) for block in model.hidden)
    if size > MOST_OF_STATE:
        raise NotApplicable("the domains are too large to learn from hidden links; declare bins or a coarser domain")
    size -= 16 * (len(model.layout.beta) - model.layout.kept)
    room = MOST_MEMORY // (2 * max(size, 1) * settings.chains)
    return min(settings.keep, room) if room >= FEWEST_KEPT else 0
