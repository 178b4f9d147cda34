"""What a person would remember of an exceeded kind: how many people, what is learned, by whom; and what fixes it."""

from math import floor

from unveil.audit.document import Finding
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED, PANEL, title_of
from unveil.audit.numbers import spoken
from unveil.risk.published_file import Leak

__all__ = ["fix_of_finding", "fix_of_leaks", "sentence_of"]

# Who reads, at the beginning of a sentence that goes on "can …".
_WHO = {
    "learner": "Somebody who has read the file, and is not told who is in it,",
    "random_worlds": "By counting rows alone, a reader who knows that they are in the file",
    "all_columns": "A reader who knows every published column of a person but the secrets",
    COMPOSED: "Together with what is already out, a reader",
    COMPOSED_LEARNED: "Together with what is already out, a reader",
    "other_secrets": "A reader who knows a person's other secrets",
    PANEL: "A reader a little unlike the audit's own",
}
_READER = "Knowing that they are in the file, a reader"
# {n} of {all} people, {attribute}, {value}.
_TOLD = {
    "disclosed": "{who} can be {level}% sure of the {attribute} of {n} of {all} people.",
    "disclosed_kind": "{who} can be {level}% sure what kind of {attribute} {n} of {all} people have.",
    "disclosed_half": "{who} can be {level}% sure whether the {attribute} of {n} of {all} people lies below or above "
    "the middle.",
    "narrowed.95": "{who} can tell the {attribute} of {n} of {all} people to within a fifth of its usual spread.",
    "narrowed": "{who} can tell the {attribute} of {n} of {all} people to within a tenth of its usual spread.",
    "misled": "{who} can be sure of a wrong {attribute} for {n} of {all} people.",
    "raised": "For {n} of {all} people their own {attribute} becomes at least ten times as likely, by odds, as for "
    "anybody.",
    "raised.of_a_value": "Of the people who have a certain {attribute}, {value} become at least ten times as likely, "
    "by odds, to have it.",
    "told_in_turn": "Who knows the other quasi-identifiers can be 80% sure of the {attribute} of {n} of {all} people. "
    "The schema calls it a quasi-identifier: if it is a secret, nobody else is asked about it.",
    "mode_gain": "{who} can guess the {attribute} of {n} of {all} people more than by naming the most frequent one.",
    "distinct_l": "In some class everybody has the same {attribute}: whoever finds the class knows it.",
    "k_anonymity": "Rows in the smallest class: {value}. Who knows the quasi-identifiers of a person finds the row.",
    "singled_out": "Who knows every published column but the secrets finds {n} of {all} rows alone with their values.",
    "reid": "Somebody who holds {held} links {n} of {all} people with their own row.",
    "claim_precision": "Of the people for whom one row alone is nearest, {value} are found by it.",
    "model_gain": "A model guesses the {attribute} of {n} of {all} people only because their rows are in the file.",
    "fewer_values": "A reader who knows what never goes together narrows {n} of {all} people down to a few values.",
    "exposed_by_fact": "A single rule, known beforehand, exposes {n} of {all} people.",
    "told_by_others": "Who knows the {attribute} of {level} others of a class knows it of {n} of {all} people: all who "
    "are left have the same.",
    "told_by_register": "Who holds a register of these people can be {level}% sure of the {attribute} of {n} of {all} "
    "people, by counting who fits a class.",
    "one_value_left": "The releases together leave {n} of {all} people a single {attribute}.",
    "differenced": "Groups of one release lie inside those of another: the difference tells the {attribute} of {n} of "
    "{all} people.",
    "delta_presence": "Of the people in a register who fit some class, a share of {value} is in the file.",
    "membership_odds": "Somebody who reads the file can raise the odds that a person is in it {value}.",
    "membership_tpr": "Accusing one outsider in a hundred wrongly, a reader can tell {n} of {all} people to be in it.",
}
_KEYS = "everybody's quasi-identifiers"
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
        held="every published column but the secrets" if finding.reader == "all_columns" else _KEYS,
    )


def fix_of_finding(kind: str, finding: Finding, anonymize: str) -> str:
    """What to change, and the command. `anonymize`: the beginning of the command that makes the release once more."""
    if not anonymize:
        anonymize = "unveil anonymize DATA --schema schema.toml -o new.csv"
    if finding.reader == "all_columns":
        return (
            "Drop the insensitive columns that tell people apart, or call them quasi-identifiers in the schema, and "
            f"make the release once more: {anonymize} {_COARSER}"
        )
    if finding.reader == "other_secrets":
        return (
            "Publish one secret only, or hide which goes with which: give the others the role identifier in one schema "
            f"each, and make a release of each: {anonymize} {_COARSER}"
        )
    if finding.measure == "told_in_turn":
        return (
            f'Set role = "sensitive" for {finding.attribute} in the schema and make the release once more: {anonymize} '
            f"{_COARSER}; or, if anybody may know it, say so: --waive \"inference:{finding.attribute}='…'\""
        )
    if finding.measure in ("claim_precision", "model_gain"):  # of masked releases only
        return f"Perturb more, or widen cells instead: {anonymize} {_COARSER}"
    return {
        "singling out": f"Merge small classes, or suppress their rows: {anonymize} --with mondrian:k=10,l=4",
        "linking": f"Merge classes until more people look alike: {anonymize} --with mondrian:k=10,l=4",
        "inference": f"Merge groups until their values differ: {anonymize} {_COARSER}",
        "membership": "Coarsen until more people outside the table fit each row, or publish a sample: "
        f"{anonymize} {_COARSER}",
        "composition": "Make the release with anonymize --ledger, so that it is within them together with the rest.",
        "background": f"Limit what knowledge adds: {anonymize} --with mondrian:k=20 --require b_t_privacy:t=0.2",
    }.get(kind, "")


def fix_of_leaks(leaks: list[Leak], anonymize: str) -> str:
    """What to change in the file, and the command that writes it once more."""
    fixes = "; ".join(dict.fromkeys(leak.fix.rstrip(".") for leak in leaks if leak.fix))
    if not fixes:
        return ""
    columns = [c for leak in leaks if leak.check in _OF_COLUMNS for c in leak.columns]
    how = "with rows in random order and one spelling"
    if columns:
        how = f"with the role identifier, which is never published, for {', '.join(dict.fromkeys(columns))}"
    again = f" Or write it once more {how}: {anonymize} {_COARSER}" if anonymize else ""
    return f"{fixes[0].upper()}{fixes[1:]}.{again}"


_OF_COLUMNS = ("leftover_columns", "identifying_columns", "telling_columns", "given_back", "doubtful_roles")
