"""A made-up Italian register of people in care, as a spreadsheet that somebody keeps by hand.

Title lines above the table and a line of totals below it, real dates beside dates as text, numbers as text, doctors'
names, several spellings of one value, two sensitive attributes. No person in it is real; the same numbers every time.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import xlsxwriter

__all__ = ["FAMILY_NAMES", "HEADER", "care_register"]

_FAMILY_NAMES_TEXT = (
    "Abbatangelo Boccadifuoco Cacciapuoti Dell'Acquaviva Fumagallini Garofalacci Iannuzzelli Lamborghesi Mastrogiacomo "
    "Nicastrelli Orlandazzi Pappalardone Quattrocchini Ravasconi Scognamigli Tagliapietri Ughettoni Vendramelli "
    "Zampaglioni Bevilacquosi"
)
FAMILY_NAMES = tuple(_FAMILY_NAMES_TEXT.split())
_GIVEN_TEXT = "Alessio Bruna Carlo Donatella Elio Fiorella Gino Ilaria Luca Marta Nino Ornella Piero Rosa Sandro Tea"
_GIVEN = tuple(_GIVEN_TEXT.split())
_TOWNS_TEXT = (
    "Castelforte Montelago Borgorosso Pievebassa Roccalta Sanvitale Torrenera Vallechiara Fontefredda Pontelungo "
    "Campolieto Serravecchia"
)
_TOWNS = tuple(_TOWNS_TEXT.split())
_JOBS_TEXT = (
    "impiegato operaio insegnante pensionato studente casalinga infermiere commerciante agricoltore autista cuoco "
    "notaio farmacista muratore parrucchiere avvocato idraulico disoccupato magistrato apicoltore liutaio"
)
_JOBS = tuple(_JOBS_TEXT.split())
_STUDIES = ["licenza elementare", "licenza media", "diploma", "laurea", "dottorato"]
_STATES = ["celibe/nubile", "coniugato/a", "separato/a", "vedovo/a"]
_DEPENDENCES = ["nessuna", "alcol", "gioco d'azzardo", "sostanze", "tabacco"]
_NOTES = ["", "", "", "avvisare la sig.ra {0}", "non parla italiano", "accompagnato da {0}", "inviato dal dr. {0}"]
HEADER = (
    "Codice fiscale",
    "Cognome",
    "Nome",
    "Data di nascita",
    "Sesso",
    "Comune di residenza",
    "CAP",
    "Cellulare",
    "Medico curante",
    "Professione",
    "Titolo di studio",
    "Stato civile",
    "N. figli",
    "Presa in carico",
    "Dimissione",
    "Reddito ISEE (€)",
    "Diagnosi ICD-9",
    "Dipendenza",
    "Note dell'operatore",
)


def care_register(path: Path, rows: int = 12_000) -> Path:
    """The workbook."""
    draw = np.random.Generator(np.random.PCG64(20_261_118))
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Assistiti")
    legend = book.add_worksheet("Legenda")
    legend.write_row(0, 0, ["n.d.", "dato non disponibile"])
    day = book.add_format({"num_format": "dd/mm/yyyy"})
    sheet.write(0, 0, "Azienda Sanitaria Locale 99 - Servizio territoriale")
    sheet.write(1, 0, "Registro degli assistiti, estratto il 12/01/2024")
    sheet.write_row(3, 0, HEADER)
    for row in range(rows):
        for place, cell in enumerate(_person(draw, row)):
            if isinstance(cell, date):
                sheet.write_datetime(row + 4, place, cell, day)
            elif cell != "":
                sheet.write(row + 4, place, cell)
    sheet.write_row(rows + 5, 0, ["Totale assistiti", rows])
    book.close()
    return path


def _person(draw: np.random.Generator, row: int) -> list[Any]:
    family, doctor = (FAMILY_NAMES[i] for i in draw.integers(len(FAMILY_NAMES), size=2))
    given = _GIVEN[draw.integers(len(_GIVEN))]
    age = int(np.clip(draw.normal(52, 19), 16, 98))
    came = date(2021, 1, 1) + timedelta(days=int(draw.integers(0, 3 * 365)))
    born = came - timedelta(days=int(age * 365.25 + draw.integers(365)))
    town = int(draw.choice(len(_TOWNS), p=np.arange(len(_TOWNS), 0, -1) / 78))
    job = _JOBS[3] if age > 67 else _JOBS[min(int(draw.exponential(4)), len(_JOBS) - 1)]
    dependence = int(draw.choice(5, p=[0.55, 0.2, 0.08, 0.07, 0.1] if age > 40 else [0.4, 0.15, 0.15, 0.2, 0.1]))
    code = (303, 303, 312, 304, 305)[dependence] if dependence and draw.random() < 0.5 else 290 + int(draw.integers(30))
    income = round(float(np.exp(draw.normal(9.4, 0.7))), 2)
    money = f"{income:,.2f}".translate(str.maketrans(",.", ".,"))
    sex = "FM"[int(draw.random() < 0.5)]
    letters = "".join(chr(65 + i) for i in draw.integers(26, size=6))
    return [
        f"{letters}{born:%y}{chr(65 + row % 12)}{born:%d}H{row % 1000:03d}{chr(65 + row % 26)}",
        family,
        given,
        _somehow(born, draw),
        (sex, sex, sex, sex.lower(), {"F": "Femmina", "M": "Maschio"}[sex])[draw.integers(5)],
        (_TOWNS[town], _TOWNS[town].upper(), _TOWNS[town] + " ", _TOWNS[town])[min(int(draw.integers(30)), 3)],
        (40_100 + 7 * town + int(draw.integers(4)), f"{40_100 + 7 * town + int(draw.integers(4))}")[draw.integers(2)],
        f"3{draw.integers(20, 50)} {draw.integers(1_000_000, 9_999_999)}",
        f"Dr. {doctor}",
        job if draw.random() > 0.02 else "n.d.",
        _STUDIES[draw.integers(5)] if draw.random() > 0.04 else "n.d.",
        _STATES[draw.integers(4)],
        int(min(draw.poisson(1.2), 9)) if draw.random() > 0.03 else "n.d.",
        _somehow(came, draw),
        _somehow(came + timedelta(days=int(draw.gamma(2, 40))), draw) if draw.random() > 0.1 else "",
        income if draw.random() < 0.7 else f"{money} €" if draw.random() < 0.9 else "n.d.",
        f"{code}.{draw.integers(4)}",
        _DEPENDENCES[dependence],
        _NOTES[draw.integers(len(_NOTES))].format(family),
    ]


def _somehow(day: date, draw: np.random.Generator) -> date | str:
    """Mostly a date; now and then what somebody typed."""
    kind = draw.random()
    return day if kind < 0.85 else f"{day:%d/%m/%Y}" if kind < 0.95 else day.isoformat()
