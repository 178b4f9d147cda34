"""Made-up exports for people to read, as five offices send them. No person in them is real; the same every time.

A French insurer's with title lines and a line of units, a Dutch school's with names in Dutch and Spanish remarks, an
English payroll with two rows of names, currency signs, 3-Jan-2019 and a row of totals, a Spanish emergency department's
with F. Nac. and ICD-10 codes in two cases, and a Dutch practice's with commas between fields and within numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import numpy as np

__all__ = [
    "EXPORTS",
    "PEOPLE",
    "emergency_export",
    "insurer_export",
    "payroll_export",
    "practice_export",
    "school_export",
]

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
_BASQUE_NAMES = (
    "Aristegui Belloso Cabezuelo Escalante Galdeano Herraiz Ibarrola Jaurrieta Lizarralde Nogueruela Olazábal "
    "Quintanilla Recalde Urrutikoetxea Valdivieso Zubizarreta"
)
_FRISIAN_NAMES = (
    "Abbenhuis Brouwershaven Cuperus Dekkerink Feenstrasma Hartgerink Jongbloedt Lansinkveld Meijerhof Noordervliet "
    "Quaedvlieg Schimmelpenn Uittenbogaard Wijngaerden Zandbergent"
)
_FIRST_NAMES = (
    "Maël Gwenaëlle Nolwenn Erwan Soazig Loïc Armelle Tugdual Rozenn Hervé,"
    "Sanne Lucía Íñigo Femke Joost Begoña Thijs Marieke Álvaro Itziar Floor,"
    "Alfred Beatrice Clive Doris Edmund Florence Gerald Harriet Ivor Joyce Kenneth Lavinia,"
    "Iñaki Nuria Asunción Jordi Xoán Remedios Fermín Leire,"
    "Anke Bram Carolien Dirk-Jan Eefje Fokke Geertruida Harm Jelmer"
)
_CARE = "geen dyslexie ADHD autismespectrum dyscalculie angststoornis epilepsie hoogbegaafd eetstoornis"
_JOBS = "Clerk,Senior Clerk,Driver,Warehouse Operative,Engineer,Team Leader,Accountant,Nurse,Cook,Cleaner"
_REASONS = "None,Cold / flu,Back pain,Stress,Surgery,Maternity related,Bereavement,Migraine,Depression"
_BRETON, _PUPILS, _STAFF, _BASQUES, _FRISIANS = (
    tuple(names.split()) for names in (_BRETONS, _PUPIL_NAMES, _STAFF_NAMES, _BASQUE_NAMES, _FRISIAN_NAMES)
)
_BRETON_FIRST, _PUPILS_FIRST, _STAFF_FIRST, _BASQUE_FIRST, _FRISIAN_FIRST = (
    tuple(names.split()) for names in _FIRST_NAMES.split(",")
)
PEOPLE = (*_BRETON, *_PUPILS, *_STAFF, *_BASQUES, *_FRISIANS)


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


def emergency_export(rows: int = 3000) -> bytes:
    """Semicolons, Windows-1252, times of day, N/C and s/d, codes in both cases, amounts with € behind."""
    draw = np.random.Generator(np.random.PCG64(4))
    names = (
        "NHC;Episodio;Apellido 1º;Apellido 2º;Nombre;DNI/NIE;F. Nac.;Sexo;C.P.;Población;Móvil;Correo-e;Aseguradora;"
        "Fecha ingreso;Fecha alta;Servicio;Peso (kg);Importe;Estado civil;Dx principal (CIE-10);"
        "Médico resp.;Anotaciones"
    )
    towns = [("Bilbao", 48001), ("Getxo", 48930), ("Durango", 48200), ("Eibar", 20600)]
    wards = ["Urgencias", "Cirugía General", "Medicina Interna", "Traumatología", "Neumología"]
    lines, codes = [names], _codes(150)
    for row in range(rows):
        name, other, first = _one(draw, _BASQUES), _one(draw, _BASQUES), _one(draw, _BASQUE_FIRST)
        kind, (town, post) = _rank(draw, len(codes)), towns[min(int(draw.exponential(1.2)), 3)]
        came = date(2020, 1, 1) + timedelta(days=int(draw.integers(1000)))
        born = came - timedelta(days=int(365.25 * np.clip(draw.normal(30 + kind * 7 % 45, 14), 0, 98)))
        left = came + timedelta(days=int(np.clip(draw.gamma(1.3, 4), 0, 70)))
        number = int(draw.integers(10**7, 9 * 10**7))
        sex = ("H", "M", "h", "Mujer")[draw.choice(4, p=[0.47, 0.5, 0.01, 0.02])]
        remark = ("", "dolor desde ayer", f"hija {first} avisada", f"llamar a {name} {other}")[draw.integers(4)]
        fields = [
            str(700000 + row),
            f"EP{came.year}-{draw.integers(16**5):05X}",
            *(name, other, first),
            f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}",
            f"{born:%d/%m/%Y}",
            sex,
            f"{post + int(draw.integers(9)):05d}",
            (town, town.upper(), town + " ")[draw.choice(3, p=[0.9, 0.05, 0.05])],
            f"6{draw.integers(10, 99)} {draw.integers(100, 999)} {draw.integers(100, 999)}",
            f"{first}.{name}{draw.integers(99)}@correo.example".lower(),
            ("Osakidetza", "IMQ", "Sanitas", "s/d")[draw.choice(4, p=[0.8, 0.1, 0.06, 0.04])],
            f"{came:%d/%m/%Y} {draw.integers(24):02d}:{draw.integers(60):02d}",
            f"{left:%d/%m/%Y}" if draw.random() > 0.03 else "N/C",
            wards[kind % 5 if draw.random() < 0.7 else draw.integers(5)],
            f"{draw.normal(74, 13):.1f}".replace(".", ",") if draw.random() > 0.08 else "N/C",
            _continental(np.exp(draw.normal(7.4, 0.8))) + " €",
            ("soltero/a", "casado/a", "viudo/a", "N/C")[draw.choice(4, p=[0.35, 0.5, 0.1, 0.05])],
            codes[kind] if draw.random() > 0.1 else codes[kind].lower(),
            ("Dra. ", "Dr. ")[draw.integers(2)] + _one(draw, _BASQUES),
            remark,
        ]
        lines.append(";".join(fields))
    return _file(lines, "cp1252")


def practice_export(rows: int = 3000) -> bytes:
    """Commas between fields and within quoted numbers, UTF-8 with its mark, onb. for missing, €  in front."""
    draw = np.random.Generator(np.random.PCG64(5))
    names = (
        "Patiëntnr,BSN,Naam patiënt,Geb.dat.,Gesl.,Postcode,Woonplaats,Tel. thuis,E-mailadres,Verzekeraar,Polisnummer,"
        "Datum opname,Datum ontslag,Afdeling,BMI,Kosten,Burgerlijke staat,Kinderen,Rookt,Diagnose (ICD-10),Huisarts,"
        "Opmerkingen"
    )
    towns = [("Zwolle", 8011), ("Deventer", 7411), ("Kampen", 8261)]
    wards = ["Interne", "Chirurgie", "Longziekten", "Neurologie"]
    lines, codes = [names], _codes(120)
    for row in range(rows):
        name, other, first = _one(draw, _FRISIANS), _one(draw, _FRISIANS), _one(draw, _FRISIAN_FIRST)
        kind, (town, post) = _rank(draw, len(codes)), towns[min(int(draw.exponential(1)), 2)]
        came = date(2018, 6, 1) + timedelta(days=int(draw.integers(900)))
        born = came - timedelta(days=int(365.25 * np.clip(draw.normal(35 + kind * 11 % 40, 15), 0, 99)))
        left = came + timedelta(days=int(np.clip(draw.gamma(1.2, 4), 0, 60)))
        remark = ("", f"partner dhr. {name} gebeld", f"mw. {other} (buurvrouw) heeft sleutel", "noten, pinda")
        fields = [
            f"P{row * 13 % 100000:06d}",
            str(draw.integers(10**8, 9 * 10**8)),
            f"{name}, {first[0]}. {('van de', 'de', '')[draw.integers(3)]}".strip(),
            f"{born.day}-{born.month}-{born.year}",
            ("m", "v", "M", "V", "onb.")[draw.choice(5, p=[0.47, 0.48, 0.02, 0.02, 0.01])],
            f"{post + int(draw.integers(8))} {'ABCDEFGH'[draw.integers(8)]}{'JKLMN'[draw.integers(5)]}",
            (town, town.lower(), town + " ")[draw.choice(3, p=[0.9, 0.05, 0.05])],
            f"0{draw.integers(10, 99)}-{draw.integers(10**6, 9 * 10**6)}",
            f"{first.lower()}{draw.integers(999)}@post.example",
            ("VGZ", "CZ", "Menzis", "onb.")[draw.choice(4, p=[0.5, 0.3, 0.17, 0.03])],
            str(draw.integers(10**9, 9 * 10**9)),
            f"{came.day}-{came.month}-{came.year}",
            f"{left.day}-{left.month}-{left.year}" if draw.random() > 0.02 else "n.v.t.",
            wards[kind % 4 if draw.random() < 0.75 else draw.integers(4)],
            f"{draw.normal(26, 4.2):.1f}".replace(".", ",") if draw.random() > 0.07 else "onb.",
            "€ " + _continental(np.exp(draw.normal(7.7, 0.7))),
            ("gehuwd", "ongehuwd", "gescheiden", "onb.")[draw.choice(4, p=[0.5, 0.3, 0.17, 0.03])],
            str(min(int(draw.poisson(1.4)), 7)) if draw.random() > 0.03 else "onb.",
            ("ja", "nee", "gestopt", "onb.")[draw.choice(4, p=[0.2, 0.55, 0.2, 0.05])],
            codes[kind],
            f"{_one(draw, _FRISIANS)} te {town}",
            remark[draw.integers(4)],
        ]
        lines.append(",".join(f'"{field}"' if "," in field else field for field in fields))
    return _file(lines, "utf-8-sig")


def _codes(many: int) -> list[str]:
    return [f"{'IEJKCSNM'[i % 8]}{10 + i // 8 % 40:02d}.{7 * i % 10}" for i in range(many)]


def _rank(draw: np.random.Generator, many: int) -> int:
    """The first are frequent."""
    return min(int(draw.exponential(many / 4)), many - 1)


def _continental(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


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
    "emergency": (".csv", emergency_export),
    "practice": (".csv", practice_export),
}
