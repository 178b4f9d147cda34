"""The verdict: every kind of disclosure judged, or said not to be. "Within" needs every one of them.

Default limits hold whatever else is asked for: a preset or a limit adds to them. What was not judged is never fine; a
steward who knows better waives a kind by name, with a reason that is printed beside the verdict.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from unveil.audit.document import DocumentPart, Finding, Verdict
from unveil.audit.limits import parse_limit, worst
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED, PANEL, kind_of, measure, title_of
from unveil.audit.remembered import Remake, fix_of_finding, fix_of_leaks, sentence_of
from unveil.errors import UsageError, shown
from unveil.risk.published_file import Leak

__all__ = [
    "DEFAULT_LIMITS",
    "KINDS",
    "Judgement",
    "KindVerdict",
    "check_waivers",
    "judgement_of",
    "kind_of_finding",
    "preset_covers",
]

Kind = Literal["file", "singling out", "linking", "inference", "membership", "background", "composition"]
KINDS: dict[Kind, str] = {
    "file": "What does the file itself give away: columns, order, spelling?",
    "singling out": "Can one person's row be told apart?",
    "linking": "Can a row be linked with a person somebody knows?",
    "inference": "Can a sensitive value be told?",
    "membership": "Can somebody find out who is in the table?",
    "background": "What does background knowledge add?",
    "composition": "What do several releases tell together?",
}

# Why these, is docs/verdict.md. A limit on what a release does not have is left out; the kind is then not judged.
DEFAULT_LIMITS: dict[Kind, tuple[str, ...]] = {
    "singling out": (
        "k_anonymity >= 3",
        "claim_precision <= 0.5",
        "all_columns.singled_out <= 0.05",
        "synthetic_singling_out <= 0.1",
    ),
    "linking": ("reid <= 0.2", "reid.one_to_one <= 0.2", "all_columns.reid <= 0.2", "synthetic_linkability <= 0.1"),
    "inference": (
        "distinct_l >= 2",
        "disclosed.80 <= 0.05",
        "disclosed.95 <= 0.01",
        "random_worlds.disclosed.90 <= 0",
        "random_worlds.disclosed.95 <= 0",
        "disclosed_kind.80 <= 0.05",
        "random_worlds.disclosed_kind.95 <= 0",
        "disclosed_half.95 <= 0.05",
        "random_worlds.disclosed_half.95 <= 0",
        "narrowed.80 <= 0.05",
        "random_worlds.narrowed.95 <= 0",
        "misled.80 <= 0.1",
        "raised.10x <= 0.02",
        "raised.of_a_value <= 0.25",
        "mode_gain <= 0.4",
        "learner.mode_gain <= 0.4",
        "model_gain <= 0.1",
        "all_columns.disclosed.80 <= 0.05",
        "all_columns.disclosed.95 <= 0.01",
        "all_columns.disclosed_kind.80 <= 0.05",
        "all_columns.narrowed.80 <= 0.05",
        "other_secrets.disclosed.80 <= 0.1",
        "other_secrets.disclosed_kind.80 <= 0.1",
        "other_secrets.narrowed.80 <= 0.1",
        "told_in_turn <= 0.05",
        "synthetic_inference <= 0.1",
    ),
    "membership": ("delta_presence.max <= 0.5", "membership_odds.max <= 3", "membership_tpr.1_in_100 <= 0.2"),
    "background": (
        "background.exposed_by_fact <= 0.05",
        "background.fewer_values.3 <= 0.05",
        "background.told_by_others.2 <= 0.05",
        "background.told_by_register.90 <= 0",
        "background.raised_by_register <= 0.25",
    ),
    "composition": ("composed.disclosed.95 <= 0", "one_value_left <= 0", "differenced <= 0"),
}
_LEVELS: dict[str, Kind] = {"k_anonymity": "singling out", "delta_presence": "membership", "b_t_privacy": "background"}
IN_TURN = "told_in_turn"  # of quasi-identifiers
_LINKING = ("reid", "claimed", "marketer_risk", "journalist_risk", "expected_links", "synthetic_linkability")
_ORDER: dict[str, int] = {
    "no limit": 0,
    "within": 0,
    "not considered": 0,
    "not judged": 1,
    "inconclusive": 2,
    "exceeded": 3,
}


class KindVerdict(DocumentPart):
    """How one release stands in one kind of disclosure; of inference, about one attribute."""

    release: str
    kind: Kind
    attribute: str | None = None
    verdict: Literal["within", "exceeded", "inconclusive", "not judged", "not considered"]
    sentence: str
    fix: str = ""
    why: str = ""  # the columns that carry it: classes counted again
    asked_again: str = ""  # the same of the finding that decides: readers asked again
    where: str = ""  # the class that carries most
    command: str = ""  # which tries to publish without these columns
    waived: str | None = None  # the steward's reason


class Judgement(DocumentPart):
    """The verdict of one release, and of all: a table of kinds and a word."""

    kinds: tuple[KindVerdict, ...]
    verdict: Verdict
    words: str  # the word with what stands beside it: "within; earlier releases not considered"

    @property
    def exit_code(self) -> int:
        """0 within, 1 exceeded, 3 inconclusive or not judged."""
        return {"exceeded": 1, "within": 0}.get(self.verdict, 3)


def kind_of_finding(finding: Finding) -> Kind | None:
    """The kind of disclosure that a finding is about; None: utility."""
    kind = measure(finding.measure).kind
    if finding.reader in (COMPOSED, COMPOSED_LEARNED):
        return "composition"
    if kind == "level":
        return _LEVELS.get(finding.measure, "inference")
    if kind == "identity":
        return "linking" if finding.measure in _LINKING else "singling out"
    if kind == "combination":
        counted = finding.measure in ("alone_in_original", "fewest_rows", "single_row")
        return "singling out" if counted else "inference"
    if kind in ("disclosure", "differential"):
        return "inference"
    return None if kind == "utility" else cast(Kind, kind)


def kind_of_limit(text: str) -> Kind | None:
    """The kind of disclosure that a limit is about."""
    part = parse_limit(text).left
    return kind_of_finding(Finding.of(part.name, "", None, None))


def preset_covers(name: str, limits: Sequence[str]) -> str:
    """A preset's name with what it is about: "k_5 (singling out only)"."""
    kinds = list(dict.fromkeys(kind_of_limit(text) or "utility" for text in limits))
    return f"{name} ({' and '.join(kinds)} only)" if len(kinds) < len(KINDS) else name


