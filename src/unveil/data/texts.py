"""Columns that point at people: addresses, numbers, names, sentences. By a column's values, not its name."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MISSING_WORDS", "names_conditions", "names_people", "numbers_people"]

# What people write where there is no value; in lower case.
_ONE_WORD = (
    "? na n/a n.a. nan null . - -- --- k.a. k.a unbekannt unbek. n.b. n.r. inconnu inconnue n.c. s/d desconocido "
    "desconocida onbekend onb. onbek. n.v.t. nvt sconosciuto sconosciuta n.d. n/c ns/nc s.d. s/i unknown missing "
    "#n/a (null) <na>"
)
MISSING_WORDS = {
    *_ONE_WORD.split(),
    *("", "k. a.", "keine angabe", "nicht bekannt", "non renseigné", "sin dato", "sin datos", "no consta"),
    *("niet bekend", "non noto", "not stated", "not known"),
}

MANY = 20  # different texts: below it a column of two words each is a list of categories
SEVERAL = 3.0  # words of a text, on average, that make it a sentence
SOME = 0.05  # share of the different texts that must say it
OFTEN = 0.1  # different texts a row, from which on short codes are people's; a category has more rows
LOOKED_AT = 2_000  # different texts of a column

_MAIL = r"[^\s@]+@[^\s@]+\.[^\s@]{2,}"
# A zero or a plus first, a mark between digits, and not a date: 05515000 may be a code, 01.02.2019 is a day.
_PHONE = (
    r"(?=(?:\D*\d){7})(?!(?:\D*\d){16})(?!\d{1,2}[./-]\d{1,2}[./-]\d{2,4}$)(?=\+|\(?0.*\d[\s()/.-]+\d)"
    r"\+?[(]?0?[\d\s()/.-]{6,}\d"
)
_ROAD = (
    r".*(?:stra(?:ß|ss)e|str\.|weg|gasse|allee|platz|damm|ufer|ring|\b(?:rue|avenue|boulevard|chemin|via|viale|piazza|calle"
    r"|avenida|plaza|street|road|lane|drive|square|straat|laan|plein)\b)\D{0,40}\d.*"
    r"|\d+\w?,? \D*\b(?:rue|street|road|avenue|lane|drive)\b.*"
)
_DAY = r"(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d"
_MARK = r"[\s./()-]*"  # what numbers of people are written with
_PLATES = (
    r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d{1,4}[EH]?",
    r"[A-Z]{2}[- ]\d{3}[- ][A-Z]{2}",
    r"\d{4}[- ]?[BCDFGHJ-NPR-TV-Z]{3}",
    r"(?=.*[A-Z])(?=.*\d)(?:[A-Z]{1,3}|\d{1,3})-(?:[A-Z]{1,3}|\d{1,3})-(?:[A-Z]{1,2}|\d{1,2})",
    r"[A-Z]{2}\d{2} ?[A-Z]{3}",
)
_ENDINGS = "pdf docx? odt rtf txt xlsx? jpe?g png tiff? heic dcm mp[34] wav zip eml msg"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Texts that point at people, if so large a share of the different ones look so."""

    what: str
    pattern: re.Pattern[str]
    share: float = 0.5
    many: int = 1  # different texts that there must be
    apart: float = 0.0  # different texts a row that there must be


def _shape(what: str, *patterns: str, flags: int = 0, **more: float) -> _Shape:
    return _Shape(what, re.compile("|".join(patterns), re.ASCII | flags), **more)  # type: ignore[arg-type]


