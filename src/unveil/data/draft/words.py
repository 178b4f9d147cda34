"""What a column's name says, in English, German, French, Spanish, Dutch and Italian.

A word ending or beginning with `*` also fits compounds: *nummer is in Fallnummer, geburt* in Geburtsdatum.
"""

import itertools
import re
import unicodedata

__all__ = [
    "ADMISSION_WORDS",
    "AGE_NAMES",
    "AGE_WORDS",
    "BIRTH_WORDS",
    "CODE_WORDS",
    "DISCHARGE_WORDS",
    "FREQUENCY_WORDS",
    "ICD_WORDS",
    "ID_WORDS",
    "KEY_WORDS",
    "KNOWN_WORDS",
    "NAMING_WORDS",
    "NO_KEY_WORDS",
    "PERSON_WORDS",
    "PLACE_WORDS",
    "REMARK_WORDS",
    "SENSITIVE_WORDS",
    "SEX_WORDS",
    "STAY_NAMES",
    "WEIGHT_WORDS",
    "YEAR_NAMES",
    "hinted",
    "named_as",
    "says_only_name",
]

CODE_WORDS = (
    "zip zipcode plz postleitzahl postcode postal cap cp icd icd10 icd9 cim cim10 cie cie10 fips nuts ags code "
    "codes kode codice codigo *code *kode *schluessel *schlussel"
)
NAMING_WORDS = (
    "ssn nin nhs mrn bsn cpf cnp dni nif nie pesel svnr nir steuernummer sozialversicherungsnummer "
    "versichertennummer passport ausweis *ausweisnummer iban *kontonummer email mail courriel mel correo phone "
    "telephone telefon* telefoon* telefono* tel mobile mobil handy movil cellulare portable fax uuid guid username "
    "login benutzername ip mac firstname lastname surname forename fullname maidenname givenname familyname middlename "
    "secondname christianname birthname patientname clientname customername employeename personname contactname "
    "doctorname physicianname surnames vorname* nachname* nomfamille nomnaissance nomjeune nomusage nomusuel "
    "nompatient nomprenom nomcomplet nombrecompleto nombrepaciente nomecompleto nomecognome nomepaziente volledigenaam "
    "familienname* geburtsname* voornaam achternaam prenom prenoms apellido apellidos cognome cognomi address "
    "addresses adres adresse adressen anschrift direccion domicilio indirizzo endereco street strasse *strasse *str "
    "roepnaam rufname* voorletters tussenvoegsel* initials initialen initiales iniziali nickname alias "
    "hausnummer straat rue calle kennzeichen *nachname *vorname matricola fallnummer *fallnummer fallnr "
    "aktenzeichen aktennummer patientennummer patientnumber casenumber caseno dossiernummer patientnr"
)
ID_WORDS = (
    "id ids identifier identifiant identificador kennung nummer nr no num numero name names nom noms nombre nome "
    "naam number key index matricule case fall dossier expediente pratica akte *nummer *nr *id"
)
KEY_WORDS = (
    "id ids identifier identifiant identificador kennung nummer nr no num numero number key index matricule matricola "
    "case fall dossier expediente pratica akte aktenzeichen uuid guid ssn nin nhs mrn bsn cpf cnp dni nif nie pesel "
    "svnr nir passport *ausweis *nummer *nr *id *number"
)
NO_KEY_WORDS = "telefon* telefoon* phone tel mobil* handy fax haus* street strasse konto* iban"
PERSON_WORDS = (
    "patient patienten patientin patiente patients paciente paziente person personne persona persoon kunde kundin "
    "client cliente klant customer employee mitarbeiter employe empleado dipendente medewerker student schueler "
    "schuler eleve name names nom nome naam mitglied member *name *naam doctor physician surgeon gp guardian carer "
    "arzt *arzt *aerztin *arztin medecin medico dottore huisarts arts behandelaar betreuer* vormund tuteur tutore "
    "voogd kontaktperson contactpersoon ansprechpartner* angehorige* angehoerige*"
)
PLACE_WORDS = (
    "lat lon lng long latitude longitude latitud longitud latitudine longitudine breitengrad langengrad laengengrad "
    "gps koordinate* coordinate* coordonnees coordenada* coordinaat coordinaten geokoordinaten easting northing utm"
)
REMARK_WORDS = (
    "remark remarks comment comments note notes memo freetext text description history bemerkung* anmerkung* "
    "kommentar* notiz* freitext anamnese *bemerkung *text remarque remarques commentaire* observation observations "
    "observacion observaciones comentario* nota opmerking* toelichting notitie* osservazione osservazioni commento "
    "commenti"
)
# What somebody is or has: a file named so says it of everybody in it.
STATE_WORDS = (
    "hiv cancer krebs pregnant pregnancy schwanger* grossesse embarazo zwanger* disability behinderung* "
    "handicap discapacidad suicide addiction sucht aids sida invalidite invalidez depression tumor *krebs "
    "vorstrafe* verurteilung* haft prison jail probation conviction condamnation condena condanna garnished "
    "bankrupt bankruptcy insolvenz methadon* addict* suchtig* psychiatr* psiquiatr* psichiatr* schizophren* "
    "hepatitis tuberculosis tuberkulose abortion abtreibung avortement aborto homosexual* transgender "
    "sozialhilfe welfare asylum asyl* oncolog* onkolog* palliativ* hospice hospiz dialys* detention detenu* "
    "detenut* incarcer* encarcel* carcer* inmate* parole gefangnis* haftdauer haftlinge* presos refugee* "
    "fluchtling* refugie* refugiad* overdose* relapse* chemotherap* homeless* obdachlos* wohnungslos* "
    "abstinen* sober vih hcv hbv seropos* seroneg* serolog* serostatus sifilis syphil* chlamyd* gonorr* hepatit* "
    "epilep* diabet* cancer* dement* demenz* demence alzheimer* parkinson* bipolar* autis* adhd adhs tdah depress* "
    "psychot* psicot* infertil* unfruchtbar* miscarriage fehlgeburt* sterilis* steriliz* esterili* rape raped "
    "abused misshandl* maltrait* maltrat* disabled invalid* pflegegrad pflegestufe obes* adipos* anorex* bulim* "
    "brca mutation* tossic* drogadic* drugsverslav* imprison* gefangen* prisonnier* prigion* arrested delinquen* "
    "felony felonies vorbestraft* condamne* condenado* condannat* insolven* uberschuld* verschuld* surendett* "
    "endeud* moroso* morosidad impaye* arrears zahlungsruckst* huurachterstand* gepfandet* pfandung* "
    "lesbian lesbisch* gay schwul* bisex* intersex* asilo asile sanspapiers undocumented* abmahnung*"
)
SENSITIVE_WORDS = (
    "disease diagnosis diagnoses *diagnose *diagnosen diagnose* diagnostic diagnostico diagnosi illness "
    "*krankheit krankheit* *erkrankung maladie pathologie enfermedad malattia ziekte aandoening doenca icd "
    "icd10 icd9 cim cim10 cie cie10 symptom symptome medication drug medikament* medikation medicament "
    "medicamento farmaco therapy therapie *therapie terapia treatment behandlung traitement tratamiento salary "
    "income wage wages earnings pay gehalt *gehalt lohn *einkommen einkommen salaire revenu revenus salario "
    "sueldo ingresos reddito stipendio inkomen salaris debt schulden credit loan kredit wealth vermoegen "
    "vermogen religion religione godsdienst konfession faith party partei parti partido partito partij vote "
    "union gewerkschaft syndicat sexuality orientation crime offence offense verdict criminal straftat delit "
    "delito reato mental befund sante gesundheit salute salud delikt bewahrung infraction casier antecedentes "
    "strafblad dette deuda debito patrimoine sindacato sindicato glaube croyance wahl voto drugs drogen* "
    "drogue* droga* alcohol* alkohol* alcool* smoker smokes smoking roker rookt rookstatus rookgedrag raucher* raucht "
    "fumeur fumador fuma fumatore "
    "cardiolog* kardiolog* urolog* gynaecolog* gynecolog* gynakolog* ginecolog* maternid* maternit* "
    "dermatolog* venereolog* infectiolog* "
    "reason motif motifs motivo reden *grund sick sickness absence absences *abwesenheit fehltage fehlzeit* "
    "krankheits* krankmeld* krankschreib* krankenstand arret arrets verzuim* ziekte* ausencia* assenza assenze "
    "zorg* *indicatie prestation prestations benefit benefits uitkering* subsidio sussidio bonus praemie* pramie* "
    "adiccion* dependance* dipendenza dipendenze ludopatia tossicodipend* toxicoman* verslav* "
) + STATE_WORDS
KNOWN_WORDS = (
    "age alter edad eta idade leeftijd sex gender geschlecht geschl sexe sexo sesso geslacht gesl "
    "birth birthday birthdate dob "
    "geburt* geboorte* naissance nacimiento nascita zip zipcode plz postleitzahl postcode postal city town ort *ort "
    "stadt ville ciudad citta stad wohnort region *region county kreis landkreis state country land pays pais paese "
    "nationality *angehoerigkeit staatsangehorigkeit nationalite nacionalidad nationaliteit race ethnicity marital "
    "familienstand etat civil estado burgerlijke education bildung beruf* profession* occupation job metier "
    "profesion beroep"
)
SEX_WORDS = "sex gender geschlecht geschl sexe sexo sesso geslacht gesl genere genero genre"
AGE_WORDS = "age alter edad eta idade leeftijd lebensalter *alter"
BIRTH_WORDS = (
    "birth birthday birthdate dob geburt* geboorte* geboren geb gebdat* naissance naiss ddn ne nee nacimiento "
    "nacido nacida nac fnac fecnac fechanac nascita nasc nato nata"
)
DUTCH_WORDS = (
    "geslacht achternaam voornaam roepnaam woonplaats leerling* opmerking* nationaliteit burgerlijke opname* ontslag*"
)
ADMISSION_WORDS = (
    "admission admitted admit aufnahme* aufnahmedatum eintritt* entree *zugang ingreso admision opname* ricovero "
    "ammissione"
)
DISCHARGE_WORDS = (
    "discharge discharged entlass* entlassung* austritt* sortie alta ontslag* dimissione dimissioni egreso"
)
ICD_WORDS = "icd icd10 icd9 cim cim10 cie cie10"
WEIGHT_WORDS = "weight weights wgt fnlwgt pweight gewicht gewichtung poids peso ponderation"
FREQUENCY_WORDS = "n count counts freq frequency anzahl haeufigkeit haufigkeit effectif frecuencia cantidad"

