"""Columns that point at people by their texts alone: drafted as identifiers under any name, and published by nobody."""

import string
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from unveil.data.draft import draft_schema
from unveil.data.preparation import CodedColumn
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.errors import TableError

PEOPLE = 200
Draw = np.random.Generator
_FIRST_NAMES = "Ada Boris Chiara Dirk Elif Femke Gonzalo Hanne Ilse Jérôme Kwame Lotte Maarten Noor Otto Pilar"
_LAST_NAMES = (
    "Abendroth Brouwer Castiglione Dubreuil Ekström Ferrándiz Grothe Haverkamp Ibáñez Jansen Kowalczyk Lefèvre Moretti "
    "Nijhuis Oyelaran Pettinari Quast Rademaker Sørensen Thibodeaux"
)
_FIRST, _LAST = _FIRST_NAMES.split(), _LAST_NAMES.split()
_SENTENCES = {
    "en": ("rang {0}, will call back", "sleeps badly", "seen with {0} and {1}", "no show", "wants a copy", ""),
    "de": ("mit {0} telefoniert", "kommt wieder", "Termin verschoben wg. {1}", "o.B.", "nüchtern", ""),
    "fr": ("vu avec {0}", "à rappeler", "sa fille {1} est venue", "RAS", "douleurs la nuit", ""),
    "es": ("vive con {0}", "pte. RMN", "avisar a {1}", "sin cambios", "alergia a penicilina", ""),
    "nl": ("gebeld met {0}", "komt terug", "dochter {1} langs geweest", "g.b.", "slaapt slecht", ""),
    "it": ("parlato con {0}", "da richiamare", "la figlia {1} telefona", "n.d.r.", "dorme male", ""),
}


def _one(draw: Draw, of: Sequence[str]) -> str:
    return of[int(draw.integers(len(of)))]


def _digits(draw: Draw, count: int) -> str:
    return "".join(map(str, draw.integers(0, 10, count)))


def _letters(draw: Draw, count: int, of: str = string.ascii_uppercase) -> str:
    return "".join(of[i] for i in draw.integers(0, len(of), count))


def _name(draw: Draw) -> str:
    return f"{_one(draw, _FIRST)} {_one(draw, _LAST)}"


def _remark(language: str) -> Callable[[Draw], str]:
    return lambda draw: _one(draw, _SENTENCES[language]).format(_name(draw), _one(draw, _FIRST))


def _contact(draw: Draw) -> str:
    mail = f"{_one(draw, _LAST).lower()}{draw.integers(99)}@example.org"
    phone = f"0{_digits(draw, 3)} {_digits(draw, 6)}"
    return (mail, phone, f"via {_one(draw, _FIRST)}", "per Post")[draw.choice(4, p=[0.3, 0.3, 0.2, 0.2])]


def _check(number: str) -> str:
    return str(sum(map(int, number)) % 10)


def _case(draw: Draw) -> str:
    number = _digits(draw, 6)
    return f"{draw.integers(2015, 2024)}/{number}-{_check(number)}"