def check_waivers(waivers: Mapping[str, str]) -> None:
    """A waiver names a kind, or inference of one attribute, and says why."""
    for name, reason in waivers.items():
        if name.partition(":")[0] not in KINDS:
            raise UsageError(f"--waive {shown(name)}: unknown kind; choose from {', '.join(KINDS)}")
        if not reason.strip():
            raise UsageError(f"--waive {name}: say why, for instance --waive {name}='public register'")


def judgement_of(
    release: str,
    findings: Sequence[Finding],
    *,
    sensitive: Sequence[str],
    leaks: Sequence[Leak] | None,
    reasons: Mapping[tuple[Kind, str | None], str],
    waivers: Mapping[str, str],
    answered: Mapping[Kind, str] | None = None,
    notes: Sequence[str] = (),
    preset: str = "",
    stated: Verdict = "no limit",
    without: Sequence[str] = (),
    people: int = 0,
    remake: Remake | None = None,
    narrowed: str = "",
    unsure: bool = False,
    ended: Collection[tuple[str | None, str | None]] = (),
) -> Judgement:
    """Every kind of one release. `leaks`: what the file's checks say, None if there was no file; `reasons`: why a kind
    was not judged or not considered; `answered`: what the steward says that settles a kind; `notes`: what else stands
    beside the word; `preset`: how its limits were kept; `narrowed`: how the question was narrowed, which leaves no
    "within". `stated`: the verdict by the limits that were stated, which no waiver excuses; `without`: those of them
    that nothing here can be held against, so that what they are about is not judged. `remake`: how a release is
    made once more, for what would fix it. `ended`: attributes and readers of whom no more was asked once a limit was
    surely exceeded.
    """
    mine = [f for f in findings if f.release == release and f.limit]
    judged = _Judged(release, mine, leaks, reasons, answered or {}, people, remake or Remake(), ended)
    kinds = []
    for row in judged.rows(sensitive):
        update: dict[str, Any] = {}
        if row.verdict == "within" and narrowed and row.kind in ("singling out", "linking", "inference", "background"):
            update = {"verdict": "not judged", "sentence": f"Within, but only {narrowed}."}
        unjudged = [text for text in without if kind_of_limit(text) == row.kind]
        if row.verdict not in ("exceeded", "inconclusive") and unjudged:
            said = f"{'; '.join(unjudged)} was not judged: nothing in this release can be held against it."
            update = {"verdict": "not judged", "sentence": said}
        names = (row.kind, f"{row.kind}:{row.attribute}")
        update["waived"] = next((waivers[n] for n in names if n in waivers), None)
        kinds.append(row.model_copy(update=update))
    left = [row for row in kinds if row.waived is None]
    useful = worst(f.verdict for f in mine if kind_of_finding(f) is None)
    of_use = [text for text in without if kind_of_limit(text) is None]
    notes = [*notes, *(f"{text} not judged" for text in of_use)]
    top = max((_ORDER[word] for word in (*(row.verdict for row in left), stated)), default=0)
    top = max(top, 1 if of_use else 0)
    verdict: Verdict = "exceeded" if top == 3 else "inconclusive" if top or unsure else "within"
    return Judgement(kinds=tuple(kinds), verdict=verdict, words=_words(verdict, kinds, useful, notes, preset))


