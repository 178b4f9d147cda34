"""What a person would remember of an exceeded kind: how many people, what is learned, by whom; and what fixes it."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from math import floor

from unveil.audit.document import Finding
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED, PANEL, title_of
from unveil.audit.numbers import spoken
from unveil.risk.published_file import Leak

__all__ = ["Remake", "fix_of_finding", "fix_of_leaks", "sentence_of"]

# Who reads, at the beginning of a sentence that goes on "can …".
_WHO = {
    "learner": "Someone who has read the file, but is not told who is in it,",
    "random_worlds": "Just by counting rows, anyone who knows that a person is in the file",
    "all_columns": "Anyone who knows everything published about a person except the secrets",
    COMPOSED: "Anyone who combines the file with what is already out",
    COMPOSED_LEARNED: "Anyone who combines the file with what is already out",
    "other_secrets": "Anyone who knows a person's other secrets",
    PANEL: "A reader who reasons a little differently from the audit's own",
}
_READER = "Anyone who knows that a person is in the file"
# {n} of {all} people, {attribute}, {value}.
_TOLD = {
    "disclosed": "{who} can be {level}% sure of the {attribute} of {n} of {all} people.",
    "disclosed_kind": "{who} can be {level}% sure what kind of {attribute} {n} of {all} people have.",
    "disclosed_half": "{who} can be {level}% sure whether the {attribute} of {n} of {all} people is above or below "
    "the median.",
    "narrowed.95": "{who} can tell the {attribute} of {n} of {all} people to within a fifth of its usual spread.",
    "narrowed": "{who} can tell the {attribute} of {n} of {all} people to within a tenth of its usual spread.",
    "misled": "{who} can be sure of the wrong {attribute} for {n} of {all} people.",
    "raised": "For {n} of {all} people, the odds of their true {attribute} rise at least tenfold.",
    "raised.of_a_value": "For {value} of the people who share one {attribute}, the odds that they have it rise at "
    "least tenfold.",
    "told_in_turn": "Anyone who knows the other quasi-identifiers can be 80% sure of the {attribute} of {n} of {all} "
    "people. The schema calls it a quasi-identifier; if it is really a secret, nothing else here judges it.",
    "mode_gain": "{who} can guess the {attribute} of {n} more people, out of {all}, than by always naming the most "
    "frequent one.",
    "distinct_l": "In at least one class everyone has the same {attribute}: to know the class is to know the "
    "{attribute}.",
    "k_anonymity": "Rows in the smallest class: {value}. Anyone who knows a person's quasi-identifiers can find the "
    "row.",
    "singled_out": "Anyone who knows every published column except the secrets finds that {n} of {all} rows are one "
    "of a kind.",
    "reid": "Someone who holds {held} can link {n} of {all} people to their own row.",
    "claim_precision": "Where a single row is nearest to a person, it is really theirs in {value} of cases.",
    "model_gain": "A model guesses the {attribute} of {n} of {all} people correctly only because their rows are in "
    "the file.",
    "fewer_values": "A reader who knows which values never occur together can narrow {n} of {all} people down to a "
    "few values.",
    "exposed_by_fact": "One rule known beforehand is enough to expose {n} of {all} people.",
    "told_by_others": "Anyone who knows the {attribute} of {level} others in a class knows it of {n} of {all} people, "
    "because everyone who is left has the same.",
    "told_by_register": "Anyone who holds a register of these people can be {level}% sure of the {attribute} of {n} "
    "of {all} people, just by counting who fits a class.",
    "raised_by_register": "To anyone who holds a register of these people, the odds rise at least tenfold for {value} "
    "of those who share one {attribute}.",
    "one_value_left": "Taken together, the releases leave {n} of {all} people a single possible {attribute}.",
    "differenced": "Groups of one release lie inside groups of another: subtracting them tells the {attribute} of {n} "
    "of {all} people.",
    "delta_presence": "Of the people in a register who fit one class, a share of {value} is in the file.",
    "membership_odds": "Someone who reads the file can raise the odds that a person is in it {value}.",
    "membership_tpr": "At the price of wrongly accusing one outsider in a hundred, a reader can tell that {n} of "
    "{all} people are in it.",
}
_KEYS = "everybody's quasi-identifiers"
# What another release of the same table does not change.
_NOT_REMADE = ("repeated_people", "across_releases", "likely_members", "doubtful_roles")
_COARSER = "--with mondrian:k=20 --require t_closeness:t=0.3"


def sentence_of(finding: Finding, people: int, *, at_least: bool = False) -> str:
    """What was found, as a person would tell it; how many people, where it is a share of them.

    `at_least`: the near end of the interval is told, as nobody asked for more than that a limit is exceeded.
    """
    least = "at least " if at_least else ""
    if at_least:
        finding = finding.model_copy(update={"value": finding.low})
    value = least + spoken(finding.value, finding.measure, finding.statistic)
    told = _TOLD.get(f"{finding.measure}.{finding.statistic}") or _TOLD.get(finding.measure)
    share = finding.value if isinstance(finding.value, float) else None
    if told is None or ("{n}" in told and (share is None or not people)):
        who = "" if finding.reader is None else f" by {finding.reader.replace('_', ' ')}"
        return f"{title_of(finding)}{who}: {value}, against the limit {finding.limit}."
    return told.format(
        who=_WHO.get((finding.reader or "").partition(":")[0], _READER),
        n=f"{least}{floor(share * people) if at_least else round(share * people):,}" if share is not None else "",
        all=f"{people:,}",
        attribute=finding.attribute,
        value=value,
        level=(finding.statistic or "").removesuffix("x"),
        held="every published column except the secrets" if finding.reader == "all_columns" else _KEYS,
    )


@dataclass(frozen=True, slots=True)
class Remake:
    """How the release is made once more: the beginning of the command, and the columns that it may leave out."""

    command: str = ""  # "" without the original
    insensitive: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()

    def without(self, columns: Iterable[str], how: str) -> str:
        """The command, leaving these out."""
        begin = self.command or "unveil anonymize DATA --schema schema.toml -o new.csv"
        return f"{begin}{''.join(f' --leave-out {shlex.quote(name)}' for name in columns)} {how}"


def fix_of_finding(kind: str, finding: Finding, remake: Remake) -> str:
    """What to change, and the command."""
    coarser = remake.without((), _COARSER)
    if finding.reader == "all_columns" and remake.insensitive:
        return (
            "Drop the insensitive columns that tell people apart, or call them quasi-identifiers in the schema: "
            f"{remake.without(remake.insensitive, _COARSER)}"
        )
    if finding.reader == "other_secrets":
        others = [name for name in remake.sensitive if name != finding.attribute]
        return f"Publish one secret only, or each in a release of its own: {remake.without(others, _COARSER)}"
    if finding.measure == "told_in_turn":
        return (
            f'Set role = "sensitive" for {finding.attribute} in the schema and make the release once more: {coarser}; '
            f"or, if anybody may know it, say so: --waive \"inference:{finding.attribute}='…'\""
        )
    if finding.measure in ("claim_precision", "model_gain"):  # of masked releases only
        return f"Perturb more, or widen cells instead: {coarser}"
    return {
        "singling out": f"Merge small classes, or suppress their rows: {coarser}",
        "linking": f"Merge classes until more people look alike: {coarser}",
        "inference": f"Merge groups until their values differ: {coarser}",
        "membership": f"Coarsen until more people outside the table fit each row, or publish a sample: {coarser}",
        "composition": "Make the release with anonymize --ledger, so that it is within them together with the rest.",
        "background": f"Limit what knowledge adds: {coarser}",
    }.get(kind, "")


def fix_of_leaks(leaks: list[Leak], remake: Remake) -> str:
    """What to change in the file, and the command that writes it once more."""
    fixes = "; ".join(dict.fromkeys(leak.fix.rstrip(".") for leak in leaks if leak.fix))
    if not fixes:
        return ""
    named = dict.fromkeys(column for leak in leaks for column in leak.columns)
    columns = [name for name in named if name in remake.insensitive]
    if not columns and any(leak.check == "telling_columns" for leak in leaks):  # secrets that tell each other
        columns = [name for name in named if name in remake.sensitive][:-1]
    helps = columns or not all(leak.check in _NOT_REMADE for leak in leaks)
    again = f" Or make the release once more: {remake.without(columns, _COARSER)}" if remake.command and helps else ""
    return f"{fixes[0].upper()}{fixes[1:]}.{again}"