NASTY: dict[str, Callable[[Draw], str]] = {
    **{f"remarks, {language}": _remark(language) for language in _SENTENCES},
    "contact": _contact,
    "IBAN, in blocks": lambda d: (
        f"DE{_digits(d, 2)} {_digits(d, 4)} {_digits(d, 4)} {_digits(d, 4)} {_digits(d, 4)} {_digits(d, 2)}"
    ),
    "IBAN": lambda d: f"NL{_digits(d, 2)}INGB{_digits(d, 10)}",
    "German insurance": lambda d: f"{_letters(d, 1)}{_digits(d, 9)}",
    "British insurance": lambda d: f"{_letters(d, 2)} {_digits(d, 2)} {_digits(d, 2)} {_digits(d, 2)} {_letters(d, 1)}",
    "French insurance": lambda d: (
        f"{d.integers(1, 3)} {_digits(d, 2)} 0{d.integers(1, 9)} {_digits(d, 2)} {_digits(d, 3)} {_digits(d, 3)} 07"
    ),
    "codice fiscale": lambda d: (
        f"{_letters(d, 6)}{_digits(d, 2)}{_letters(d, 1)}{_digits(d, 2)}{_letters(d, 1)}{_digits(d, 3)}{_letters(d, 1)}"
    ),
    "DNI": lambda d: f"{_digits(d, 8)}{_letters(d, 1)}",
    "BSN": lambda d: f"0{_digits(d, 8)}",
    "SSN": lambda d: f"{_digits(d, 3)}-{_digits(d, 2)}-{_digits(d, 4)}",
    "German plates": lambda d: f"{_letters(d, int(d.integers(1, 4)))}-{_letters(d, 2)} {d.integers(1, 9999)}",
    "French plates": lambda d: f"{_letters(d, 2)}-{_digits(d, 3)}-{_letters(d, 2)}",
    "Spanish plates": lambda d: f"{_digits(d, 4)} {_letters(d, 3, 'BCDFGHJKLM')}",
    "Dutch plates": lambda d: f"{_letters(d, 1)}-{_digits(d, 3)}-{_letters(d, 2)}",
    "British plates": lambda d: f"{_letters(d, 2)}{_digits(d, 2)} {_letters(d, 3)}",
    "phone, Dutch": lambda d: f"06 {_digits(d, 2)} {_digits(d, 2)} {_digits(d, 2)} {_digits(d, 2)}",
    "phone, Spanish": lambda d: f"6{_digits(d, 2)} {_digits(d, 3)} {_digits(d, 3)}",
    "phone, American": lambda d: f"({_digits(d, 3)}) {_digits(d, 3)}-{_digits(d, 4)}",
    "address, town first": lambda d: f"{_digits(d, 5)} Musterstadt, {_one(d, _LAST)}weg {d.integers(1, 99)}",
    "address, Spanish": lambda d: (
        f"C/ {_one(d, _LAST)} {d.integers(1, 99)}, {d.integers(1, 8)}º {_letters(d, 1, 'ABCD')}"
    ),
    "address, Italian": lambda d: f"Via {_one(d, _LAST)} {d.integers(1, 99)}, int. {d.integers(1, 9)}",
    "address, British": lambda d: f"Flat {d.integers(1, 9)}, {d.integers(1, 99)} {_one(d, _LAST)} Close",
    "address, Dutch": lambda d: (
        f"{_one(d, _LAST)}kade {d.integers(1, 99)}-{_letters(d, 1, 'ABC')}, {_digits(d, 4)} {_letters(d, 2)}"
    ),
    "IPv4": lambda d: ".".join(map(str, d.integers(1, 255, 4))),
    "IPv6": lambda d: ":".join(f"{n:x}" for n in d.integers(1, 65_535, 8)),
    "MAC": lambda d: ":".join(f"{n:02x}" for n in d.integers(0, 256, 6)),
    "GPS": lambda d: f"{d.uniform(47, 55):.5f}, {d.uniform(6, 15):.5f}",
    "GPS, with letters": lambda d: f"{d.uniform(47, 55):.4f}° N {d.uniform(6, 15):.4f}° E",
    "initials and year": lambda d: f"{_letters(d, 2)}{d.integers(1930, 2005)}",
    "initials, born": lambda d: f"{_letters(d, 1)}.{_letters(d, 1)}. *{d.integers(1930, 2005)}",
    "case with a check digit": _case,
    "case with letters": lambda d: f"F-{_digits(d, 6)}-{_letters(d, 1)}",
    "user names": lambda d: f"{_one(d, _FIRST)[0].lower()}{_one(d, _LAST).lower()}{d.integers(1, 99)}",
    "user names, dotted": lambda d: f"{_one(d, _FIRST).lower()}.{_one(d, _LAST).lower()}",
    "handles": lambda d: f"@{_one(d, _FIRST).lower()}_{_one(d, _LAST).lower()}",
    "profiles": lambda d: f"https://people.example/{_one(d, _LAST).lower()}-{d.integers(1, 99)}",
    "hashes": lambda d: f"{d.integers(2**63):016x}",
    "UUID": lambda d: f"{_hex(d, 8)}-{_hex(d, 4)}-4{_hex(d, 3)}-a{_hex(d, 3)}-{_hex(d, 12)}",
    "names": _name,
    "names, shouted": lambda d: f"{_one(d, _LAST)} {_one(d, _FIRST)}".upper(),
    "names, surname first": lambda d: f"{_one(d, _LAST)}, {_one(d, _FIRST)}",
    "names, no capitals": lambda d: _name(d).lower(),
    "names and birth": lambda d: f"{_name(d)} ({d.integers(1930, 2005)})",
    "scans": lambda d: f"{_one(d, _LAST).lower()}_{_one(d, _FIRST).lower()}_{_digits(d, 4)}.pdf",
    "job titles": lambda d: (
        f"{_one(d, ['Head', 'Deputy head', 'Clerk', 'Keeper'])} of {_one(d, _LAST)} {_one(d, ['archive', 'depot'])}"
    ),
}


def _hex(draw: Draw, count: int) -> str:
    return _letters(draw, count, "0123456789abcdef")


def column_of(name: str, times: int) -> list[str]:
    """The texts of a column in which each person has so many rows."""
    draw = np.random.default_rng(sum(map(ord, name)))
    texts = [NASTY[name](draw) for _ in range(PEOPLE)]
    return [texts[i] for i in draw.permutation(PEOPLE * times) % PEOPLE]


