"""What an anonymizer must keep: a conjunction of privacy models, asked about many groups at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.table import Table
from unveil.errors import RequirementError, UsageError
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.knowledge.mining.cells import CountedCells
from unveil.privacy.models import BTPrivacy, PrivacyModel, Reference, Supersets
from unveil.privacy.reference import GroupMembers, reference_of

__all__ = ["OF_POPULATIONS", "Requirement"]

OF_POPULATIONS = ("full_domain", "mondrian")  # anonymizers that can keep a model of the population

Histograms = Sequence[NDArray[np.integer]]  # per sensitive attribute: (groups, values)


@dataclass(frozen=True, slots=True)
class Requirement:
    """Privacy models bound to a table: every model must hold for every sensitive attribute."""

    models: tuple[PrivacyModel, ...]
    sensitive: tuple[int, ...]  # the attributes whose histograms the models need; none for k-anonymity alone
    names: tuple[str, ...]
    reference: tuple[Reference, ...]
    cell_of_row: NDArray[np.int64] | None = None  # (rows,) where a model asks for the groups' members
    priors: tuple[
        Mapping[tuple[float, ...], NDArray[np.float64]], ...
    ] = ()  # per sensitive attribute: see GroupMembers
    outside: NDArray[np.bool_] | None = None  # (rows,) people of the population, where a model asks for them

    @classmethod
    def of(cls, models: Sequence[PrivacyModel], table: Table, who: str, asked: Sequence[int] = ()) -> "Requirement":
        """Check that the models can be asked about this table at all; `asked`: about these, not the sensitive ones."""
        if table.outside is not None and who not in OF_POPULATIONS:
            raise UsageError(f"{who} keeps no requirement about a population; use {' or '.join(OF_POPULATIONS)}")
        if not models:
            raise UsageError(f"{who} needs a requirement, for instance {who}:k=5 or --require t_closeness:t=0.2")
        for model in models:
            if model.threshold is None:
                raise UsageError(
                    f"{model.name} as a requirement needs its threshold, for instance {model.name}:{_option(model)}=…"
                )
            if "population" in model.needs and table.outside is None:
                raise UsageError(f"{model.name} as a requirement needs a population; add --population FILE")
        needed = any("values" in model.needs for model in models)
        sensitive = (tuple(asked) or table.with_role(Role.SENSITIVE)) if needed else ()
        if needed and not sensitive:
            name = next(m.name for m in models if "values" in m.needs)
            raise UsageError(f"{name} needs a sensitive attribute, and the schema has none; give one that role")
        for model in models:
            wrong = [
                table.attributes[i].name
                for i in sensitive
                if "numeric" in model.needs and not table.attributes[i].kind.measured
            ]
            if wrong:
                raise UsageError(
                    f"{model.name} needs numbers, and {wrong[0]} is {table.attributes[table.index(wrong[0])].kind}"
                )
        attributes = [table.attributes[i] for i in sensitive]
        own = table.published()
        totals = [own.tally(own.columns[i], own.attributes[i].codes) for i in sensitive]
        reference = tuple(reference_of(a, t) for a, t in zip(attributes, totals, strict=True))
        names = tuple(a.name for a in attributes)
        if not any("members" in model.needs for model in models):
            return cls(tuple(models), sensitive, names, reference, outside=table.outside)
        if table.count is not None:
            raise UsageError(f"{who} cannot keep b_t_privacy on a cluster: it is about people one by one")
        if table.outside is not None:
            raise UsageError(f"{who} cannot keep b_t_privacy beside a population; leave --population out")
        widths = {model.bandwidth for model in models if isinstance(model, BTPrivacy)}
        counted = CountedCells.of(table, names[0])
        priors = tuple(
            {width: Kernel(bandwidth=width).prior(table, name).of(counted.cells) for width in widths} for name in names
        )
        return cls(tuple(models), sensitive, names, reference, counted.of_row, priors)

    @property
    def described(self) -> str:
        """The models as they are written on the command line."""
        return " and ".join(map(_described, self.models))

    @property
    def smallest(self) -> int:
        """No smaller group can hold."""
        return max(model.smallest for model in self.models)

    @property
    def superset_size(self) -> int | None:
        """How large a superset must be to count, if a model asks for supersets."""
        sizes = [int(getattr(model, "n")) for model in self.models if "supersets" in model.needs]  # noqa: B009  a field of these models only
        return min(sizes) if sizes else None

    def secrets(self, table: Table, *more: int) -> tuple[list[NDArray[np.integer]], list[int]]:
        """What is counted of groups: (rows,) columns, and how many codes each has.

        The sensitive attributes and `more`; beside a population with one code more, that of people who are not
        published, and at last who is one of them.
        """
        which = (*self.sensitive, *more)
        columns, codes = [table.columns[i] for i in which], [table.attributes[i].codes for i in which]
        if self.outside is None:
            return list(columns), codes
        apart = [
            np.where(self.outside, n, c.astype(np.int64)).astype(np.min_scalar_type(n))
            for c, n in zip(columns, codes, strict=True)
        ]
        return [*apart, self.outside.astype(np.uint8)], [*(n + 1 for n in codes), 2]

    def published(self, sizes: NDArray[Any], histograms: Histograms) -> tuple[NDArray[Any], Histograms]:
        """Sizes and histograms of what is published, from those of `secrets`."""
        if self.outside is None:
            return sizes, histograms
        return np.asarray(histograms[-1])[:, 0], [np.asarray(h)[:, :-1] for h in histograms[:-1]]

    def holds(
        self,
        sizes: NDArray[np.integer],
        histograms: Histograms,
        supersets: Sequence[Supersets] | None = None,
        rows: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_]:
        """(groups,) whether every model holds. `rows`: of all groups, one after the other, if a model asks for them.

        Sizes and histograms are those of `secrets`. A group in which nobody is published holds.
        """
        people = None if self.outside is None else np.asarray(histograms[-1])[:, 1]
        sizes, histograms = self.published(sizes, histograms)
        good = np.ones(len(sizes), dtype=bool)
        for model in self.models:
            for levels in self._levels(model, sizes, histograms, supersets, rows, people):
                good &= model.holds(levels)
        return good if people is None else good | (sizes == 0)

    def _levels(
        self,
        model: PrivacyModel,
        sizes: NDArray[np.integer],
        histograms: Histograms,
        supersets: Sequence[Supersets] | None,
        rows: NDArray[np.integer] | None = None,
        people: NDArray[np.integer] | None = None,
    ) -> list[NDArray[np.float64]]:
        """The model's levels, for each sensitive attribute; a model of sizes is asked once."""
        if "values" not in model.needs:
            around = None if people is None else np.asarray(people, dtype=np.int64)
            return [model.level(sizes[:, None], Reference(np.ones(1, dtype=np.int64), population=around))]
        found = []
        for index, (histogram, reference) in enumerate(zip(histograms, self.reference, strict=True)):
            whole = reference if supersets is None else replace(reference, supersets=supersets[index])
            if "members" in model.needs and rows is not None and self.cell_of_row is not None:
                start = np.concatenate([[0], np.cumsum(sizes)])
                whole = replace(whole, members=GroupMembers(start, self.cell_of_row[rows], self.priors[index]))
            found.append(model.level(histogram, whole))
        return found

    def sizes_hold(self, sizes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(groups,) whether the models that ask for sizes alone hold."""
        good = np.ones(len(sizes), dtype=bool)
        for model in self.models:
            if "values" not in model.needs:
                good &= model.holds(model.level(sizes[:, None], Reference(np.ones(1, dtype=np.int64))))
        return good

    def shares_hold(self, index: int, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(people,) whether every model of values holds for one sensitive attribute, by (people, values) shares."""
        good = np.ones(len(shares), dtype=bool)
        for model in self.models:
            if "values" in model.needs:
                good &= model.holds(model.level(shares, self.reference[index]))
        return good

    def check_shares(self, index: int, shares: NDArray[np.float64], who: str, where: str, instead: str = "") -> None:
        """Refuse (people, values) shares of which one does not hold; say the largest share and what could be met."""
        for model in self.models:
            if "values" not in model.needs:
                continue
            levels = model.level(shares, self.reference[index])
            if not model.holds(levels).all():
                worst = model.worst(levels)
                if np.isfinite(worst):  # rounded to the side that can still be met
                    worst = (np.floor if model.higher_is_safer else np.ceil)(worst * 1000) / 1000
                raise RequirementError(
                    f"{who}: {_described(model)} cannot be met: {where} the largest p of a value of "
                    f"{self.names[index]} is {shares.max():.3f}; {_reached(model, worst)} can be met{instead}"
                )

    def of_groups(
        self, table: Table, group: NDArray[np.integer], groups: int
    ) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Sizes and histograms of groups of rows, as `secrets` has them."""
        sizes = table.tally(group, groups)
        histograms = []
        for column, codes in zip(*self.secrets(table), strict=True):
            flat = table.tally(group.astype(np.int64) * codes + column, groups * codes)
            histograms.append(flat.reshape(groups, codes))
        return sizes, histograms

    def check_whole(self, table: Table, who: str) -> None:
        """Refuse a table that stayed in one group if this group does not hold; say what it reaches."""
        sizes, counted = self.of_groups(table, np.zeros(table.rows, dtype=np.int64), 1)
        people = None if self.outside is None else counted[-1][:, 1]
        sizes, histograms = self.published(sizes, counted)
        for model in self.models:
            none = [Supersets(np.empty(0, np.int64), h[:0]) for h in histograms]
            levels = self._levels(model, sizes, histograms, none, np.arange(table.rows), people)
            names = self.names if "values" in model.needs else ("the table",)
            for name, level in zip(names, levels, strict=True):
                if not model.holds(level).all():
                    raise RequirementError(
                        f"{who}: {_described(model)} cannot be met: "
                        f"all {int(sizes[0])} rows in one group reach {_reached(model, float(level[0]))} ({name})"
                    )

    def check_joined(self, table: Table, group: NDArray[np.integer], groups: int, who: str) -> None:
        """Refuse groups that hold apart but, having equal cells, not as the one group they are to a reader.

        Models that ask for supersets are not asked again: the supersets are those of the parts.
        """
        sizes, histograms = self.of_groups(table, group, groups)
        rows = np.argsort(group, kind="stable")
        for model in self.models:
            if "supersets" in model.needs:
                continue
            if not all(model.holds(level).all() for level in self._levels(model, sizes, histograms, None, rows)):
                raise RequirementError(
                    f"{who}: {_described(model)} cannot be met with relaxed cuts: groups that hold apart have equal "
                    "cells and do not hold together; use relaxed=false"
                )


def _option(model: PrivacyModel) -> str:
    """The option that holds the threshold: a model's first field."""
    return fields(model)[0].name


def _described(model: PrivacyModel) -> str:
    """The model as it is written on the command line."""
    options = {f.name: getattr(model, f.name) for f in fields(model)}
    said = {key: "+".join(map(str, v)) if isinstance(v, tuple) else v for key, v in options.items()}
    return f"{model.name}:" + ",".join(f"{key}={value}" for key, value in said.items() if value is not None)


def _reached(model: PrivacyModel, level: float) -> str:
    return f"{_option(model)}={level:.4g}" if np.isfinite(level) else f"no {_option(model)} at all"