# What a derived column is called, by the word that gave its language away.
AGE_NAMES = {
    "geb": "Alter",
    "nai": "Âge",
    "ne": "Âge",
    "nac": "Edad",
    "nas": "Età",
    "nat": "Età",
    "geboorte": "Leeftijd",
    "": "age",
}
YEAR_NAMES = {
    "geb": "Geburtsjahr",
    "nai": "Année de naissance",
    "ne": "Année de naissance",
    "nac": "Año de nacimiento",
    "nas": "Anno di nascita",
    "nat": "Anno di nascita",
    "geboorte": "Geboortejaar",
    "": "year_of_birth",
}
STAY_NAMES = {
    "entlass": "Verweildauer",
    "austritt": "Verweildauer",
    "sortie": "Durée de séjour",
    "alta": "Estancia",
    "egreso": "Estancia",
    "ontslag": "Verblijfsduur",
    "dimission": "Degenza",
    "": "length_of_stay",
}


def words_of(name: str) -> list[str]:
    """The words of a column name, in lower case without accents: dateOfBirth → date of birth."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)).replace("ß", "ss")
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).replace("E-Mail", "email").replace("e-mail", "email")
    return re.findall(r"[a-z]+\d*|\d+", parted.lower())


def _fits(word: str, pattern: str) -> bool:
    if pattern.startswith("*"):
        return word.endswith(pattern[1:])
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


_SMALL_WORDS = frozenset(
    ["of", "the", "de", "du", "des", "d", "la", "le", "l", "del", "der", "die", "das", "van", "het", "di", "da"]
)


def hinted(name: str, words: str) -> bool:
    """Whether a column's name has one of these words in it; last_name and "nom de famille" are also one word."""
    patterns = words.split()
    found = words_of(name)
    large = [word for word in found if word not in _SMALL_WORDS]
    found += [one + other for one, other in itertools.pairwise(large)]
    # D.O.B. is one word, too.
    found += ["".join(one) for short, one in itertools.groupby(found, key=lambda word: len(word) == 1) if short]
    return any(_fits(word, pattern) for word in found for pattern in patterns)


def says_only_name(name: str) -> bool:
    """Whether a column is called Name, Nom, Naam and no more."""
    return len(found := words_of(name)) == 1 and found[0] in ("name", "names", "nom", "noms", "nome", "naam", "namen")


def named_as(name: str, names: dict[str, str], taken: set[str]) -> str:
    """What a derived column is called, in the language of the column it comes from."""
    words = words_of(name)
    if "geboorte" in names and any(hinted(other, DUTCH_WORDS) for other in taken):
        words = [word.replace("geb", "geboorte", 1) if word in ("geb", "geboren") else word for word in words]
    stems = sorted(names, key=len, reverse=True)
    found = next((names[stem] for stem in stems if any(word.startswith(stem) for word in words)), names[""])
    while found in taken:
        found += "_"
    return found
