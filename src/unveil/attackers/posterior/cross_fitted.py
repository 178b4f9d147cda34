"""What cross-fitted models say of targets: as members of the table, and as anybody of whom the same is known."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.bags import Bag, Matched, ValueColumns, bags_of, drawn_codes, margins_of
from unveil.attackers.posterior.boosting import BagModel, Settings, fit_bag
from unveil.attackers.posterior.fits import BlockFits, Fitted, Overlaps, block_fits
from unveil.data.belief import Targets
from unveil.data.release import Release, example_rows, row_numbers
from unveil.engine import Engine
from unveil.errors import NotApplicable

__all__ = ["CrossFitted"]

STATES = 1 << 16  # groups with more states on both sides are matched by scaling
MOST_WORK = 4e9  # rows · states of all groups that are matched exactly: the cheapest first
MOST_NUMBERS = 400_000_000  # rows and values, of beliefs that are kept
FITS_AT_ONCE = 2_000_000
LEAST_LEARNED = 1000  # groups, however large
MOST_DRAWS = 8  # points that a widened cell is tried at, where less than a value is known

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CrossFitted:
    """Models of every block of a release, and who of each group has which of its values by them."""

    WORDS: ClassVar[str] = "learned from other people's groups, any dependence"

    release: Release
    asked: int
    columns: ValueColumns
    margins: dict[int, Floats]
    fold: Ints  # (groups,)
    models: tuple[BagModel, ...]
    entry: tuple[Floats, ...]  # by model: (entries of the bag, values) p(s | cell)
    matched: tuple[Floats | None, ...]  # by model: (entries, columns) chance that a row of the column shows the cell
    scaled: float  # the share of rows in groups that are too large to be matched exactly
    sample: Ints | None = None  # the groups that models were fitted to, where that is not all of them

    @classmethod
    def of(
        cls, release: Release, asked: int, settings: Settings, engine: Engine, *, times: Floats | None = None,
        like: "CrossFitted | None" = None,
    ) -> "CrossFitted":  # fmt: skip
        """Fit. `times` (groups,): how often each group is learned from. `like`: with what was chosen there.

        Of a large release some groups are learned from. Every group has a fold, learned from or not, and is asked of
        that fold's model, which has seen no group of the fold.
        """
        columns = ValueColumns.of(release, asked)
        if release.rows * columns.values > MOST_NUMBERS:
            raise NotApplicable(
                f"{release.rows:,} rows and {columns.values:,} values of {release.attributes[asked].name} are too many "
                "for boosting; declare bins for it"
            )
        random = engine.generator()
        bags = bags_of(release, asked, columns, random)
        folds = settings.folds_of(release.groups, release.rows)
        fold = random.permutation(release.groups) % folds
        done = like.models if like is not None else (None,) * len(bags)
        # Repeats learn from the same groups as what is believed: they say how sure that is.
        sample = (
            like.sample
            if like is not None
            else _sample(release.sizes, settings.most_rows, engine.named("sample").generator())
        )
        models = []
        for own, bag, one in zip(engine.abreast(len(bags)), bags, done, strict=True):
            seen = (bag, columns, fold, times)
            if sample is not None:
                some = None if times is None else times[sample]
                seen = (bag.of_groups(sample), columns.of_groups(sample), fold[sample], some)
            model = fit_bag(*seen[:3], settings, own.named(f"block {bag.number}"), seen[3], one)
            models.append(replace(model, bag=bag, columns=columns, fold=fold))
        entry = tuple(model.of_entries() for model in models)
        return replace(cls.matching(release, asked, columns, fold, tuple(models), entry), sample=sample)

    @classmethod
    def matching(
        cls, release: Release, asked: int, columns: ValueColumns, fold: Ints, models: tuple[BagModel, ...],
        entry: tuple[Floats, ...],
    ) -> "CrossFitted":  # fmt: skip
        """Match every group by what is believed of its cells."""
        matched: list[Floats | None] = []
        scaled = 0.0
        for model, p in zip(models, entry, strict=True):
            if model.bag.linked:
                matched.append(None)
                continue
            ready = _ready(columns, model.bag)
            scaled = max(scaled, float(model.bag.sizes[ready.large_number].sum() / release.rows))
            expected = ready.expected(columns.weights(p), np.ones(release.groups))
            width = expected.shape[1]
            group = np.repeat(np.arange(release.groups), np.diff(columns.start))
            rows = np.zeros((release.groups, width))
            rows[group, columns.column] = columns.count
            matched.append(expected / np.maximum(rows[model.bag.group], 1.0))
        margins = margins_of(release, asked)
        return cls(release, asked, columns, margins, fold, models, entry, tuple(matched), scaled)

    @property
    def learned(self) -> bool:
        """Whether anything was learned that tells people apart."""
        return any(model.learned for model in self.models)

    def facts(self) -> dict[str, float | str]:
        """What was chosen, and how well held-out groups are predicted; of several blocks the one predicted best."""
        if not self.models:
            return {}
        best = max(self.models, key=lambda model: model.score)
        return {
            "held_out_score": best.score,
            "held_out_score_bayes": best.bayes_score,
            "rounds": float(best.rounds),
            "depth": float(best.forests[0].depth),
            "weight_of_bayes": best.mixed,
            "temperature": best.temperature,
            "folds": float(len(best.forests)),
            "share_of_rows_scaled": self.scaled,
            **({} if self.sample is None else {"rows_learned_from": float(self.release.sizes[self.sample].sum())}),
        }

    def members(self, targets: Targets) -> Floats:
        """(targets, values) expected rows that hold a value and fit the target, who is in the table."""
        found = np.zeros((targets.count, self.columns.values))
        for some, fitted in self._pieces(targets):
            found[some] = self._support(fitted)
        return found

    def anybody(self, targets: Targets) -> Floats:
        """(targets, values) p(s | what is known) of somebody whose group was left out: the learner of these models."""
        share = self.columns.share
        found = np.tile(np.log(share), (targets.count, 1))
        for place, model in enumerate(self.models):
            if any(i in targets.known for i in model.bag.attributes):
                found += np.log(np.maximum(self._of_block(place, targets), 1e-300)) - np.log(share)
        found = np.exp(found - found.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _pieces(self, targets: Targets) -> Iterator[tuple[slice, Fitted]]:
        entries = max(len(block.cell) for block in self.release.blocks)
        some = any(known.wrong for known in targets.known.values()) or not targets.known
        step = max(FITS_AT_ONCE // entries, 1) if some and targets.group is None else 20_000
        for start in range(0, targets.count, step):
            piece = slice(start, min(start + step, targets.count))
            yield piece, Fitted.of(self.release, targets.take(np.arange(piece.start, piece.stop)))

    def _support(self, fitted: Fitted) -> Floats:
        """(targets, values) by the rows that fit; withheld values kind by kind."""
        columns, release = self.columns, self.release
        values = columns.values
        by_block = {model.bag.number: place for place, model in enumerate(self.models)}
        own_number = release.blocks.index(fitted.block)
        if not fitted.others and not len(columns.allowed) and own_number in by_block and fitted.own.pair:
            return self._beside(by_block[own_number], fitted)
        likelihood: dict[int, Floats] = {}
        changed = {}
        for number, fits in ((own_number, fitted.own), *fitted.others):
            if number in by_block and fits.pair:
                changed[number] = replace(fits, pair={-1 - number: np.arange(len(fits.target))})
                likelihood[-1 - number] = self._likelihood(by_block[number], fits)
        who = replace(
            fitted,
            own=changed.get(own_number, fitted.own),
            others=tuple((number, changed.get(number, fits)) for number, fits in fitted.others),
        )
        count = release.blocks[own_number].count
        held = np.zeros((len(count), values))
        plain = columns.of_entry < values
        held[np.flatnonzero(plain), columns.of_entry[plain]] = count[plain]
        tables = {number: self._chances(by_block[number], slice(0, values)) for number, _ in fitted.others}
        found = who.weights(likelihood, tables, held)
        for kind in range(len(columns.allowed)):
            share = self._withheld(kind)  # (entries of the sensitive block, values)
            mine = columns.of_entry == values + kind
            held = np.where(mine[:, None], count[:, None] * share, 0.0)
            tables = {number: self._chances_withheld(by_block[number], kind) for number, _ in fitted.others}
            found += who.weights(likelihood, tables, held)
        return found

    def _beside(self, place: int, fitted: Fitted) -> Floats:
        """The same where each row shows its value: of what may be hundreds, only that one counts."""
        fits, values = fitted.own, self.columns.values
        value = self.columns.of_entry[fits.entry]
        weight = fitted.block.count[fits.entry] * self._likelihood(place, fits, value)
        cell, cells = fits.target * values + value, fitted.targets.count * values
        return np.bincount(cell, weights=weight, minlength=cells).astype(np.float64).reshape(-1, values)

    def _chances(self, place: int, which: slice) -> Floats:
        """(entries of the block, columns) the chance that a row of the column shows the cell."""
        matched = self.matched[place]
        assert matched is not None
        return np.asarray(matched[:, which][self.models[place].bag.of_entry])

    def _joint_withheld(self, place: int, kind: int) -> Floats:
        """(entries of the bag, values) the chance that a withheld row of this kind has the cell and the value."""
        matched, p = self.matched[place], self.entry[place] * self.columns.allowed[kind]
        assert matched is not None
        chance = matched[:, self.columns.values + kind, None]
        return np.asarray(chance * p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300))

    def _of_group(self, place: int, kind: int) -> Floats:
        """(groups, values) what the cells of a block say of a withheld value of the group."""
        joint = self._joint_withheld(place, kind)
        return np.asarray(np.add.reduceat(joint, self.models[place].bag.first[:-1], axis=0))

    def _chances_withheld(self, place: int, kind: int) -> Floats:
        bag = self.models[place].bag
        given = self._joint_withheld(place, kind) / np.maximum(self._of_group(place, kind), 1e-300)[bag.group]
        return np.asarray(given[bag.of_entry])

    def _withheld(self, kind: int) -> Floats:
        """(entries of the sensitive block, values) what is believed of a withheld value, whoever is asked about."""
        allowed, own = self.columns.allowed[kind], self.release.block_of(self.asked)
        start = self.models[0].start if self.models else np.log(self.columns.share)[None]
        fold = self.fold[own.group] if self.models else np.zeros(len(own.cell), dtype=np.int64)
        before = np.where(allowed, np.exp(start), 0.0)[fold]  # the shares of values in other groups
        before /= before.sum(axis=1, keepdims=True)
        found = before
        for place, model in enumerate(self.models):
            if model.bag.linked:
                beside = self.entry[place][model.bag.of_entry] / np.exp(start[fold])
            else:
                beside = self._of_group(place, kind)[own.group] / np.where(before > 0, before, 1.0)
            found = found * beside
            found = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        return found

    def _likelihood(self, place: int, fits: BlockFits, value: Ints | None = None) -> Floats:
        """(fits, values or 1) of what is known, given the cell and the value; inside a region p(s | x) counts.

        `value` (fits,): of that value alone, (fits,).
        """
        bag = self.models[place].bag
        factor = self._factor(fits)
        entry = bag.of_entry[fits.entry]
        wide = self._wide(bag, entry)
        if not self.models[place].learned or not wide.any():
            return factor[:, None] if value is None else factor
        # Rows that are the target's only by a mistake say what their group does.
        inside = np.ones(len(entry), dtype=bool)
        for i, overlaps in fits.overlaps.items():
            overlapping = np.zeros(len(overlaps.region), dtype=bool)
            overlapping[overlaps.overlapping] = True
            inside &= overlapping[fits.pair[i]]
        some = np.flatnonzero(wide & inside)
        found = np.repeat(factor[:, None], self.columns.values, axis=1) if value is None else factor
        if len(some):
            which = None if value is None else value[some]
            p = self._inside(place, fits, some, which)
            found[some] *= p / np.maximum(self.entry[place][_at(entry[some], which)], 1e-12)
        return found

    def _factor(self, fits: BlockFits) -> Floats:
        """(fits,) likelihood of what is known given the cell, by the shares of codes alone."""
        factor = np.ones(len(fits.target))
        for i, overlaps in fits.overlaps.items():
            whole = self.release.regions[i].totals(self.margins[i])[overlaps.region]
            share = np.minimum(overlaps.shared(self.margins[i]) / np.maximum(whole, 1e-300), 1.0)
            factor *= overlaps.likelihood(share)[fits.pair[i]]
        return factor

    def _wide(self, bag: Bag, entry: Ints) -> NDArray[np.bool_]:
        wide = np.zeros(len(bag.count), dtype=bool)
        for place, i in enumerate(bag.attributes):
            wide |= self.release.regions[i].sizes[bag.cells[:, place]] > 1
        return np.asarray(wide[entry])

    def _inside(self, place: int, fits: BlockFits, some: Ints, value: Ints | None = None) -> Floats:
        """(some fits, values) p(s | x) at what the row's cell and the knowledge leave open, by the row's own model.

        `value`: of that value of each alone, (some fits,).
        """
        model, release = self.models[place], self.release
        bag = model.bag
        entry = bag.of_entry[fits.entry[some]]
        left_open = [
            (place, i)
            for place, i in enumerate(bag.attributes)
            if not self._settled(i, bag.cells[entry, place], fits.overlaps.get(i))
        ]
        draws = int(np.clip(FITS_AT_ONCE // max(len(some), 1), 1, MOST_DRAWS)) if left_open else 1
        found = np.zeros((len(some), self.columns.values) if value is None else len(some))
        for draw in range(draws):
            codes = []
            for position, i in enumerate(bag.attributes):
                # The same places in a cell, whoever is asked about: a belief depends on nobody else.
                u = np.mod((draw + 0.5) / draws + (entry * 0.618034 + position * 0.754878), 1.0)
                cell, overlaps = bag.cells[entry, position], fits.overlaps.get(i)
                code = drawn_codes(release.regions[i], cell, u, self.margins[i])
                if overlaps is not None and overlaps.inside is not None and len(overlaps.overlapping):
                    pair = fits.pair[i][some]
                    at = np.minimum(np.searchsorted(overlaps.overlapping, pair), len(overlaps.overlapping) - 1)
                    both = overlaps.overlapping[at] == pair  # else what is known is wrong: the cell alone speaks
                    code = np.where(both, drawn_codes(overlaps.inside, at, u, self.margins[i]), code)
                codes.append(code)
            found += self._predicted(place, codes, self.fold[bag.group[entry]], value)
        return found / draws

    def _settled(self, index: int, cell: NDArray[np.int32], overlaps: Overlaps | None) -> bool:
        """Whether one code is left of an attribute."""
        if overlaps is not None and overlaps.inside is not None:
            return bool((overlaps.inside.sizes == 1).all())
        return bool((self.release.regions[index].sizes[cell] == 1).all())

    def _predicted(self, place: int, codes: list[Ints], fold: Ints, value: Ints | None = None) -> Floats:
        """(rows, values) p(s | x) of codes by attribute, by the model that has not seen the fold; or of `value`."""
        model = self.models[place]
        points = model.bag.bins.points(codes, len(fold))
        number = row_numbers([fold, *points.T])
        example = example_rows(number)
        found = np.empty((len(example), self.columns.values))
        for f in np.unique(fold).tolist():
            mine = np.flatnonzero(fold[example] == f)
            found[mine] = model.predict(np.ascontiguousarray(points[example[mine]]), f)
        return np.asarray(found[_at(number, value)])

    def _of_block(self, place: int, targets: Targets) -> Floats:
        """(targets, values) mean of p(s | x) over rows that may be the target's, each as if its group were absent."""
        model, release = self.models[place], self.release
        bag, block = model.bag, release.blocks[model.bag.number]
        found = np.zeros((targets.count, self.columns.values))
        step = 20_000
        if any(known.wrong for known in targets.known.values()):
            step = max(FITS_AT_ONCE // len(block.cell), 1)
        for start in range(0, targets.count, step):
            piece = np.arange(start, min(start + step, targets.count))
            fits = block_fits(release, block, replace(targets, group=None).take(piece))
            entry = bag.of_entry[fits.entry]
            weight = self._factor(fits) * block.count[fits.entry]
            p = self.entry[place][entry]
            wide = np.flatnonzero(self._wide(bag, entry))
            if len(wide) and model.learned:
                p[wide] = self._inside(place, fits, wide)
            np.add.at(found, start + fits.target, weight[:, None] * p)
        absent = np.flatnonzero(found.sum(axis=1) <= 0)
        if len(absent):
            found[absent] = self._outside(place, targets.take(absent))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _outside(self, place: int, targets: Targets) -> Floats:
        """(targets, values) of people who fit no row of a block: the mean of all models at what is known of them."""
        bag = self.models[place].bag
        folds = len(self.models[place].forests)
        found = np.zeros((targets.count, self.columns.values))
        for draw in range(MOST_DRAWS):
            codes = []
            for position, i in enumerate(bag.attributes):
                u = np.full(targets.count, np.mod((draw + 0.5) / MOST_DRAWS + position * 0.754878, 1.0))
                if i in targets.known:
                    known = targets.known[i]
                    codes.append(drawn_codes(known.regions, known.of_target, u, self.margins[i]))
                else:
                    whole = np.searchsorted(np.cumsum(self.margins[i]), u)
                    codes.append(np.minimum(whole, len(self.margins[i]) - 1))
            for f in range(folds):
                found += self._predicted(place, codes, np.full(targets.count, f))
        return found


def _at(row: Ints, value: Ints | None) -> Any:
    """Of each row all values, or one."""
    return row if value is None else (row, value)


def _sample(sizes: Ints, most: int, random: np.random.Generator) -> Ints | None:
    """Groups at random with about as many rows as are learned from; None: all of them."""
    if sizes.sum() <= most or len(sizes) <= LEAST_LEARNED:
        return None
    order = random.permutation(len(sizes))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), most, side="right"))
    return np.sort(order[: max(enough, LEAST_LEARNED)])


def _ready(columns: ValueColumns, bag: Bag) -> Matched:
    """Every group, exactly as far as states and work allow."""
    row, everyone = np.arange(len(bag.count)), np.arange(len(bag.sizes))
    states = np.minimum(
        _states(bag.count, bag.first), _states(columns.count, columns.start)
    )  # of the side that has fewer
    work = np.sort(np.where(states > STATES, np.inf, states * bag.sizes))
    most = np.searchsorted(np.cumsum(work), MOST_WORK, side="right")
    affordable = work[most - 1] if most else 0.0
    least = states[(states * bag.sizes <= affordable) & (states <= STATES)]
    return Matched.of(columns, bag.first, bag.count, everyone, row, int(least.max(initial=1.0)))


def _states(count: Ints, start: Ints) -> Floats:
    logs = np.add.reduceat(np.log(count + 1.0), start[:-1])
    return np.exp(np.minimum(logs, 40.0)).round()
