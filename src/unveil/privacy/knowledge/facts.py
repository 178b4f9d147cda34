"""Facts: what somebody knows and writes down, about everybody, a subgroup or one person."""

import json
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role, position
from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.errors import UsageError, shown
from unveil.privacy.knowledge.mining.cells import CountedCells, sensitive_of

__all__ = ["Facts"]

FORM = "write: sex=male never disease=ovarian cancer, or: age=[60,69] & sex=female has disease=flu 0.4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Sentences such as "sex=male never disease=ovarian cancer" and "age=[60,69] has disease=flu 0.4".

    Before the verb: `everybody`, or attribute=cell joined by " & "; a cell is a value, a hierarchy's label,
    `[low,high]` or `{a,b}`. All quasi-identifiers together name a person. After it: the sensitive attribute and value,
    and for `has` its probability (1 if not given). Of several sentences about one value the last counts; values that
    none speaks of share the rest as `base` has them.
    """

    say: tuple[str, ...]
    base: Literal["overall", "uniform"] = "overall"

    def prior(self, table: Table, asked: str | None = None) -> PersonPrior:
        """Cost: sentences times cells."""
        attributes = tuple(table.attributes[i] for i in table.with_role(Role.QUASI_IDENTIFIER))
        sensitive = table.attributes[sensitive_of(table, asked)]
        share = np.full(sensitive.codes, 1 / sensitive.codes)
        if self.base == "overall":
            share = CountedCells.of(table, asked).overall()
        read = [_read(text, attributes, sensitive) for text in self.say]

        def look_up(cells: NDArray[np.int64]) -> NDArray[np.float64]:
            said = np.full((len(cells), sensitive.codes), np.nan)
            for masks, value, probability in read:
                meant = np.ones(len(cells), dtype=bool)
                for place, mask in masks:
                    meant &= mask[cells[:, place]]
                said[meant, value] = probability
            return _completed(said, share, attributes, cells)

        return PersonPrior(attributes, sensitive, look_up, f"{len(read)} facts")


def _completed(
    said: NDArray[np.float64], share: NDArray[np.float64], attributes: tuple[Attribute, ...], cells: NDArray[np.int64]
) -> NDArray[np.float64]:
    """What is said, and the rest shared out over the values of which nothing is said."""
    silent = np.isnan(said)
    told = np.where(silent, 0.0, said)
    rest = 1 - told.sum(axis=1)
    free = np.where(silent, share, 0.0)
    room = free.sum(axis=1)
    wrong = (rest < -1e-9) | ((rest > 1e-9) & (room <= 0))
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        who = ", ".join(f"{a.name}={a.values[c]}" for a, c in zip(attributes, cells[first].tolist(), strict=True))
        raise UsageError(
            f"facts: what is said of {who} adds up to {1 - rest[first]:g}, and no value is left for the rest"
        )
    scale = np.divide(np.maximum(rest, 0.0), room, out=np.zeros(len(room)), where=room > 0)
    held = told + free * scale[:, None]
    return np.asarray(held / held.sum(axis=1, keepdims=True))


def _read(
    text: str, attributes: tuple[Attribute, ...], sensitive: Attribute
) -> tuple[list[tuple[int, NDArray[np.bool_]]], int, float]:
    """One sentence: which cells it is about, the value, its probability."""
    parts = re.fullmatch(r"(.*?)\s+(never|has)\s+(.*)", text.strip(), re.DOTALL)
    if parts is None:
        raise UsageError(f"facts: {shown(text)} is not a fact; {FORM}")
    who, verb, what = parts.groups()
    name, equals, value = (part.strip() for part in what.partition("="))
    if name != sensitive.name or not equals:
        raise UsageError(f"facts: {shown(text)} must speak of {sensitive.name} after {verb!r}; {FORM}")
    probability = 0.0 if verb == "never" else 1.0
    if verb == "has" and value not in sensitive.values:
        value, _, number = value.rpartition(" ")
        try:
            probability = float(number)
        except ValueError:
            probability = np.nan
        if not 0 <= probability <= 1:
            raise UsageError(f"facts: {shown(number)} in {shown(text)} is not a probability; {FORM}")
    if value.strip() not in sensitive.values:
        raise UsageError(f"facts: unknown value {shown(value)} of {sensitive.name} in {shown(text)}")
    masks = []
    names = [a.name for a in attributes]
    for part in [] if who == "everybody" else who.split(" & "):
        key, equals, cell = (piece.strip() for piece in part.partition("="))
        if not equals or key not in names:
            raise UsageError(f"facts: {shown(part)} in {shown(text)} names none of {', '.join(names)}; {FORM}")
        place = names.index(key)
        masks.append((place, _cell(attributes[place], cell, text)))
    return masks, sensitive.values.index(value.strip()), probability


def _cell(attribute: Attribute, cell: str, text: str) -> NDArray[np.bool_]:
    """(codes,) the values that a cell names."""
    mask = np.zeros(attribute.codes, dtype=bool)
    hierarchy = attribute.hierarchy
    if cell == "*":
        return ~mask
    code = int(attribute.encode([cell])[0])
    if code >= 0:
        mask[code] = True
        return mask
    for level in range(1, 0 if hierarchy is None else hierarchy.height):
        assert hierarchy is not None
        if cell in hierarchy.labels[level]:
            return np.asarray(hierarchy.node[level] == hierarchy.labels[level].index(cell))
    if cell[:1] == "{" and cell[-1:] == "}":
        values = [v.strip() for v in cell[1:-1].split(",")]
        codes = attribute.encode([json.loads(v) if v.startswith('"') else v for v in values])
        if (codes >= 0).all():
            mask[codes] = True
            return mask
    low, comma, high = cell[1:-1].partition(",")
    if cell[:1] == "[" and cell[-1:] == "]" and comma and attribute.kind.ordered:
        ends = _interval(attribute, low.strip(), high.strip())
        if ends is not None:
            mask[: attribute.real] = ends
            return mask
    what = f"a value, label, interval or set of {attribute.name}"
    raise UsageError(f"facts: {shown(cell)} in {shown(text)} is not {what}")


def _interval(attribute: Attribute, low: str, high: str) -> NDArray[np.bool_] | None:
    """(codes without missing,) the values from one to another, both included; an empty end is open."""
    place = attribute.positions()[: attribute.real]
    ends = []
    for text, open_end in ((low, -np.inf), (high, np.inf)):
        if not text:
            ends.append(open_end)
            continue
        at = position(text, attribute.kind) if attribute.kind.measured else None
        if at is None and text in attribute.values[: attribute.real]:
            at = float(place[attribute.values.index(text)])
        if at is None:
            return None
        ends.append(at)
    return np.asarray((place >= ends[0]) & (place <= ends[1]))
