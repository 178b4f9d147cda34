"""Made-up exports for people to read, as three offices send them. No person in them is real; the same every time.

A French insurer's with title lines and a line of units, a Dutch school's with names in Dutch and Spanish remarks, an
English payroll with two rows of names, currency signs, 3-Jan-2019 and a row of totals.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import numpy as np

__all__ = ["EXPORTS", "PEOPLE", "insurer_export", "payroll_export", "school_export"]

_BRETONS = (
    "Kergoat LeBihan Tanguy Quéméner Guillerm Jézéquel Bourhis Cadoret Hascoët Kermarrec Nédélec Pennarun Salaün "
    "Trévidic"
)
_PUPIL_NAMES = (
    "Aalberse Bloemendaal Crommelin Dijkgraaf Echevarría Fuentenebro Goicoechea Hoogendoorn Iturralde Klaassen "
    "Langeveld Mendizábal Nieuwenhuis Oosterhout Peñalver Roodenburg Santisteban"
)
_STAFF_NAMES = (
    "Abernathy Birtwhistle Cholmondeley Dalrymple Entwistle Fotheringay Gathercole Hollingberry Inglethorpe Jellicoe "
    "Kirkbride Lovelock Micklethwait Nethercott Oglethorpe Postlethwaite"
)
_FIRST_NAMES = (
    "Maël Gwenaëlle Nolwenn Erwan Soazig Loïc Armelle Tugdual Rozenn Hervé,"
    "Sanne Lucía Íñigo Femke Joost Begoña Thijs Marieke Álvaro Itziar Floor,"
    "Alfred Beatrice Clive Doris Edmund Florence Gerald Harriet Ivor Joyce Kenneth Lavinia"
)
_CARE = "geen dyslexie ADHD autismespectrum dyscalculie angststoornis epilepsie hoogbegaafd eetstoornis"
_JOBS = "Clerk,Senior Clerk,Driver,Warehouse Operative,Engineer,Team Leader,Accountant,Nurse,Cook,Cleaner"
_REASONS = "None,Cold / flu,Back pain,Stress,Surgery,Maternity related,Bereavement,Migraine,Depression"
_BRETON, _PUPILS, _STAFF = (tuple(names.split()) for names in (_BRETONS, _PUPIL_NAMES, _STAFF_NAMES))
_BRETON_FIRST, _PUPILS_FIRST, _STAFF_FIRST = (tuple(names.split()) for names in _FIRST_NAMES.split(","))
PEOPLE = (*_BRETON, *_PUPILS, *_STAFF)


def insurer_export(rows: int = 6000) -> bytes:
    """Semicolons, decimal commas, narrow blanks between thousands, UTF-8 with its mark."""
    draw = np.random.Generator(np.random.PCG64(1))
    names = (
        "N° allocataire;NIR;Nom d'usage;Prénom;Né(e) le;Sexe;Commune;Code postal;Situation familiale;Enfants à charge;"
        "Revenu annuel;Taille;IMC;Ouverture des droits;Prestation;Jours indemnisés;Motif de l'arrêt;Observations"
    )
    units = ";;;;jj/mm/aaaa;;;;;nombre;€;cm;kg/m²;jj/mm/aaaa;;jours;;"
    lines = ["CPAM du Morbihan – bénéficiaires" + ";" * 17, "Extraction du 12/03/2021" + ";" * 17, names, units]
    illnesses = ["Lombalgie", "Dépression", "Fracture", "Tendinite", "Cancer", "Diabète", "Migraine", "Asthme"]
    reasons = [f"{one} – {how}" for one in illnesses for how in ("aiguë", "chronique", "récidive", "bilan")]
    weight = 1 / (1 + np.arange(len(reasons))) ** 0.7
    towns = [("Vannes", 56000), ("Lorient", 56100), ("Auray", 56400), ("Pontivy", 56300), ("Séné", 56860)]
    states = ["célibataire", "marié(e)", "pacsé(e)", "divorcé(e)", "NC"]
    for row in range(rows):
        name, first = _one(draw, _BRETON), _one(draw, _BRETON_FIRST)
        (town, code), sex = towns[min(int(draw.exponential(1.5)), 4)], int(draw.random() < 0.55)
        start = date(2018, 1, 1) + timedelta(days=int(draw.integers(1100)))
        born = start - timedelta(days=int(365.25 * np.clip(draw.normal(44, 12), 18, 66)))
        income = f"{np.exp(draw.normal(10, 0.4)):,.2f}".replace(",", "\u202f").replace(".", ",")
        remark = ("", f"Mme {name} a rappelé", "dossier incomplet", f"voir Me {_one(draw, _BRETON)}", "RIB changé")
        lines.append(
            ";".join(
                [
                    f"{56000000 + 7 * row}",
                    f"{2 - sex} {born:%y %m} 56 {draw.integers(100, 300)} {row % 899 + 100} {draw.integers(10, 97)}",
                    f"{name}-{_one(draw, _BRETON)}",
                    first,
                    f"{born:%d/%m/%Y}",
                    "FHfh"[sex + 2 * int(draw.random() < 0.03)],
                    (town, town.upper(), town + " ")[draw.choice(3, p=[0.9, 0.05, 0.05])],
                    str(code),
                    states[draw.choice(5, p=[0.3, 0.37, 0.15, 0.14, 0.04])],
                    str(min(int(draw.poisson(1.1)), 6)),
                    income if draw.random() > 0.07 else "NC",
                    str(int(draw.normal(164 + 9 * sex, 7))),
                    f"{draw.normal(26, 4):.1f}".replace(".", ",") if draw.random() > 0.09 else "NC",
                    f"{start:%d/%m/%Y}",
                    ("IJ maladie", "IJ maternité", "IJ AT/MP")[draw.choice(3, p=[0.7, 0.12, 0.18])],
                    str(int(np.clip(draw.gamma(1.2, 20), 3, 360))),
                    reasons[draw.choice(len(reasons), p=weight / weight.sum())],
                    remark[draw.integers(5)],
                ]
            )
        )
    return _file(lines, "utf-8-sig")


def school_export(rows: int = 3000) -> bytes:
    """Tabs, Windows-1252, d-m-yyyy, grades with a comma, quotes within remarks."""
    draw = np.random.Generator(np.random.PCG64(2))
    names = (
        "Leerlingnr\tRoepnaam\tAchternaam\tGeb.datum\tGeslacht (m/v)\tPostcode\tWoonplaats\tKlas\tNationaliteit\t"
        "Thuistaal\tCijfer wiskunde\tVerzuim (uren)\tZorgindicatie\tOpmerkingen mentor\tTutor legal\tObservaciones"
    )
    care = _CARE.split()
    tongues = ["Nederlands", "Spaans", "Baskisch", "Arabisch", "Turks"]
    lines = [names]
    for row in range(rows):
        name, first, year = _one(draw, _PUPILS), _one(draw, _PUPILS_FIRST), int(draw.integers(1, 7))
        born = date(2019, 10, 1) - timedelta(days=int((11.2 + year) * 365.25 + draw.integers(380)))
        remark = ("", f"gesprek met moeder van {first}", f"{first} {name} is vaak te laat", '"bril; zit vooraan"')
        other = ("", f"hermana de {first} {name}", f"llamar a la Sra. {_one(draw, _PUPILS)}", "habla bien español")
        lines.append(
            "\t".join(
                [
                    f"L{190000 + row}",
                    first,
                    ("van der " if draw.random() < 0.2 else "") + name,
                    f"{born.day}-{born.month}-{born.year}",
                    "mvMV"[draw.choice(4, p=[0.49, 0.49, 0.01, 0.01])],
                    f"56{draw.integers(11, 14)} {'ABCDEFGH'[draw.integers(8)]}{chr(65 + draw.integers(26))}",
                    ("Eindhoven", "EINDHOVEN", "Eindhoven ", "Veldhoven")[draw.choice(4, p=[0.8, 0.04, 0.06, 0.1])],
                    f"{year}{'ABC'[draw.integers(3)]}",
                    ("Nederlandse", "Spaanse", "Marokkaanse", "onbekend")[draw.choice(4, p=[0.7, 0.2, 0.07, 0.03])],
                    tongues[min(int(draw.exponential(1.1)), 4)],
                    f"{np.clip(draw.normal(6.6, 1.1), 1, 10):.1f}".replace(".", ",") if draw.random() > 0.05 else "ZV",
                    str(int(draw.gamma(1, 8))) if draw.random() > 0.04 else "-",
                    care[draw.choice(9, p=[0.57, 0.12, 0.09, 0.06, 0.04, 0.04, 0.03, 0.04, 0.01])],
                    remark[draw.integers(4)],
                    f"{_one(draw, _PUPILS_FIRST)} {name}",
                    other[draw.integers(4)],
                ]
            )
        )
    return _file(lines, "cp1252")


def payroll_export(rows: int = 4000) -> bytes:
    """Commas, two rows of names, £ and %, thousands in quotes, a row of totals."""
    draw = np.random.Generator(np.random.PCG64(3))
    names = (
        "Emp. No.,Surname,Forename(s),NI Number,Date of birth,Sex,Job title,Department,Grade,Start date,Basic salary,"
        "Bonus,Pension %,Sick days,Reason for absence,Line manager,Comments"
    )
    lines, total = ["Employee,,,,,,Job,,,,Pay,,,Absence,,,", names], 0
    jobs = _JOBS.split(",")
    parts = ["Finance", "Operations", "Logistics", "People", "Catering", "Estates"]
    why = _REASONS.split(",")
    for row in range(rows):
        name, first, job = _one(draw, _STAFF), _one(draw, _STAFF_FIRST), int(draw.integers(len(jobs)))
        start = date(2005, 1, 1) + timedelta(days=int(draw.integers(5500)))
        born = start - timedelta(days=int(365.25 * np.clip(draw.normal(33, 10), 17, 62)))
        salary = round((18000 + 1500 * job + float(np.exp(draw.normal(8, 0.7)))) / 50) * 50
        total += salary
        bonus = ("-", "n/a", f'"£{salary // 20:,}"', f'"£{salary // 10:,}"')[draw.choice(4, p=[0.5, 0.05, 0.3, 0.15])]
        reason = int(draw.choice(9, p=[0.38, 0.2, 0.12, 0.1, 0.05, 0.05, 0.04, 0.03, 0.03]))
        remark = ("", f"Mr {name} to see Occ Health", f'"P45 sent, query from {first} {name}"', "TUPE transfer")
        letters = "".join("ABCEGHJK"[i] for i in draw.integers(8, size=2))
        insured = f"{letters} {' '.join(map(str, draw.integers(10, 99, 3)))} A"
        lines.append(
            ",".join(
                [
                    f"{100000 + 3 * row}",
                    name,
                    first,
                    insured,
                    _month_by_name(born),
                    ("F", "M", "Female", "Male")[draw.choice(4, p=[0.48, 0.49, 0.02, 0.01])],
                    jobs[job],
                    parts[(5 * job + int(draw.integers(2))) % 6],
                    f"{'ABCDE'[min(job // 3 + int(draw.integers(2)), 4)]}{draw.integers(1, 4)}",
                    _month_by_name(start),
                    f'"£{salary:,.2f}"',
                    bonus,
                    f"{(3, 4.5, 5, 5.5, 8)[draw.integers(5)]}%",
                    str(int(draw.poisson(4)) if reason else 0),
                    why[reason],
                    f"{_one(draw, _STAFF_FIRST)} {_one(draw, _STAFF)}",
                    remark[draw.integers(4)],
                ]
            )
        )
    return _file([*lines, f'Total,,,,,,,,,,"£{total:,.2f}",,,,,,'], "cp1252")


def _one(draw: np.random.Generator, names: tuple[str, ...]) -> str:
    return names[draw.integers(len(names))]


def _month_by_name(day: date) -> str:
    return f"{day.day}-{'JanFebMarAprMayJunJulAugSepOctNovDec'[3 * day.month - 3 : 3 * day.month]}-{day.year}"


def _file(lines: list[str], encoding: str) -> bytes:
    return ("\r\n".join(lines) + "\r\n").encode(encoding)


EXPORTS: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "insurer": (".csv", insurer_export),
    "school": (".tsv", school_export),
    "payroll": (".csv", payroll_export),
}
