"""A third blind trial: mechanisms that none of the earlier cases has. Written and committed before its first run.

Six that were malformed (masked files that held ranges, empty cells in a declared domain) were rewritten afterwards.
"""

import hashlib
import io
import random
from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.leaks.case import Columns, Truth, alone, attribute, csv_text, determined, joined, leak, schema_text, shuffled
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _texts(values: list[int]) -> list[str]:
    return [str(v) for v in values]


def _with(d: Domain, columns: Columns, people: int, learned: str, **fields: object) -> Fields:
    """The safe release with further columns that the schema calls insensitive."""
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
        truth=Truth(people, learned, d.people),
        **fields,
    )


def _masked_schema(**numbers: Mapping[str, object]) -> str:
    """Some numbers that everybody may know, and a secret."""
    return schema_text({"badge": attribute("id"), **numbers, "leave": attribute("s", domain=["yes", "no"])})


def _assigned(d: Domain, release: Columns) -> tuple[Columns, Mapping[str, object]]:
    """Masked rows in random order, and the assignment that says whose they are."""
    order = list(d.all)
    d.draw.shuffle(order)
    place = {i: j for j, i in enumerate(order)}
    table = {"row": _texts([i + 1 for i in d.all]), "group": _texts([place[i] + 1 for i in d.all])}
    more = {"files": {"assignment.csv": csv_text(table)}, "options": ("--assignment", "@assignment.csv")}
    return {n: [v[i] for i in order] for n, v in release.items()}, more


# --- arithmetic over several columns ----------------------------------------------------------------------------------


@leak("insensitive tells sensitive", "inference")
def check_figure_over_three_fields(draw: random.Random) -> Fields:
    """Two fields are noise, the third makes their sum and the mark divisible by six: only all three tell."""
    d = school(draw, 2_000)
    one, two = ([draw.randrange(6) for _ in d.all] for _ in range(2))
    check = [(-a - b - int(n)) % 6 for a, b, n in zip(one, two, d.told, strict=True)]
    columns = {"feld": _texts(one), "satz": _texts(two), "prüfziffer": _texts(check)}
    people = determined(joined(columns, list(columns)), d.told)
    return _with(d, columns, people, "the mark, from three columns together")


@leak("insensitive tells sensitive", "inference")
def weeks_between_two_dates(draw: random.Random) -> Fields:
    """Weeks of arrest and of trial: the wait is fixed by the offence, each week alone says nothing."""
    d = police(draw, 2_400)
    kinds = sorted(set(d.told))
    start = [draw.randrange(1, 105) for _ in d.all]
    end = [a + 6 + 5 * kinds.index(v) for a, v in zip(start, d.told, strict=True)]
    wait = [b - a for a, b in zip(start, end, strict=True)]
    columns = {"semaine_a": _texts(start), "semaine_b": _texts(end)}
    return _with(d, columns, determined(wait, d.told), "their offence by the weeks they waited")