def coded(texts: Sequence[str]) -> CodedColumn:
    values = sorted(set(texts))
    rank = {text: number for number, text in enumerate(values)}
    return CodedColumn(values, np.array([rank[text] for text in texts]))


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("name", NASTY)
def test_a_column_that_points_at_people_is_an_identifier_under_any_name(name: str, times: int) -> None:
    texts = column_of(name, times)
    draft = draft_schema({"Feld 3": coded(texts), "kind": coded(["x", "y"] * (len(texts) // 2))}, name="t.csv")
    found = draft.evidence[0]
    assert found.role == "identifier", found.reasons
    assert found.reasons[0]


@pytest.mark.parametrize("role", ["quasi-identifier", "sensitive", "insensitive"])
@pytest.mark.parametrize("name", NASTY)
def test_nobody_publishes_it_without_a_word(name: str, role: str) -> None:
    document = {
        "version": 1,
        "confirmed": True,
        "missing": [""],
        "attributes": {"f": {"role": role, "missing": "category"}},
    }
    table = Table.from_columns(Schema(SchemaDocument.model_validate(document)), {"f": column_of(name, 3)})
    with pytest.raises(TableError, match="f: is not released: "):
        table.check_texts()


_PLACES = "Aalen Bremen Celle Delft Evora Ferrara Gent Hilden Ingelheim Jena Konstanz Lugo Murcia Nantes Olpe"
_WORK = "baker cook driver farmer joiner mason miner nurse painter porter roofer tailor teacher waiter welder"
_TOWNS, _TRADES = _PLACES.split(), _WORK.split()
PLAIN: dict[str, Callable[[Draw], object]] = {
    "ICD-10": lambda d: f"{_letters(d, 1, 'ACEFGIJK')}{_one(d, ['10', '25', '48', '50'])}.{_digits(d, 1)}",
    "ATC": lambda d: f"{_letters(d, 1, 'ABCN')}0{d.integers(1, 4)}{_letters(d, 2, 'ABX')}0{d.integers(1, 4)}",
    "Dutch postcodes": lambda d: f"{d.integers(1000, 1099)} {_letters(d, 2, 'ABCD')}",
    "British postcodes": lambda d: (
        f"{_letters(d, 2, 'NSE')}{d.integers(1, 9)} {d.integers(1, 9)}{_letters(d, 2, 'AB')}"
    ),
    "municipalities": lambda d: f"05515{d.integers(0, 120):03d}",
    "towns": lambda d: f"{_one(d, _TOWNS)}{_one(d, ['', '-Süd', '-Nord', '/See'])}",
    "saints": lambda d: f"{_one(d, ['San', 'Santa', 'St.', 'Saint'])} {_one(d, ['Juan', 'Marta', 'Peter', 'Michel'])}",
    "trades": lambda d: _one(d, _TRADES),
    "trades, two words": lambda d: f"{_one(d, ['apprentice', 'retired', 'self-employed'])} {_one(d, _TRADES)}",
    "wards": lambda d: f"{_one(d, ['Chirurgie', 'Innere', 'Neuro', 'Augen'])} {_one(d, ['Tag', 'Nacht', 'Ost'])}",
    "groups": lambda d: f"grp{d.integers(1, 40)}",
    "snakes": lambda d: f"{_one(d, _TRADES)}_{_one(d, ['a', 'b'])}",
    "salaries": lambda d: int(np.exp(d.normal(10.4, 0.5))),
    "salaries, heaped": lambda d: 50 * int(np.exp(d.normal(6.5, 0.5))),
    "platelets": lambda d: int(d.normal(250_000, 60_000)) // 1000 * 1000,
    "years": lambda d: int(d.integers(1930, 2005)),
    "quarters": lambda d: f"{d.integers(2015, 2024)}-Q{d.integers(1, 5)}",
    "clock": lambda d: f"{d.integers(0, 24):02d}:{d.integers(0, 60) // 15 * 15:02d}",
    "amounts": lambda d: f"{d.integers(1, 9)}.{d.integers(10, 99)}0,00 €",
}


@pytest.mark.parametrize("rows", [400, 3_000])
@pytest.mark.parametrize("name", PLAIN)
def test_what_people_have_in_common_points_at_nobody(name: str, rows: int) -> None:
    draw = np.random.default_rng(sum(map(ord, name)))
    cells = [str(PLAIN[name](draw)) for _ in range(rows)]
    draft = draft_schema({"Feld 3": coded(cells), "kind": coded(["x", "y"] * (rows // 2))}, name="t.csv")
    assert draft.evidence[0].role != "identifier", draft.evidence[0].reasons
    document = {"version": 1, "confirmed": True, "attributes": {"f": {"role": "sensitive"}}}
    Table.from_columns(Schema(SchemaDocument.model_validate(document)), {"f": cells}).check_texts()


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        (4_000, range(400_000, 428_000, 7)),
        (2_000, np.random.default_rng(1).permutation(90_000)[:2_000] + 10_000),
        (600, np.tile(np.random.default_rng(2).integers(10_000_000, 99_999_999, 200), 3)),
    ],
)
def test_numbers_that_were_given_out_are_identifiers(rows: int, numbers: Sequence[int]) -> None:
    """Case numbers in steps of 7, at random, and of people with three rows each: under any name."""
    cells = [str(int(n)) for n in numbers]
    found = draft_schema({"a": coded(cells), "b": coded(["x", "y"] * (rows // 2))}, name="t.csv").evidence[0]
    assert (found.role, found.kind) == ("identifier", "numeric")
    document = {"version": 1, "confirmed": True, "attributes": {"f": {"role": "sensitive", "kind": "numeric"}}}
    table = Table.from_columns(Schema(SchemaDocument.model_validate(document)), {"f": cells})
    with pytest.raises(TableError, match="f: is not released: whole numbers of "):
        table.check_texts()