_SHAPES = (
    _shape("e-mail addresses", _MAIL),
    _shape("telephone numbers", _PHONE),
    _Shape("street addresses", re.compile(_ROAD, re.IGNORECASE)),
    _shape("e-mail addresses and telephone numbers", _MAIL, _PHONE, share=SOME, many=2 * MANY),
    _shape("numbers of bank accounts", r"[A-Z]{2}\d\d ?(?:[A-Z\d]{2,4} ?){3,8}(?<!\d{12})"),
    _shape("names of accounts", r"@\w[\w.-]+"),
    _shape("places on the map", r"[-+]?\d{1,2}[.,]\d{3,}°? ?[NS]?[,; ]+[-+]?\d{1,3}[.,]\d{3,}°? ?[EWO]?", many=MANY),
    _shape("addresses of computers", r"(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?", r"(?:[\da-f]{0,4}:){3,7}[\da-f]{1,4}",
           r"(?:[\da-f]{2}[:-]){5}[\da-f]{2}", flags=re.IGNORECASE, many=MANY),
    _shape("names of files", rf".+\.(?:{'|'.join(_ENDINGS.split())})", flags=re.IGNORECASE, many=MANY),
    _shape("addresses of web pages", r"(?:https?://|www\.)\S+", many=MANY, apart=OFTEN),
    _shape("digests or keys", r"(?=.*\d)(?=.*[a-f])(?:[\da-f]-?){12,}", flags=re.IGNORECASE, share=0.8, many=MANY),
    _shape(
        "numbers with so many digits that each is somebody's",
        rf"(?!.*(?<!\d)(?:{_DAY})(?!\d))(?=(?:\D*\d){{6}})(?:[A-Z\d]{_MARK}){{9,34}}",
        rf"(?!.*(?<!\d)(?:{_DAY})(?!\d))(?=(?:\D*\d){{6}})(?=.*[A-Z])(?:[A-Z\d]{_MARK}){{8}}",
        share=0.8, many=MANY, apart=0.02,
    ),
    _shape("licence plates", *_PLATES, share=0.8, many=MANY, apart=OFTEN),
    _shape("initials and a year", r"[A-Z][. ]{0,2}-?[A-Z]\.?,? ?[*(]?(?:19|20)\d\d\)?", share=0.8, many=MANY,
           apart=OFTEN),
)  # fmt: skip
_TITLE = (
    r"(?:Fr\.|Frau|Hr\.|Herrn?|Dr\.?|Prof\.|Mme\.?|Mlle\.?|Mr\.?|Mrs\.?|Ms\.?|Sra?\.|Doña|Sig\.(?:ra)?|Dhr\.|Mevr\.)"
)
_BEFORE = r"(?:(?:van|von|vom|zu|zum|de|den|der|di|da|del|della|du|la|le|ter|ten) )*"  # a surname's own small words
_NAMED = re.compile(rf"(?:^|\s)(?i:{_TITLE}) {_BEFORE}[A-ZÀ-ÖØ-Þ][\w'’-]+")
_TWO_NAMES = re.compile(rf"([A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ'’-]+) ({_BEFORE}[A-ZÀ-ÖØ-Þ][\w'’-]+)")
_TWO_WORDS = re.compile(r"([^\W\d_]{2,})[ ._]([^\W\d_][\w'’-]+)")  # names without capitals, and of users
_USER = re.compile(r"([a-z][a-z._-]{2,})\d{1,4}")
# Frequent first names of the six languages' countries that mean nothing else.
_FIRST_NAMES = (
    "ahmed alain alberto aldo alejandro alessandra alessandro amanda andreas andrew andré angelika anja anna "
    "annamaria anneke annemarie anthony antonietta antonio ashley aurélie ayşe barbara bas beatriz bernard bernd "
    "birgit brian brigitte bruno carlos carmen carol caterina catherine chantal charles chiara christophe claudia "
    "concepción cornelis céline daniel david davide deborah diego dieter dolores domenico donna edward elena "
    "elisabeth elizabeth emily erika fatima federica femke fernando florian francesca francesco francisca "
    "francisco franco françois françoise frédéric george gerhard gerrit giorgio giovanna giovanni gisela giulia "
    "giuseppe giuseppina günter günther hans heike heinrich heinz helga helmut hendrik henk ineke ingeborg ingrid "
    "isabel isabelle jacqueline jacques james jan jason javier jean jennifer jens jeroen jessica jesús johanna "
    "johannes john jorge josefa joseph joshua josé juan juergen julien jürgen karen karin katrin kees kenneth "
    "kevin kimberly klaus laura laurent linda lisa lotte luca lucía luigi luis maarten manfred manuel marco "
    "margaret maria marijke mario markus marta martine mary maría matteo matthew matthias mehmet melissa michael "
    "michel michele michelle miguel mohamed mohammed monika monique mustafa nancy nathalie nicolas nicole olivier "
    "pablo paolo patricia patrick paula pedro peter petra philippe pierre piet pieter pietro rafael raquel raúl "
    "rebecca renate richard robert sabine salvatore sander sandra sandrine sanne sarah sergio silke silvia simona "
    "stefan stefano steven stéphane susan susanne sven sylvie teresa thierry thomas ursula uwe valentina valérie "
    "vincenzo véronique wilhelmina willem william wolfgang álvaro ángel"
)
_FREQUENT = frozenset(_FIRST_NAMES.split())
_WORD = re.compile(r"(?<![\w’'-])(?:(?:San|Santa|Sankt|St\.?|Sint|Saint|Sainte)[ -])?[A-ZÀ-ÖØ-Þ][\w’'-]+")
FEW_NAMES = 3  # different first names that make a column one of names
_SURNAME_FIRST = re.compile(r"[A-ZÀ-ÖØ-Þ][\w'’ -]+, ?[A-ZÀ-ÖØ-Þ][\w'’ .-]+")


