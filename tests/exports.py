"""A made-up hospital's export, as it comes out of a clinic's system.

Semicolons, decimal commas, national dates, names in remarks, several spellings of one value. No person
in it is real; the same numbers every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

__all__ = ["FRENCH", "GERMAN", "SURNAMES", "Export", "hospital_export"]

_SURNAMES = (
    "Achterkamp Bredenbeck Czymoch Dörffler Eggebrecht Fahrenkrog Grüttefien Hasenkox Imdahl Jankowiak Kielmannsegg "
    "Lautenschläger Mönkemeyer Niebuhrsen Oberschelp Pfefferkorn Quitzow Rautenstrauch Schmalstieg Tiedemannsen "
    "Uhlenbrock Vorwerckel Wackernagel Xylandern Yorckhoven Zschiedrich Ammermüller Bölsterli Creutzfelder Dünnebacke"
)
SURNAMES = tuple(_SURNAMES.split())
_FIRSTS = "Anna Bernd Clara Dieter Emma Fritz Greta Hans Ilse Jonas Klara Lukas Maria Nils Olga Paul Rita Stefan"
_FIRST = _FIRSTS.split()
_ROADS = "Ahornweg Birkenallee Dorfstraße Eichenweg Feldgasse Gartenstraße Hafenstraße Kirchplatz"
_STREETS = _ROADS.split()


@dataclass(frozen=True)
class Export:
    """The words of one country."""

    header: tuple[str, ...]
    sexes: tuple[str, ...]
    insurance: tuple[str, ...]
    wards: tuple[str, ...]
    missing: str
    remarks: tuple[str, ...]
    encoding: str


GERMAN = Export(
    header=(
        "Fallnummer",
        "Patient",
        "Geburtsdatum",
        "Geschlecht",
        "PLZ",
        "Straße",
        "Telefon",
        "E-Mail",
        "Versicherung",
        "Aufnahmedatum",
        "Entlassdatum",
        "Fachabteilung / Station",
        "BMI",
        "Rechnungsbetrag",
        "Hauptdiagnose (ICD)",
        "Bemerkung",
    ),
    sexes=("w", "m"),
    insurance=("GKV", "PKV", "Selbstzahler"),
    wards=("Innere Medizin", "Chirurgie", "Kardiologie", "Neurologie", "Geburtshilfe", "Pädiatrie"),
    missing="k.A.",
    remarks=(
        "",
        "",
        "Tochter Fr. {0} informiert",
        "nüchtern ab 22 Uhr",
        "Verlegung durch Dr. {0}",
        "Patient {0} wünscht Einzelzimmer",
    ),
    encoding="cp1252",
)
FRENCH = Export(
    header=(
        "N° de dossier",
        "Nom et prénom",
        "Date de naissance",
        "Sexe",
        "Code postal",
        "Adresse",
        "Téléphone",
        "Courriel",
        "Assurance",
        "Date d'entrée",
        "Date de sortie",
        "Service / unité",
        "IMC",
        "Montant facturé",
        "Diagnostic principal (CIM)",
        "Remarques",
    ),
    sexes=("F", "H"),
    insurance=("Régime général", "Mutuelle", "AME"),
    wards=("Médecine", "Chirurgie", "Cardiologie", "Neurologie", "Maternité", "Pédiatrie"),
    missing="N.R.",
    remarks=(
        "",
        "",
        "fille Mme {0} informée",
        "à jeun depuis 22 h",
        "transfert par Dr {0}",
        "M. {0} souhaite une chambre seule",
    ),
    encoding="utf-8",
)

# Families of diagnoses with the ages at which they strike and the wards that treat them.
_FAMILIES = (
    ("I", 20, 52, 68, 2),
    ("E", 10, 16, 55, 0),
    ("J", 10, 45, 45, 0),
    ("K", 20, 70, 50, 1),
    ("C", 15, 80, 62, 1),
    ("G", 20, 60, 58, 3),
    ("O", 10, 48, 30, 4),
    ("P", 5, 30, 1, 5),
)


def hospital_export(rows: int = 8_000, words: Export = GERMAN, codes: int = 300) -> bytes:
    """The file, as bytes in the country's encoding."""
    draw = np.random.Generator(np.random.PCG64(20_221_118))
    icd = _diagnoses(codes)
    weight = 1 / (1 + np.arange(len(icd))) ** 0.8
    which = draw.choice(len(icd), size=rows, p=weight / weight.sum())
    people = np.resize(draw.permutation(len(SURNAMES) ** 2 * len(_FIRST)), rows)  # another name each, to 16,200 rows
    lines = [";".join(words.header)]
    for row in range(rows):
        code, middle, ward = icd[which[row]]
        letter = code[0]
        age = int(np.clip(draw.normal(middle, 2 if letter == "P" else 9 if letter == "O" else 15), 0, 99))
        sex = 0 if letter == "O" else int(draw.random() < 0.5)
        entry = date(2019, 1, 1) + timedelta(days=int(draw.integers(0, 5 * 365)))
        birth = entry - timedelta(days=int(age * 365.25 + draw.integers(0, 365)))
        stay = int(np.clip(draw.gamma(1.6, 3.5), 0, 60))
        one, other = (SURNAMES[code] for code in divmod(int(people[row]) % len(SURNAMES) ** 2, len(SURNAMES)))
        surname, first = f"{one}-{other}", _FIRST[people[row] // len(SURNAMES) ** 2]
        postcode = f"{('48', '49', '01')[draw.choice(3, p=[0.7, 0.2, 0.1])]}{draw.integers(100, 160):03d}"
        insured = words.insurance[draw.choice(3, p=[0.86, 0.11, 0.03])]
        insured = (insured + " ", insured.lower(), words.missing, insured)[min(int(draw.random() * 25), 3)]
        bmi = f"{draw.normal(27, 4):.1f}".replace(".", ",") if draw.random() > 0.06 else words.missing
        amount = f"{np.exp(draw.normal(8.1, 0.6)):,.2f}".translate(str.maketrans(",.", ".,"))
        ward = ward if draw.random() < 0.8 else int(draw.integers(len(words.wards)))
        remark = words.remarks[draw.integers(len(words.remarks))].format(surname)
        fields = [
            f"F{2019 + row // 2000}-{row:06d}",
            f"{surname}, {first}",
            _day(birth),
            words.sexes[sex] if draw.random() > 0.01 else words.missing,
            postcode,
            f"{_STREETS[draw.integers(len(_STREETS))]} {draw.integers(1, 140)}",
            f"0251 {draw.integers(100_000, 999_999)}",
            f"{first}.{surname}@example.org".lower(),
            insured,
            _day(entry),
            _day(entry + timedelta(days=stay)),
            words.wards[ward],
            bmi,
            amount,
            code,
            remark,
        ]
        lines.append(";".join(fields))
    return ("\r\n".join(lines) + "\r\n").encode(words.encoding)


def _diagnoses(codes: int) -> list[tuple[str, float, int]]:
    """Codes E11.9, the middle age of each and its ward; families take turns, so that the frequent ones are mixed."""
    found: list[tuple[str, float, int]] = []
    step = 0
    while len(found) < codes:
        for letter, first, last, age, ward in _FAMILIES:
            number = first + (step // 5) % (last - first + 1)
            digit = (step * 3 + step // (5 * (last - first + 1))) % 10
            code = f"{letter}{number:02d}.{digit}"
            if code not in {c for c, *_ in found} and len(found) < codes:
                found.append((code, age + (step % 7 - 3), ward))
        step += 1
    return found


def _day(day: date) -> str:
    return day.strftime("%d.%m.%Y")