def _words(verdict: Verdict, kinds: Sequence[KindVerdict], useful: Verdict, notes: Sequence[str], preset: str) -> str:
    """The word, and beside it what a reader must not overlook."""
    beside = [preset] if preset else []
    beside += [f"{_called(row)} exceeded" for row in kinds if row.verdict == "exceeded" and row.waived is None]
    beside += [f"utility {useful}"] if useful in ("exceeded", "inconclusive") else []
    beside += [f"{_called(row)} {row.verdict}" for row in kinds if row.verdict == "not judged" and row.waived is None]
    beside += [f"{_called(row)} waived" for row in kinds if row.waived is not None and row.verdict != "within"]
    asked = {"membership": "membership not considered", "composition": "earlier releases not considered"}
    beside += [asked[row.kind] for row in kinds if row.verdict == "not considered" and row.kind in asked]
    return "; ".join(dict.fromkeys([verdict, *beside, *notes]))


def _called(row: KindVerdict) -> str:
    return row.kind if row.attribute is None else f"{row.kind} of {row.attribute}"


@dataclass(frozen=True, slots=True)
class _Judged:
    """What one release is judged by."""

    name: str
    findings: Sequence[Finding]
    leaks: Sequence[Leak] | None
    reasons: Mapping[tuple[Kind, str | None], str]
    answered: Mapping[Kind, str]
    people: int
    remake: Remake
    ended: Collection[tuple[str | None, str | None]]

    def rows(self, sensitive: Sequence[str]) -> Iterator[KindVerdict]:
        """Every kind, inference by attribute."""
        found_in_file = [leak for leak in self.leaks or () if leak.severity == "exceeded"]
        open_in_file = [leak for leak in self.leaks or () if leak.severity == "suspicious"]
        if self.leaks is None:
            said = self.reasons["file", None]
            yield KindVerdict(release=self.name, kind="file", verdict="not judged", sentence=said)
        else:
            bad = found_in_file or open_in_file
            yield KindVerdict(
                release=self.name,
                kind="file",
                verdict="exceeded" if found_in_file else "inconclusive" if open_in_file else "within",
                sentence=" ".join(leak.sentence for leak in bad[:3])
                or "Columns, order and spelling give nothing away.",
                fix=fix_of_leaks(bad[:3], self.remake),
            )
        for kind in (kind for kind in KINDS if kind != "file"):
            places: list[str | None] = [None]
            held = [f for f in self.findings if kind_of_finding(f) == kind]
            if kind == "inference":  # also of what is asked about in turn, and of attributes together
                # A quasi-identifier that nothing tells is no row of its own.
                others = [f for f in held if f.measure != IN_TURN or f.verdict != "within"]
                places = [*dict.fromkeys([*sensitive, *(f.attribute for f in others)])] or [None]
            for attribute in places:
                mine = [f for f in held if kind != "inference" or f.attribute == attribute]
                told = [leak for leak in found_in_file if leak.kind == kind and (attribute is None or len(places) == 1)]
                yield self._row(kind, attribute, mine, told)

    def _row(
        self, kind: Kind, attribute: str | None, findings: Sequence[Finding], leaks: Sequence[Leak]
    ) -> KindVerdict:
        """One kind from its limits, from the file's own leaks, and from what could not be asked."""
        place: dict[str, Any] = {"release": self.name, "kind": kind, "attribute": attribute}
        verdict = worst(f.verdict for f in findings)
        reason, answer = self.reasons.get((kind, attribute)), self.answered.get(kind)
        if leaks:
            fix = fix_of_leaks(list(leaks), self.remake)
            return KindVerdict(**place, verdict="exceeded", sentence=leaks[0].sentence, fix=fix)
        if verdict == "exceeded":
            exceeded = [f for f in findings if f.verdict == "exceeded"]
            own = [f for f in exceeded if kind_of(f.reader or "") != PANEL]  # told first: the panel varies them
            worst_one = max(own or exceeded, key=lambda f: (_excess(f), f.statistic or ""))
            fix = fix_of_finding(kind, worst_one, self.remake)
            # Whether a quasi-identifier that can be told is a secret, only the steward can say.
            word: Any = "not judged" if worst_one.measure == IN_TURN else "exceeded"
            told = sentence_of(worst_one, self.people, at_least=(worst_one.attribute, worst_one.reader) in self.ended)
            return KindVerdict(**place, verdict=word, sentence=told, fix=fix)
        stated = [f for f in findings if set((f.limit or "").split("; ")) - set(DEFAULT_LIMITS.get(kind, ()))]
        if reason is not None and worst(f.verdict for f in stated) != "inconclusive":
            silent = kind in ("membership", "composition") and reason.startswith("Not considered")
            return KindVerdict(**place, verdict="not considered" if silent else "not judged", sentence=reason)
        if answer is not None and worst(f.verdict for f in stated) != "inconclusive":
            return KindVerdict(**place, verdict="within", sentence=answer)
        if not findings:
            return KindVerdict(**place, verdict="not judged", sentence="Nothing here measures it.")
        if verdict == "inconclusive":
            open_ones = [f for f in findings if f.verdict == "inconclusive"]
            names = "; ".join(dict.fromkeys(title_of(f) for f in open_ones[:3]))
            why = "" if reason is None else f" {reason}"
            return KindVerdict(**place, verdict="inconclusive", sentence=f"Not known well enough: {names}.{why}")
        return KindVerdict(
            **place, verdict="within", sentence=f"Kept: {'; '.join(dict.fromkeys(f.limit or '' for f in findings))}."
        )


def _excess(finding: Finding) -> float:
    """How far beyond its limit, for the worst to be told first."""
    value = finding.value if isinstance(finding.value, float) else 1e9
    bounds = [parse_limit(text).number for text in (finding.limit or "").split("; ")]
    return max((abs(value - bound) / (abs(bound) + 0.01) for bound in bounds), default=0.0)