def names_people(texts: Sequence[str], rows: ArrayLike) -> str | None:
    """What in these different texts points at people, `rows` of each; None if nothing does.

    Cost: some thousand texts are looked at, spread over all.
    """
    given = list(zip(texts, np.asarray(rows).tolist(), strict=True))
    kept = [(text.strip(), int(n)) for text, n in given[:: max(1, len(given) // LOOKED_AT)] if text.strip()]
    if not kept:
        return None
    apart = len(kept) / max(sum(n for _, n in kept), 1)
    for shape in _SHAPES:
        if apart < shape.apart or len(kept) < shape.many:
            continue
        if (share := _share(shape.pattern.fullmatch, kept)) >= shape.share:
            return f"{share:.0%} of its different texts are {shape.what}"
    if (share := _share(_NAMED.search, kept)) >= SOME:
        return f"{share:.0%} of its different texts name somebody, after a title"
    named = [set(map(str.casefold, _WORD.findall(text))) & _FREQUENT for text, _ in kept]
    if (share := sum(map(bool, named)) / len(kept)) >= SOME and len(set[str]().union(*named)) >= FEW_NAMES:
        return f"{share:.0%} of its different texts have a first name in them"
    if len(kept) < MANY:
        return None
    if (share := _share(_SURNAME_FIRST.fullmatch, kept)) >= 0.8:
        return f"{share:.0%} of its different texts look like a surname and a first name"
    if share := _first_names(kept, _TWO_NAMES) or (_first_names(kept, _TWO_WORDS) if apart >= OFTEN else 0.0):
        return f"{share:.0%} of its different texts look like a first name and a surname"
    if apart >= OFTEN and (share := _users(kept)):
        return f"{share:.0%} of its different texts look like names of users"
    return _free_text(kept, apart)


def _free_text(kept: list[tuple[str, int]], apart: float) -> str | None:
    words = np.array([sum(any(map(str.isalnum, word)) for word in text.split()) for text, _ in kept], dtype=np.float64)
    rows = np.array([n for _, n in kept])
    length = max(float(np.average(words, weights=rows)), float(words.mean()))
    once = int(((rows == 1) & (words >= SEVERAL)).sum())
    of_words = sum(not any(map(str.isdigit, text)) for text, _ in kept) / len(kept)
    titles = length >= 2 and apart >= 0.3 and len(kept) >= 5 * MANY and of_words >= 0.8  # of jobs, for instance
    written = once >= MANY and once >= 0.5 * len(kept)  # a few phrases of many rows, and a long tail
    if titles or written or (length >= SEVERAL and apart >= OFTEN) or (length >= 2 * SEVERAL and apart >= 0.02):
        return f"free text: {len(kept):,} different texts of {length:.1f} words on average"
    return None


GIVEN_ROWS, FEW_TWICE, ENOUGH_TWICE = 50, 0.1, 10.0


def numbers_people(places: NDArray[np.float64], rows: ArrayLike) -> str | None:
    """Why these different whole numbers are given to people, and measure nothing; None if they may measure.

    Measurements meet: of n numbers up to D apart at least n²/2D pairs are equal by chance, more where some are
    frequent. Numbers that were given out do not.
    """
    times = np.asarray(rows)
    present = int(times.sum())
    if present < GIVEN_ROWS or (places % 1).any() or np.abs(places).max() >= 2**53:
        return None
    by_chance = present**2 / (2 * (places.max() - places.min() + 1))
    equal = float((times * (times - 1) / 2).sum())
    if by_chance >= ENOUGH_TWICE and equal <= FEW_TWICE * by_chance:
        found = f"whole numbers of which {equal:,.0f} pairs are equal, and {by_chance:,.0f} would be by chance"
        return f"{found}: they were given out"
    low, high = float(places.min()), float(places.max())
    days = low > 1.8e7 and high < 2.2e7
    long = low >= 1e7 and len(str(int(low))) == len(str(int(high))) and not days
    if long and len(places) >= max(MANY, OFTEN * present):
        return f"whole numbers of {len(str(int(low)))} digits each: they were given out"
    return None


# How conditions begin in the six languages that words of roles are in; after accents are gone.
_CONDITIONS = re.compile(
    r"(?:^|[^a-z])(?:hiv|aids|adhd|tdah|copd|bpco|epoc|covid|diabet|depress|epilep|asthma|asthme|asma\b|astma|autis|dyslex|dyslekt|"
    r"dislex|schizo|esquizo|migr[ae]|emicran|infar[ck]t|cancer|kanker|krebs|carcin|karzin|tumou?r|leuk|leuc|fra[ck]tur|frattur|"
    r"anxi|angst|hepatit|demen|alzheimer|parkinson|arthr|artros|artrit|hypertens|hypertonie|ipertens|hipertens|pneumon|"
    r"bronchit|bronquit|gastrit|ulcer|ulkus|stroke|schlaganfall|ictus|avc\b|anorex|bulimi|burn-?out|alcohol|alkohol|"
    r"pregnan|schwanger|grossesse|embaraz|zwanger|gravidanz|lombalg|lumbalg|tendin|sclero|sklero|esclero|insuffi[cz]ien)"
)
FEW_CONDITIONS, PART_OF_THEM = 3, 0.2  # different texts, and the share of them, that make a column one of conditions


def names_conditions(texts: Sequence[str]) -> str | None:
    """What in these different texts says how people are; None if too few do."""
    plain = ("".join(c for c in unicodedata.normalize("NFKD", t) if not unicodedata.combining(c)) for t in texts)
    found = sum(_CONDITIONS.search(text.casefold()) is not None for text in plain)
    if found < FEW_CONDITIONS or found < PART_OF_THEM * len(texts):
        return None
    return f"{found:,} of its {len(texts):,} different texts name illnesses or other conditions"


def _first_names(texts: list[tuple[str, int]], shape: re.Pattern[str]) -> float:
    """The share of texts that are two names, if the first ones go with many of the second; 0 if they do not.

    Innere Medizin and New York are two words as well, but few begin alike and end differently.
    """
    pairs = [found.groups() for text, _ in texts if (found := shape.fullmatch(text)) is not None]
    share = len(pairs) / len(texts)
    first, second = ({pair[place] for pair in pairs} for place in (0, 1))
    many = len(set(pairs)) >= 2.5 * len(first) and len(set(pairs)) >= 1.5 * len(second)
    return share if share >= 0.8 and many else 0.0


def _users(texts: list[tuple[str, int]]) -> float:
    """The share of texts that are small letters with digits behind, if the letters differ: grp1 and grp2 are codes."""
    letters = {found[1] for text, _ in texts if (found := _USER.fullmatch(text)) is not None}
    share = _share(_USER.fullmatch, texts)
    return share if share >= 0.5 and len(letters) >= 0.5 * len(texts) * share else 0.0


def _share(find: Callable[[str], object], texts: list[tuple[str, int]]) -> float:
    return sum(find(text) is not None for text, _ in texts) / len(texts)
