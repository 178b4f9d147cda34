"""Texts that point at people: addresses, telephone numbers, names, sentences. By a column's values, not its name."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["MISSING_WORDS", "names_conditions", "names_people"]

# What people write where there is no value; in lower case.
_ONE_WORD = (
    "? na n/a n.a. nan null . - -- --- k.a. k.a unbekannt unbek. n.b. n.r. inconnu inconnue n.c. s/d desconocido "
    "desconocida onbekend n.v.t. sconosciuto sconosciuta n.d. unknown missing #n/a (null) <na>"
)
MISSING_WORDS = {
    *_ONE_WORD.split(),
    *("", "k. a.", "keine angabe", "nicht bekannt", "non renseigné", "sin dato", "no consta"),
    *("niet bekend", "non noto", "not stated", "not known"),
}

MANY = 20  # different texts: below it a column of two words each is a list of categories
SEVERAL = 3.0  # words of a text, on average, that make it a sentence
SOME = 0.05  # share of the different texts that must say it

_MAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]{2,}")
# A zero or a plus first, a mark between digits, and not a date: 05515000 may be a code, 01.02.2019 is a day.
_PHONE = re.compile(
    r"(?=(?:\D*\d){7})(?!\d{1,2}[./-]\d{1,2}[./-]\d{2,4}$)(?=\+|\(?0.*\d[\s()/.-]+\d)\+?[(]?0?[\d\s()/.-]{6,}\d",
    re.ASCII,
)
_ROAD = re.compile(
    r"(?:stra(?:ß|ss)e|str\.|weg|gasse|allee|platz|damm|ufer|ring|\b(?:rue|avenue|boulevard|chemin|via|viale|piazza|calle"
    r"|avenida|plaza|street|road|lane|drive|square|straat|laan|plein)\b)\D{0,40}\d"
    r"|^\d+\w?,? \D*\b(?:rue|street|road|avenue|lane|drive)\b",
    re.IGNORECASE,
)
_TITLE = (
    r"(?:Fr\.|Frau|Hr\.|Herrn?|Dr\.?|Prof\.|Mme\.?|Mlle\.?|Mr\.?|Mrs\.?|Ms\.?|Sra?\.|Doña|Sig\.(?:ra)?|Dhr\.|Mevr\.)"
)
_BEFORE = r"(?:(?:van|von|vom|zu|zum|de|den|der|di|da|del|della|du|la|le|ter|ten) )*"  # a surname's own small words
_NAMED = re.compile(rf"(?:^|\s)(?i:{_TITLE}) {_BEFORE}[A-ZÀ-ÖØ-Þ][\w'’-]+")
_TWO_NAMES = re.compile(rf"([A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ'’-]+) ({_BEFORE}[A-ZÀ-ÖØ-Þ][\w'’-]+)")
_SURNAME_FIRST = re.compile(r"[A-ZÀ-ÖØ-Þ][\w'’ -]+, ?[A-ZÀ-ÖØ-Þ][\w'’ .-]+")


def names_people(texts: Sequence[str], rows: ArrayLike) -> str | None:
    """What in these different texts points at people, `rows` of each; None if nothing does."""
    kept = [(text.strip(), int(n)) for text, n in zip(texts, np.asarray(rows).tolist(), strict=True) if text.strip()]
    if not kept:
        return None
    for shape, what in ((_MAIL, "e-mail addresses"), (_PHONE, "telephone numbers"), (_ROAD, "street addresses")):
        if (share := _share(shape, kept)) >= 0.5:
            return f"{share:.0%} of its different texts are {what}"
    if (share := _share(_NAMED, kept, search=True)) >= SOME:
        return f"{share:.0%} of its different texts name somebody, after a title"
    if len(kept) < MANY:
        return None
    if (share := _share(_SURNAME_FIRST, kept)) >= 0.8:
        return f"{share:.0%} of its different texts look like a surname and a first name"
    if share := _first_names(kept):
        return f"{share:.0%} of its different texts look like a first name and a surname"
    words = np.array([sum(any(map(str.isalnum, word)) for word in text.split()) for text, _ in kept], dtype=np.float64)
    length = float(np.average(words, weights=[n for _, n in kept]))
    apart = len(kept) / sum(n for _, n in kept)
    of_words = sum(not any(map(str.isdigit, text)) for text, _ in kept) / len(kept)
    titles = length >= 2 and apart >= 0.3 and len(kept) >= 5 * MANY and of_words >= 0.8  # of jobs, for instance
    if titles or (length >= SEVERAL and apart >= 0.1) or (length >= 2 * SEVERAL and apart >= 0.02):
        return f"free text: {len(kept):,} different texts of {length:.1f} words on average"
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


def _first_names(texts: list[tuple[str, int]]) -> float:
    """The share of texts that are two names, if the first ones go with many of the second; 0 if they do not.

    Innere Medizin and New York are two words as well, but few begin alike and end differently.
    """
    pairs = [found.groups() for text, _ in texts if (found := _TWO_NAMES.fullmatch(text)) is not None]
    share = len(pairs) / len(texts)
    first, second = ({pair[place] for pair in pairs} for place in (0, 1))
    many = len(set(pairs)) >= 2.5 * len(first) and len(set(pairs)) >= 1.5 * len(second)
    return share if share >= 0.8 and many else 0.0


def _share(shape: re.Pattern[str], texts: list[tuple[str, int]], *, search: bool = False) -> float:
    find = shape.search if search or shape is _ROAD else shape.fullmatch
    return sum(find(text) is not None for text, _ in texts) / len(texts)