@leak("insensitive tells sensitive", "inference")
def pay_by_the_hour(draw: random.Random) -> Fields:
    """Hours and pay are published; what one gets an hour, one of six rates, is the secret."""
    d = payroll(draw, 4_000)
    rates = ["11", "13", "17", "19", "23", "29"]
    told = [draw.choice(rates) for _ in d.all]
    hours = [draw.randrange(10, 70) for _ in d.all]
    pay = [h * int(r) for h, r in zip(hours, told, strict=True)]
    columns = {"hours": _texts(hours), "pay": _texts(pay)}
    numbers = attribute("i", "numeric", domain={"from": 0, "to": 5_000, "step": 1})
    people = determined([p / h for p, h in zip(pay, hours, strict=True)], told)
    return d.case(
        original=d.original(bonus=told, **columns),
        schema=d.schema(bonus=attribute("s", domain=rates), hours=numbers, pay=numbers),
        release=shuffled({**d.in_order(), "bonus": told, **columns}, draw),
        truth=Truth(people, "their rate: pay divided by hours", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def parity_of_the_dose(draw: random.Random) -> Fields:
    """A dose of 600 possible milligrams is even for one half of the faiths and odd for the other."""
    d = census(draw, 5_000)
    told = [draw.choice(("yes", "no")) for _ in d.all]
    dose = [2 * draw.randrange(300) + (t == "yes") for t in told]
    people = determined([v % 2 for v in dose], told)
    return d.case(
        original=d.original(faith=told, dose=_texts(dose)),
        schema=d.schema(
            faith=attribute("s", domain=["yes", "no"]),
            dose=attribute("i", "numeric", domain={"from": 0, "to": 600, "step": 1}),
        ),
        release=shuffled({**d.in_order(), "faith": told, "dose": _texts(dose)}, draw),
        truth=Truth(people, "the answer: doses are odd for yes", d.people),
    )


@leak("suppressed cells given back", "singling out")
def two_columns_give_the_site_back(draw: random.Random) -> Fields:
    """Lane and gate are noise; their difference is the number of the site, of which the country alone is shown."""
    d = payroll(draw, 2_400)
    sites = sorted(set(d.exact["site"]))
    lane = [draw.randrange(8) for _ in d.all]
    gate = [(a + sites.index(s)) % 8 for a, s in zip(lane, d.exact["site"], strict=True)]
    columns = {"lane": _texts(lane), "gate": _texts(gate)}
    people = determined(joined(columns, list(columns)), d.exact["site"])
    return _with(d, columns, people, "their site, of which the country alone is shown")


@leak("one secret tells another", "background")
def two_secrets_tell_a_third(draw: random.Random) -> Fields:
    """Each pair of three secrets is independent; any two of them give the third."""
    d = census(draw, 2_400)
    faiths = sorted(set(d.told))
    vote = [draw.choice(("a", "b", "c", "d", "e")) for _ in d.all]
    income = [str((faiths.index(f) + "abcde".index(v)) % 5 + 1) for f, v in zip(d.told, vote, strict=True)]
    columns = {"vote": vote, "income": income}
    people = determined(list(zip(d.told, vote, strict=True)), income)
    return d.case(
        original=d.original(**columns),
        schema=d.schema(vote=attribute("s", domain=list("abcde")), income=attribute("s", domain=list("12345"))),
        release=d.release(**columns),
        truth=Truth(people, "the income, by whoever knows faith and vote", d.people),
    )


@leak("missingness", "inference")
def missing_in_both_or_in_neither(draw: random.Random) -> Fields:
    """Height and weight are each missing for half; both or neither for one faith, exactly one for the others."""
    d = census(draw, 3_000)
    told = [draw.choice(("yes", "no")) for _ in d.all]
    height = [str(draw.randrange(140, 200)) if draw.random() < 0.5 else "" for _ in d.all]
    weight = [
        str(draw.randrange(40, 110)) if (h == "") == (t == "yes") else "" for h, t in zip(height, told, strict=True)
    ]
    columns = {"height": height, "weight": weight}
    number = attribute("i")
    people = determined([(h == "") == (w == "") for h, w in zip(height, weight, strict=True)], told)
    return d.case(
        original=d.original(faith=told, **columns),
        schema=d.schema(faith=attribute("s", domain=["yes", "no"]), height=number, weight=number),
        release=shuffled({**d.in_order(), "faith": told, **columns}, draw),
        truth=Truth(people, "the answer, from which cells are empty", d.people),
    )


# --- what stands around the cells -------------------------------------------------------------------------------------


@leak("group names", "file")
def column_named_after_a_person(draw: random.Random) -> Fields:
    """A pivot left a column behind whose heading is one pupil's number: who sat beside her."""
    d = school(draw, 1_200)
    name = f"neben_{d.id[17]}"
    column = {name: [draw.choice(("ja", "nein")) for _ in d.all]}
    return _with(d, column, 1, "that she is in the file, and who sat beside her")


@leak("spelling", "singling out")
def true_value_first_in_the_set(draw: random.Random) -> Fields:
    """Counties are hidden in sets of two; the true one always stands first."""
    d = census(draw, 2_400)
    pair = {"Oxshire": "Berkshire", "Derbyshire": "Lancashire", "Yorkshire": "Hampshire"}
    pair |= {b: a for a, b in pair.items()}
    counties = sorted(set(d.exact["county"]))
    assert sorted(pair) == counties
    shown = [f"{{{c},{pair[c]}}}" for c in d.exact["county"]]
    right = sum(s.strip("{}").split(",")[0] == c for s, c in zip(shown, d.exact["county"], strict=True))
    return d.case(release=d.release(county=shown), truth=Truth(right, "their county: the first of the two", d.people))


@leak("spelling", "inference")
def blanks_of_no_width(draw: random.Random) -> Fields:
    """A character that nobody sees stands at the end of some texts: those people are in debt."""
    d = payroll(draw, 1_600)
    debt = [draw.random() < 0.2 for _ in d.all]
    office = [draw.choice(("open", "shared", "home")) for _ in d.all]
    seen = [f"{o}\u200b" if m else o for o, m in zip(office, debt, strict=True)]
    return d.case(
        original=d.original(office=office),
        schema=d.schema(office=INSENSITIVE),
        release=d.release(office=seen),
        truth=Truth(sum(debt), "that they are in debt, to whoever knows the mark", d.people),
    )


@leak("spelling", "inference")
def letters_of_another_alphabet(draw: random.Random) -> Fields:
    """An `o` is Cyrillic in the texts of those who were warned."""
    d = census(draw, 1_600)
    warned = [draw.random() < 0.15 for _ in d.all]
    mode = [draw.choice(("phone", "post", "home visit")) for _ in d.all]
    seen = [m.replace("o", "\u043e") if w else m for m, w in zip(mode, warned, strict=True)]
    return d.case(
        original=d.original(mode=mode),
        schema=d.schema(mode=INSENSITIVE),
        release=d.release(mode=seen),
        truth=Truth(sum(warned), "that they were warned", d.people),
    )


@leak("group names", "singling out")
def group_is_a_hash_of_two_columns(draw: random.Random) -> Fields:
    """Groups are named by a hash of commune and decade of age; both are shown more coarsely."""
    d = police(draw, 3_000)
    secret = [f"{c}|{int(a) // 10}" for c, a in zip(d.exact["commune"], d.exact["âge"], strict=True)]
    name = [hashlib.sha1(s.encode(), usedforsecurity=False).hexdigest()[:8] for s in secret]
    people = determined(name, secret)
    release = d.release(group=name)
    return d.case(
        release=release,
        sidecar='group = "group"\n',
        truth=Truth(people, "their commune and decade: there are only 100 to try", d.people),
    )


@leak("wrong claims", "file")
def seed_in_the_sidecar(draw: random.Random) -> Fields:
    """Noise of half the spread; the sidecar says with which seed it was drawn, so that anybody takes it off again."""
    d = payroll(draw, 600)
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    rows = shuffled({"bonus": d.told, "leave": leave}, draw)
    noise, again = random.Random(4711), random.Random(4711)
    moved = [int(b) + round(noise.gauss(0, 3_000)) for b in rows["bonus"]]
    back = sum(m - round(again.gauss(0, 3_000)) == int(b) for m, b in zip(moved, rows["bonus"], strict=True))
    rows["bonus"] = _texts(moved)
    return d.case(
        original={**d.number, "bonus": d.told, "leave": leave},
        schema=_masked_schema(bonus=attribute("q", "numeric", domain={"from": -30_000, "to": 50_000, "step": 1})),
        release=rows,
        sidecar='masked = ["bonus"]\nmethod = "noise:amount=0.5,seed=4711"\n',
        truth=Truth(back, "the bonus: the noise can be drawn again", d.people),
    )


@leak("wrong claims", "file")
def remark_in_the_sidecar(draw: random.Random) -> Fields:
    """A comment in the sidecar says whose rows were suppressed."""
    d = school(draw, 1_200)
    shown = d.in_order()
    few = draw.sample(range(d.people), 6)
    for i in few:
        for name in d.shown:
            shown[name][i] = "*"
    remark = "# suppressed by hand: " + ", ".join(d.id[i] for i in few) + "\n"
    return d.case(
        release=shuffled(shown, draw),
        sidecar=remark + 'method = "by hand"\n',
        truth=Truth(len(few), "that one of six rows is theirs", d.people),
    )


@leak("leftover files", "linking")
def second_sheet_of_the_workbook(draw: random.Random) -> Fields:
    """A workbook: the first sheet is the release, the second, hidden, is the original."""
    import xlsxwriter

    d = school(draw, 900)
    release, original = d.release(), d.original()
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    for name, columns in (("release", release), ("work", original)):
        sheet = book.add_worksheet(name)
        for i, row in enumerate([tuple(columns), *zip(*columns.values(), strict=True)]):
            for j, value in enumerate(row):
                sheet.write_string(i, j, value)
        if name == "work":
            sheet.hide()
    book.close()
    return d.case(
        release=release,
        release_text=content.getvalue(),
        release_name="release.xlsx",
        truth=Truth(d.people, "everything: the original is in the same file", d.people),
    )


@leak("leftover files", "linking")
def metadata_of_the_parquet_file(draw: random.Random) -> Fields:
    """Key-value metadata of a Parquet file hold the numbers of the people in the order of the rows."""
    import polars as pl

    d = school(draw, 900)
    rows = shuffled({**d.in_order(), "matrikel": d.id}, draw)
    numbers = rows.pop("matrikel")
    content = io.BytesIO()
    pl.DataFrame(rows).write_parquet(content, metadata={"index": ",".join(numbers)})
    return d.case(
        release=rows,
        release_text=content.getvalue(),
        release_name="release.parquet",
        truth=Truth(d.people, "their row, by the list in the file's metadata", d.people),
    )


# --- noise and keys that can be taken off -----------------------------------------------------------------------------


@leak("masked", "linking")
def noise_smaller_than_the_steps(draw: random.Random) -> Fields:
    """Bonuses are multiples of 500; noise of up to 240 is taken off by rounding."""
    d = payroll(draw, 500)
    bonus = [500 * draw.randrange(40) for _ in d.all]
    moved = [b + draw.randrange(-240, 241) for b in bonus]
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    back = sum(round(m / 500) * 500 == b for m, b in zip(moved, bonus, strict=True))
    rows, more = _assigned(d, {"bonus": _texts(moved), "leave": leave})
    return d.case(
        original={**d.number, "bonus": _texts(bonus), "leave": leave},
        schema=_masked_schema(bonus=attribute("q", "numeric", domain={"from": -1_000, "to": 21_000, "step": 1})),
        release=rows,
        sidecar='masked = ["bonus"]\nmethod = "noise"\n',
        truth=Truth(back, "the exact bonus: rounding takes the noise off", d.people),
        **more,
    )


@leak("masked", "linking")
def the_same_noise_twice(draw: random.Random) -> Fields:
    """Bonus and pension get the same noise: who knows the pension takes it off the bonus."""
    d = payroll(draw, 500)
    pension = [draw.randrange(0, 20_000) for _ in d.all]
    noise = [round(draw.gauss(0, 4_000)) for _ in d.all]
    bonus = [int(b) for b in d.told]
    moved = {
        "bonus": _texts([b + e for b, e in zip(bonus, noise, strict=True)]),
        "pension": _texts([p + e for p, e in zip(pension, noise, strict=True)]),
    }
    # Who knows both finds the row by their difference, which no noise has touched.
    gap = [b - p for b, p in zip(bonus, pension, strict=True)]
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    rows, more = _assigned(d, {**moved, "leave": leave})
    number = attribute("q", "numeric", domain={"from": -40_000, "to": 60_000, "step": 1})
    return d.case(
        original={**d.number, "bonus": d.told, "pension": _texts(pension), "leave": leave},
        schema=_masked_schema(bonus=number, pension=number),
        release=rows,
        sidecar='masked = ["bonus", "pension"]\nmethod = "noise"\n',
        truth=Truth(alone(gap), "their row, by the difference of two noisy numbers", d.people),
        **more,
    )


@leak("masked", "linking")
def ranks_on_a_bent_scale(draw: random.Random) -> Fields:
    """The bonus is replaced by its square root times a secret number, rounded: ranks stay."""
    d = payroll(draw, 500)
    bonus = [draw.randrange(100, 20_000) for _ in d.all]
    moved = [round(37.3 * b**0.5) for b in bonus]
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    rows, more = _assigned(d, {"bonus": _texts(moved), "leave": leave})
    size = Counter(moved)
    return d.case(
        original={**d.number, "bonus": _texts(bonus), "leave": leave},
        schema=_masked_schema(bonus=attribute("q", "numeric", domain={"from": 0, "to": 20_000, "step": 1})),
        release=rows,
        sidecar='masked = ["bonus"]\nmethod = "a secret scale"\n',
        truth=Truth(sum(size[m] == 1 for m in moved), "their row by the rank of the bonus", d.people),
        **more,
    )


@leak("masked", "linking")
def sites_renamed_by_a_fixed_key(draw: random.Random) -> Fields:
    """Every site is given another site's name, always the same one; how many work where says which."""
    d = payroll(draw, 6_000)
    sites = sorted(set(d.exact["site"]))
    true = [draw.choices(sites, weights=[30, 22, 15, 11, 8, 6, 5, 3])[0] for _ in d.all]
    key = dict(zip(sites, sites[3:] + sites[:3], strict=True))
    shown = [key[s] for s in true]
    by_size = [s for s, _ in Counter(true).most_common()]
    guessed = dict(zip([s for s, _ in Counter(shown).most_common()], by_size, strict=True))
    right = sum(guessed[s] == t for s, t in zip(shown, true, strict=True))
    d.exact["site"] = true
    return d.case(
        original=d.original(),
        release=shuffled({**d.in_order(), "site": shown}, draw),
        truth=Truth(right, "their site: its size gives the key away", d.people),
    )


@leak("masked", "inference")
def flag_tells_which_were_changed(draw: random.Random) -> Fields:
    """Three offences in ten were replaced at random; a column `corrigé` says which."""
    d = police(draw, 1_500)
    kinds = sorted(set(d.told))
    changed = [draw.random() < 0.3 for _ in d.all]
    told = [draw.choice([k for k in kinds if k != v]) if c else v for v, c in zip(d.told, changed, strict=True)]
    area = {"district": [c.split()[-1] for c in d.shown["commune"]]}
    rows, more = _assigned(d, {**area, "infraction": told, "corrigé": ["oui" if c else "non" for c in changed]})
    return d.case(
        original={**d.number, **area, "infraction": d.told, "corrigé": ["non"] * d.people},
        schema=schema_text(
            {
                "dossier": attribute("id"),
                "district": attribute("q", domain=["1", "2", "3"]),
                "infraction": attribute("s", domain=kinds),
                "corrigé": attribute("i", domain=["oui", "non"]),
            }
        ),
        release=rows,
        sidecar='masked = ["infraction"]\nmethod = "pram:retain=0.7"\n',
        truth=Truth(changed.count(False), "that their offence is the true one", d.people),
        **more,
    )


# --- people -----------------------------------------------------------------------------------------------------------


@leak("insensitive tells quasi-identifier", "singling out")
def mean_of_the_team(draw: random.Random) -> Fields:
    """The mean bonus of one's team of twelve is a name for the team, and a team is at one site."""
    d = payroll(draw, 1_800)
    by_site: dict[str, list[int]] = defaultdict(list)
    for i in d.all:
        by_site[d.exact["site"][i]].append(i)
    mean = [""] * d.people
    for people in by_site.values():
        for j in range(0, len(people), 12):
            team = people[j : j + 12]
            value = sum(int(d.told[i]) for i in team) / len(team)
            for i in team:
                mean[i] = f"{value:.0f}"
    people = determined(mean, d.exact["site"])
    column = {"team_mean": mean}
    return d.case(
        original=d.original(**column),
        schema=d.schema(team_mean=attribute("i", "numeric", domain={"from": 0, "to": 20_000, "step": 1})),
        release=d.release(**column),
        truth=Truth(people, "their site, and eleven others of their team", d.people),
    )


@leak("two releases", "composition")
def a_batch_number_in_both_files(draw: random.Random) -> Fields:
    """Two tables of the same people, each harmless; both show in which batch of seven a form was read."""
    d = census(draw, 2_100)
    batch = [str(1 + i // 7) for i in d.all]
    draw.shuffle(batch)
    one = {"born": d.shown["born"], "status": ["*"] * d.people, "county": ["*"] * d.people, "faith": d.told}
    two = {"born": ["*"] * d.people, "status": d.shown["status"], "county": d.shown["county"], "faith": d.told}
    known = list(zip(batch, d.shown["born"], d.shown["status"], d.shown["county"], strict=True))
    people = determined(known, d.told)
    return d.case(
        original=d.original(batch=batch),
        schema=d.schema(batch=INSENSITIVE),
        release=shuffled({**one, "batch": batch}, draw),
        files={"second.csv": csv_text(shuffled({**two, "batch": batch}, draw))},
        more_releases=("second.csv",),
        truth=Truth(people, "their faith: the batch joins the two tables", d.people),
    )


@leak("homogeneous classes", "background")
def classes_of_three(draw: random.Random) -> Fields:
    """Classes of three people with three different answers: two of them, or their families, know the third."""
    d = census(draw, 900)
    order = sorted(d.all, key=lambda i: (int(d.exact["born"][i]), d.id[i]))
    told, born = [""] * d.people, [""] * d.people
    for j in range(0, d.people, 3):
        trio = order[j : j + 3]
        years = [int(d.exact["born"][i]) for i in trio]
        for i, value in zip(trio, draw.sample(("alpha", "beta", "gamma", "delta", "none"), 3), strict=True):
            told[i], born[i] = value, f"[{min(years)},{max(years)}]" if min(years) < max(years) else str(years[0])
    shown = {"born": born, "county": ["*"] * d.people, "status": ["*"] * d.people}
    size = Counter(born)
    few = sum(size[b] == 3 for b in born)
    return d.case(
        original=d.original(faith=told),
        release=shuffled({**shown, "faith": told}, draw),
        truth=Truth(few, "the faith of the third, by whoever knows two", d.people),
    )


@leak("row order", "linking")
def a_dozen_in_order(draw: random.Random) -> Fields:
    """A release of twelve people: two classes of six, in the order of the list."""
    d = school(draw, 12)
    d.exact["kurs"] = list("AABABBDDEDEF")
    d.exact["geschlecht"] = ["w", "m"] * 6
    note = list("125634251643")
    rows = {
        "geburtsjahr": ["*"] * 12,
        "kurs": ["Oberstufe"] * 6 + ["Mittelstufe"] * 6,
        "geschlecht": ["*"] * 12,
        "note": note,
    }
    return d.case(
        original=d.original(note=note),
        release=rows,
        truth=Truth(12, "their mark: the rows stand as in the list", 12),
    )
