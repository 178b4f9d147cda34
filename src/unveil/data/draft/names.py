"""What the name of a column says of it, by words in several languages."""

import re
import unicodedata

__all__ = [
    "CODE_WORDS",
    "FREQUENCY_WORDS",
    "ID_WORDS",
    "KNOWN_WORDS",
    "NAMING_WORDS",
    "SENSITIVE_WORDS",
    "WEIGHT_WORDS",
    "hinted",
]

CODE_WORDS = "zip zipcode plz postleitzahl postcode postal icd fips nuts ags code kode"
NAMING_WORDS = (
    "ssn nin nhs mrn bsn cpf cnp dni nif nie pesel svnr steuernummer sozialversicherungsnummer passport ausweis "
    "iban kontonummer email mail phone telephone telefon telefono tel mobile handy fax uuid guid username login ip mac "
    "firstname lastname surname forename vorname nachname familienname prenom apellido apellidos cognome address "
    "adresse direccion indirizzo endereco street strasse rue kennzeichen"
)
ID_WORDS = "id ids identifier kennung nummer nr no name names nom nombre nome naam number key index matricule"
SENSITIVE_WORDS = (
    "disease diagnosis diagnoses diagnose diagnostic diagnostico diagnosi illness krankheit maladie enfermedad "
    "malattia ziekte doenca icd icd10 icd9 hiv cancer symptom medication drug therapy treatment disability behinderung "
    "pregnant pregnancy salary income wage wages earnings pay gehalt lohn einkommen salaire revenu salario sueldo "
    "ingresos reddito stipendio inkomen debt schulden credit loan wealth religion konfession faith party partei vote "
    "union sexuality orientation crime offence offense conviction verdict criminal mental suicide addiction"
)
KNOWN_WORDS = (
    "age alter edad eta idade leeftijd sex gender geschlecht sexe sexo sesso geslacht birth birthday birthdate dob "
    "geburtsdatum geburtsjahr naissance nacimiento nascita zip zipcode plz postcode postal city town ort stadt ville "
    "region county state country land pays pais nationality race ethnicity marital familienstand education beruf "
    "occupation job profession"
)
WEIGHT_WORDS = "weight weights wgt fnlwgt pweight gewicht gewichtung poids peso ponderation"
FREQUENCY_WORDS = "n count counts freq frequency anzahl haeufigkeit haufigkeit effectif frecuencia cantidad"


def _words(name: str) -> list[str]:
    """The words of a column name, in lower case without accents: dateOfBirth → date of birth."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)).replace("ß", "ss")
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return re.findall(r"[a-z]+\d*|\d+", parted.lower())


def hinted(name: str, words: str) -> bool:
    """Whether a column's name has one of these words in it."""
    return not set(words.split()).isdisjoint(_words(name))
