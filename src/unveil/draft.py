"""Drafting a schema from a table: kinds, frozen domains, suggested roles, and the evidence for each.

A draft decides nothing: it says `confirmed = false`, and commands that need roles refuse it until a human set it true.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attribute import Kind, Role, canonical, position
from unveil.attribute_sets import SetEvidence, search_sets, spread
from unveil.errors import TableError, shown
from unveil.hierarchy import iso_date, number_text
from unveil.table import CodedColumn
from unveil.toml_lines import toml_array, toml_key, toml_string
from unveil.wide_cells import hold_several, interval_kind, out_of_list

__all__ = ["MISSING_TOKENS", "ColumnEvidence", "Draft", "SetEvidence", "Told", "draft_schema"]

MISSING_TOKENS = ("?", "", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", ".")
MOST_VALUES = 10_000  # categories written into the file
MOST_NUMBERS = 1_000  # numbers or dates listed one by one
MOST_STEPS = {Kind.NUMERIC: 10_000, Kind.DATE: 50_000}  # values of a domain given by its ends
FULL_ENOUGH = 0.1  # share of the values between the ends that must occur
BINS = 20
ID_ROWS = 50  # in fewer rows, all values different says nothing


@dataclass(frozen=True, slots=True)
class ColumnEvidence:
    """What a column's values say about its role. Missing counts as one value."""

    name: str
    kind: Kind
    role: Role
    distinct: int
    distinctness: float  # distinct values / rows
    separation: float  # share of row pairs with different values
    uniqueness: float  # share of rows whose value no other row has
    missing: int  # rows
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What another tool's project says of a column."""

    role: Role
    source: str  # the tool
    hierarchy: str | None = None  # a file, relative to the schema; its leaves are then the domain


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema nobody has confirmed yet, as text, with what it was drawn from."""

    toml: str
    evidence: tuple[ColumnEvidence, ...]
    sets: tuple[SetEvidence, ...]  # of suggested quasi-identifiers, worst first
    search: str  # which sets were looked at


def draft_schema(
    columns: Mapping[str, CodedColumn],
    *,
    name: str,
    decimal: str = ".",
    missing: Sequence[str] = MISSING_TOKENS,
    told: Mapping[str, Told] | None = None,
    published: bool = False,
    listed: Sequence[str] = (),
) -> Draft:
    """Draft schema.toml for a table of texts. Of the `missing` tokens those that occur are kept, and those `listed`.

    `told` is what a human already said in another tool: it stands instead of the guesses. `published`: the table is a
    release, so that `20-29` is an interval and no value.

    Cost: a few passes over each column's distinct texts, one over its rows, and at most SET_ROWS rows for the sets.
    """
    if not columns or not len(next(iter(columns.values())).text_of_row):
        raise TableError(f"{name}: holds no rows; a schema is drafted from data")
    tokens = frozenset(missing)
    read = [_read_column(key, column, decimal, tokens, published) for key, column in columns.items()]
    told = told or {}
    evidence = tuple(_weigh(column, told.get(column.name)) for column in read)
    pool = [i for i, e in enumerate(evidence) if e.role is Role.QUASI_IDENTIFIER and not _extra(read[i])]
    sets, search = _search_sets([read[i] for i in pool], [evidence[i] for i in pool])
    return Draft(_toml(name, read, evidence, sets, search, told, listed), evidence, sets, search)


# --- a column ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    name: str
    kind: Kind
    texts: list[str]  # without missing tokens
    tokens: list[str]  # missing tokens that occur
    places: NDArray[np.float64] | None  # (values,) numbers and dates: the distinct ones, ascending
    counts: NDArray[np.int64]  # (values and perhaps missing,) rows
    missing: int
    value_of_text: NDArray[np.unsignedinteger]  # (texts of the source,)
    source: CodedColumn
    reasons: list[str]
    masked: bool = False  # cells of a release with stars in them
    several: bool = False  # cells of a release that hold more than one value
    published: bool = False  # whether it is a release's: `*` is then a cell as others are

    @property
    def rows(self) -> int:
        return len(self.source.text_of_row)

    @property
    def codes(self) -> NDArray[np.unsignedinteger]:
        return np.asarray(self.value_of_text[self.source.text_of_row])


def _read_column(name: str, column: CodedColumn, decimal: str, tokens: frozenset[str], published: bool) -> _Column:
    absent = np.fromiter((text.strip() in tokens for text in column.texts), dtype=bool, count=len(column.texts))
    texts = (
        [t for t, gone in zip(column.texts, absent.tolist(), strict=True) if not gone]
        if absent.any()
        else list(column.texts)
    )
    kind, place_of_text, reasons = _read_kind(name, texts, decimal)
    masked = several = False
    if published and place_of_text is None:
        cells = [cell for text in texts if (cell := out_of_list(text)).strip("*")]
        kind, reasons = _published_kind(name, cells, decimal) or (kind, reasons)
        masked = any("*" in text and text.strip("*") for text in texts)
        several = not kind.measured and hold_several(texts)
    if place_of_text is None:
        places, number = None, np.arange(len(texts))
    else:
        places, number = np.unique(place_of_text, return_inverse=True)
    value_of_text = np.empty(len(column.texts), dtype=np.min_scalar_type(len(number) + 1))
    value_of_text[~absent] = number
    value_of_text[absent] = number.max(initial=-1) + 1
    rows_of_text = np.bincount(column.text_of_row, minlength=len(column.texts))
    counts = np.bincount(value_of_text, weights=rows_of_text).astype(np.int64)
    tokens_here = [t for t, gone in zip(column.texts, absent.tolist(), strict=True) if gone] if absent.any() else []
    gone = int(rows_of_text[absent].sum())
    return _Column(
        *(name, kind, texts, tokens_here, places, counts, gone, value_of_text, column, reasons),
        *(masked, several, published),
    )


_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")
_OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./]\d{1,2}[./]\d{1,2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*", re.ASCII | re.DOTALL)


def _read_kind(name: str, texts: list[str], decimal: str) -> tuple[Kind, NDArray[np.float64] | None, list[str]]:
    """The kind, each text's place on its line, and why."""
    if not texts:
        return Kind.CATEGORICAL, None, ["holds nothing but missing values"]
    places = _places(texts, Kind.NUMERIC, decimal)
    if places is not None:
        if any(_LEADING_ZERO.match(text) for text in texts):
            return Kind.CATEGORICAL, None, ["digits with leading zeros are codes, not numbers"]
        if _hinted(name, _CODE_WORDS):
            return Kind.CATEGORICAL, None, ["the name says that the numbers are codes"]
        if np.abs(places).max() >= 2**53 and all(text.strip().lstrip("+-").isdigit() for text in texts):
            return Kind.CATEGORICAL, None, ["numbers of so many digits are codes; as numbers they would be rounded"]
        if all(len(t) == 8 and iso_date(f"{t[:4]}-{t[4:6]}-{t[6:]}") for t in texts) and places.min() > 1.8e7:
            return Kind.NUMERIC, places, ["looks like dates without hyphens; dates must be ISO, such as 2024-01-31"]
        return Kind.NUMERIC, places, []
    places = _places(texts, Kind.DATE, decimal)
    if places is not None:
        return Kind.DATE, places, []
    if all(_OTHER_DATE.fullmatch(text.strip()) for text in texts):
        return Kind.CATEGORICAL, None, ["looks like dates; dates must be ISO, such as 2024-01-31, to have an order"]
    if all(_TIME.fullmatch(text.strip()) for text in texts):
        return Kind.CATEGORICAL, None, ["looks like times; cut them to ISO dates, such as 2024-01-31"]
    some = texts[:: max(1, len(texts) // 500)]
    if sum(position(text, Kind.NUMERIC, decimal) is not None for text in some) > 0.8 * len(some):
        return Kind.CATEGORICAL, None, ["most values are numbers: mend the others or list them under missing"]
    return Kind.CATEGORICAL, None, []


def _published_kind(name: str, cells: list[str], decimal: str) -> tuple[Kind, list[str]] | None:
    """The kind of a release's column whose cells, but for `*`, are numbers or dates, or intervals of them, and why."""
    kind, places, reasons = _read_kind(name, cells, decimal)
    if places is not None:
        return kind, [*reasons, "some cells are withheld"]
    codes = _hinted(name, _CODE_WORDS)
    found = interval_kind(cells, codes=codes)
    if found is not None:
        return found, ["the cells are intervals"]
    if 2 * sum(interval_kind([cell], codes=codes) is not None for cell in cells) > len(cells):
        return Kind.CATEGORICAL, ["most cells are intervals: mend the others or list them under missing"]
    return None


def _places(texts: list[str], kind: Kind, decimal: str) -> NDArray[np.float64] | None:
    if kind is Kind.NUMERIC and all(text.isascii() and text.isdigit() and len(text) < 300 for text in texts):
        return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    places = np.empty(len(texts))
    for index, text in enumerate(texts):
        place = position(text, kind, decimal)
        if place is None:
            return None
        places[index] = place
    return places


# --- roles ------------------------------------------------------------------------------------------------------------

_CODE_WORDS = "zip zipcode plz postleitzahl postcode postal icd fips nuts ags code kode"
_NAMING_WORDS = (
    "ssn nin nhs mrn bsn cpf cnp dni nif nie pesel svnr steuernummer sozialversicherungsnummer passport ausweis "
    "iban kontonummer email mail phone telephone telefon telefono tel mobile handy fax uuid guid username login ip mac "
    "firstname lastname surname forename vorname nachname familienname prenom apellido apellidos cognome address "
    "adresse direccion indirizzo endereco street strasse rue kennzeichen"
)
_ID_WORDS = "id ids identifier kennung nummer nr no name names nom nombre nome naam number key index matricule"
_SENSITIVE_WORDS = (
    "disease diagnosis diagnoses diagnose diagnostic diagnostico diagnosi illness krankheit maladie enfermedad "
    "malattia ziekte doenca icd icd10 icd9 hiv cancer symptom medication drug therapy treatment disability behinderung "
    "pregnant pregnancy salary income wage wages earnings pay gehalt lohn einkommen salaire revenu salario sueldo "
    "ingresos reddito stipendio inkomen debt schulden credit loan wealth religion konfession faith party partei vote "
    "union sexuality orientation crime offence offense conviction verdict criminal mental suicide addiction"
)
_KNOWN_WORDS = (
    "age alter edad eta idade leeftijd sex gender geschlecht sexe sexo sesso geslacht birth birthday birthdate dob "
    "geburtsdatum geburtsjahr naissance nacimiento nascita zip zipcode plz postcode postal city town ort stadt ville "
    "region county state country land pays pais nationality race ethnicity marital familienstand education beruf "
    "occupation job profession"
)
_WEIGHT_WORDS = "weight weights wgt fnlwgt pweight gewicht gewichtung poids peso ponderation"
_FREQUENCY_WORDS = "n count counts freq frequency anzahl haeufigkeit haufigkeit effectif frecuencia cantidad"


def _words(name: str) -> list[str]:
    """The words of a column name, in lower case without accents: dateOfBirth → date of birth."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)).replace("ß", "ss")
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return re.findall(r"[a-z]+\d*|\d+", parted.lower())


def _hinted(name: str, words: str) -> bool:
    return not set(words.split()).isdisjoint(_words(name))


def _weigh(column: _Column, told: Told | None) -> ColumnEvidence:
    distinct, distinctness, separation, uniqueness = spread(column.counts, column.rows)
    role, reasons = _suggest(column, distinct)
    if told is not None:
        other = [] if role is told.role else [f"its values and name would suggest {role}: {reasons[0]}"]
        role, reasons = told.role, [f"the role is {told.source}'s", *other]
    return ColumnEvidence(
        column.name,
        column.kind,
        role,
        distinct,
        distinctness,
        separation,
        uniqueness,
        column.missing,
        (*reasons, *column.reasons),
    )


def _suggest(column: _Column, distinct: int) -> tuple[Role, list[str]]:
    present = column.rows - column.missing
    apart = (distinct - (column.missing > 0)) / present if present else 0.0  # distinctness where a value is present
    if _hinted(column.name, _NAMING_WORDS):
        return Role.IDENTIFIER, ["the name says that it names a person"]
    if _hinted(column.name, _SENSITIVE_WORDS):
        return Role.SENSITIVE, ["the name says what people keep to themselves"]
    if _hinted(column.name, _ID_WORDS) and apart >= (0.1 if present >= ID_ROWS else 0.9):
        return Role.IDENTIFIER, [f"the name says an identifier, and {_share(apart)} of its values differ"]
    if distinct <= 1:
        return Role.INSENSITIVE, ["one value only: it tells nobody apart"]
    known = _hinted(column.name, _KNOWN_WORDS)
    if apart >= 0.95 and present >= ID_ROWS and not known and _like_numbers_of_people(column):
        return Role.IDENTIFIER, [f"{_share(apart)} of its values differ: nearly every row has its own"]
    if extra := _extra(column):
        return Role.QUASI_IDENTIFIER, [f"the name says a {extra}; until a human says so it may single people out"]
    if known:
        return Role.QUASI_IDENTIFIER, ["the name says what others may know of a person"]
    return Role.QUASI_IDENTIFIER, ["nothing says that others cannot know it"]


def _extra(column: _Column) -> str | None:
    """The key of schema.toml that the column's name suggests, if its values allow it."""
    if column.kind is not Kind.NUMERIC or column.places is None or column.places[0] <= 0 or column.missing:
        return None
    if _hinted(column.name, _FREQUENCY_WORDS) and not (column.places % 1).any():
        return "frequency"
    return "weight" if _hinted(column.name, _WEIGHT_WORDS) else None


def _like_numbers_of_people(column: _Column) -> bool:
    """Texts, or whole numbers without gaps, or long whole numbers of one length; not measurements."""
    if column.places is None:
        return True
    if column.kind is Kind.DATE or (column.places % 1).any():
        return False
    low, high = column.places[0], column.places[-1]
    return bool(high - low < 1.2 * len(column.places) or (low >= 1e6 and len(str(int(low))) == len(str(int(high)))))


def _search_sets(columns: list[_Column], evidence: list[ColumnEvidence]) -> tuple[tuple[SetEvidence, ...], str]:
    alone = [SetEvidence((e.name,), e.distinctness, e.separation, e.uniqueness) for e in evidence]
    sizes = [len(column.counts) for column in columns]
    return search_sets(alone, columns[0].rows if columns else 0, sizes, lambda i: columns[i].codes)


# --- the file ---------------------------------------------------------------------------------------------------------


def _share(part: float) -> str:
    return "under 0.1%" if 0 < part < 0.001 else "over 99.9%" if 0.999 < part < 1 else f"{part:.1%}"


def _spread_text(spread: ColumnEvidence | SetEvidence) -> str:
    return (
        f"distinctness {_share(spread.distinctness)}, separation {_share(spread.separation)}, "
        f"unique rows {_share(spread.uniqueness)}"
    )


def _toml(
    name: str,
    read: list[_Column],
    evidence: tuple[ColumnEvidence, ...],
    sets: tuple[SetEvidence, ...],
    search: str,
    told: Mapping[str, Told],
    listed: Sequence[str],
) -> str:
    tokens = sorted({*listed, *(token for column in read for token in column.tokens)})
    lines = [
        f"# Drafted from {shown(name)}, {read[0].rows:,} rows. "
        + (
            "Roles are as there, the evidence beside them."
            if told
            else "Every role is a guess, its evidence beside it."
        ),
        "# Read them, mend them, then set confirmed = true. The values of the domains are those of the data.",
        "version = 1",
        "confirmed = false",
    ]
    if tokens:
        lines.append(f"missing = {toml_array([toml_string(token) for token in tokens])}")
    for column in read:
        lines.extend(_extra_lines(column))
    if sets:
        lines += ["", f"# Rows that few quasi-identifiers single out, worst first ({search}):"]
        lines += [f"#   {' + '.join(map(toml_key, s.names))}: {_spread_text(s)}" for s in sets[:10]]
    for column, found in zip(read, evidence, strict=True):
        missing = f", {column.missing:,} missing" if column.missing else ""
        lines += [
            "",
            f"[attributes.{toml_key(column.name)}]",
            f"# {found.distinct:,} values{missing}: {_spread_text(found)}",
            *(f"# {reason}" for reason in found.reasons),
            f'role = "{found.role}"',
            f'kind = "{found.kind}"',
            *_domain(column, found, told.get(column.name)),
        ]
        if column.tokens:
            withheld = f"  # if withheld rather than missing: say --cells {toml_key(column.name)}=suppressed"
            lines.append('missing = "category"' + (withheld if column.published else ""))
    return "\n".join(lines) + "\n"


def _extra_lines(column: _Column) -> list[str]:
    """A weight or a frequency is offered as a comment: a body's weight has the same name."""
    extra = _extra(column)
    where = "if a row stands for that many people" if extra == "frequency" else "if it is a sampling weight"
    take = f"take the # off, remove [attributes.{toml_key(column.name)}]"
    return [f"# {extra} = {toml_string(column.name)}  # {where}: {take}"] if extra else []


def _domain(column: _Column, found: ColumnEvidence, told: Told | None) -> list[str]:
    if found.role is Role.IDENTIFIER:
        return ["# an identifier is never released: its values are not kept here"]
    if told is not None and told.hierarchy is not None:
        return [f"hierarchy = {toml_string(told.hierarchy)}"]
    if column.places is not None:
        return _measured_domain(column, column.places, found.role)
    if column.kind.measured:
        ends = "from = 1900-01-01, to = 2030-12-31" if column.kind is Kind.DATE else "from = 0, to = 110"
        return [f"# domain = {{ {ends} }}  # the true ends; without it the domain is what the cells show"]
    if column.masked:
        return ["# some cells are masked: list the domain, or add a hierarchy; else it is what the cells show"]
    if column.several:
        option = f"--cells {toml_key(column.name)}=list"
        return [f"# some cells hold several values: list the domain; else it is what they show: say {option}"]
    values = sorted(set(column.texts) - {"*"})
    starred = any(not text.strip("*") for text in column.texts)
    if column.published and starred:
        values = [value for value in values if value.strip("*")]
        if len(values) + bool(column.tokens) < 2:  # then `*` would be that one value
            return ["# domain = [ ]  # list what can be: the cells show too little to say what * may stand for"]
    lines = (
        ["# '*' is among the values, but means the whole domain: rename it in the data"]
        if "*" in column.texts and not column.published
        else []
    )
    if len(values) > MOST_VALUES:
        return [
            *lines,
            f"# over {MOST_VALUES:,} values: the domain is taken from the data; is it an identifier, or free text?",
        ]
    return [*lines, f"domain = {toml_array([toml_string(v) for v in values])}"] if values else lines


def _measured_domain(column: _Column, places: NDArray[np.float64], role: Role) -> list[str]:
    """By its ends if few values between them are absent; listed if few; else in bins."""

    def written(place: float) -> str:
        return canonical(float(place), column.kind)

    step = _step(places)
    steps = (places[-1] - places[0]) / step + 1 if step else np.inf
    most = MOST_NUMBERS if role is Role.SENSITIVE and column.kind is Kind.NUMERIC else MOST_STEPS[column.kind]
    ends = f"from = {written(places[0])}, to = {written(places[-1])}"
    if len(places) > 1 and step and steps <= most and (steps <= 100 or len(places) >= FULL_ENOUGH * steps):
        return [f"domain = {{ {ends}, step = {number_text(step)} }}"]
    if len(places) <= MOST_NUMBERS:
        return [f"domain = {toml_array([written(p) for p in places])}"]
    # A step that is no whole number keeps the bins from being read as bins of whole numbers.
    return [
        f"# {len(places):,} different values: bins of about equally many rows; move the cuts to where you want them",
        f"domain = {{ {ends}, step = {number_text(step or 1e-7)} }}",
        f"bins = {toml_array([written(c) for c in _cuts(places, column.counts[: len(places)], column.kind)])}",
    ]


def _step(places: NDArray[np.float64]) -> float | None:
    """The largest step on which all places lie, if they have at most six decimals."""
    if np.abs(places).max() >= 2**53:
        return None
    for decimals in range(7):
        scaled = np.round(places * 10.0**decimals)
        if np.abs(scaled).max() < 2**53 and np.array_equal(scaled / 10.0**decimals, places):
            return float(np.gcd.reduce(np.diff(scaled.astype(np.int64)))) / 10.0**decimals or 1.0
    return None


def _cuts(places: NDArray[np.float64], counts: NDArray[np.int64], kind: Kind) -> list[float]:
    """Quantiles as cuts, rounded where they are numbers; of the values alone if most rows share one."""
    shares = np.arange(1, BINS) / BINS
    for weight in (counts, np.ones(len(places))):
        reached = np.cumsum(weight)
        cuts = np.unique(places[np.searchsorted(reached, shares * reached[-1])])
        cuts = cuts[cuts > places[0]]
        if kind is Kind.NUMERIC and np.abs(places).max() < 2**53:
            # As many digits as tell a cut from the one before.
            digits = -np.floor(np.log10(np.diff(cuts, prepend=places[0]))).astype(int)
            digits = digits if (places % 1).any() else np.minimum(digits, 0)
            cuts = np.unique([round(cut, most) for cut, most in zip(cuts.tolist(), digits.tolist(), strict=True)])
            cuts = cuts[(cuts > places[0]) & (cuts <= places[-1])]
        if len(cuts) >= 3:
            break
    return cuts.tolist() if len(cuts) else [float(places[len(places) // 2])]
