"""The pictures of docs/concepts.md, drawn from what unveil finds on small made-up tables: `python site/pictures.py`."""

import sys
import tomllib
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import numpy as np
import polars as pl

import unveil
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.targets import targets_of_table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTH = 640
GREY, BLUE, RED, GREEN = "#8a8f98", "#3461a8", "#b3261e", "#2e7d32"
CLINIC = {("smoker", "bronchitis"): 18, ("smoker", "fracture"): 4, ("smoker", "allergy"): 2}
CLINIC |= {("never", "bronchitis"): 2, ("never", "fracture"): 14, ("never", "allergy"): 8}
CHAINS = unveil.Chains(chains=4, sweeps=1000, most_sweeps=1000)


def table_of(rows: Sequence[Sequence[str]], names: Sequence[str]) -> unveil.Table:
    """A table of texts; the last column is sensitive."""
    lines = ["version = 1", "confirmed = true"]
    for column, name in enumerate(names):
        role = "sensitive" if column == len(names) - 1 else "quasi-identifier"
        domain = sorted({row[column] for row in rows})
        lines += [f"[attributes.{name}]", f'role = "{role}"', f"domain = {domain}"]
    schema = Schema(SchemaDocument.model_validate(tomllib.loads("\n".join(lines))), {}, "pictures")
    return unveil.read_table(pl.DataFrame(rows, schema=list(names), orient="row"), schema)


def clinic(seed: int) -> tuple[unveil.Table, unveil.Anonymized]:
    """48 patients, and an Anatomy release in which every bucket holds two diagnoses."""
    table = table_of([key for key, count in CLINIC.items() for _ in range(count)], ["smoking", "diagnosis"])
    return table, unveil.anonymizer("anatomy:l=2").anonymize(table, unveil.Engine(seed=seed))


def read(table: unveil.Table, made: unveil.Anonymized, attackers: Sequence[str], *, group: bool) -> unveil.Attack:
    """What readers believe of everybody; `group`: they know everybody's bucket."""
    asked = made.release.index("diagnosis")
    targets = targets_of_table(table, made.release, asked, group=made.group_of_row if group else None)
    return unveil.attack(made.release, targets, attackers, chains=CHAINS, engine=unveil.Engine(seed=0))


def text(x: float, y: float, words: str, *, colour: str = "#222", size: int = 14, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, colour: str, *, opacity: float = 1.0) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:.1f}" rx="3" fill="{colour}" '
        f'fill-opacity="{opacity:g}"/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str = GREY, dash: str = "") -> str:
    more = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="1.5"{more}/>'


def picture(title: str, height: int, *parts: str) -> str:
    """An SVG on a white ground, so that it can be read on a dark page as well."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def bars(rows: Sequence[tuple[str, float, str]], top: float, left: float = 300) -> list[str]:
    """A horizontal bar a row, with its share."""
    found = []
    for place, (words, share, colour) in enumerate(rows):
        y = top + 32 * place
        found += [text(left - 12, y + 16, words, anchor="end"), box(left, y, 260 * share, 22, colour)]
        found.append(text(left + 260 * share + 8, y + 16, f"{share:.0%}", colour=colour))
    return found


def learner_and_attacker() -> str:
    table, made = clinic(3)
    outside, inside = (read(table, made, ["bayesian", "random_worlds"], group=group) for group in (False, True))
    smoking, ill = table.columns
    bronchitis = table.attributes[1].values.index("bronchitis")
    person = next(
        i for i in range(table.rows)
        if ill[i] == bronchitis and table.attributes[0].values[smoking[i]] == "smoker"
        and np.ptp(smoking[made.group_of_row == made.group_of_row[i]])
    )  # fmt: skip
    rows = [
        ("how many patients have it", float((ill == bronchitis).mean()), GREY),
        ("learner: what the file teaches of smokers", outside.learner.probability[person, bronchitis], BLUE),
        ("attacker: she is in the file", outside.attackers["bayesian"].probability[person, bronchitis], RED),
        ("attacker who knows her bucket", inside.attackers["bayesian"].probability[person, bronchitis], RED),
    ]
    head = text(20, 34, "A smoker. How likely is bronchitis?", size=17)
    return picture("What is believed of one person, by four readers", 190, head, *bars(rows, 58, 330))


def why_l_diversity_fails() -> str:
    table, made = clinic(3)
    inside = read(table, made, ["bayesian", "random_worlds"], group=True)
    smoking, ill = table.columns[0], table.columns[1]
    values, habits = table.attributes[1].values, table.attributes[0].values
    wanted = {"smoker", "never"}
    for group in range(made.release.groups):
        rows = np.flatnonzero(made.group_of_row == group)
        if {habits[c] for c in smoking[rows]} == wanted and {values[c] for c in ill[rows]} == {
            "bronchitis",
            "fracture",
        }:
            break
    parts = [text(20, 34, "One bucket of an Anatomy release: two people, two diagnoses", size=17)]
    for place, name in enumerate(("smoker", "never")):
        parts += [
            box(40, 62 + 40 * place, 130, 30, BLUE, opacity=0.15),
            text(105, 82 + 40 * place, name, anchor="middle"),
        ]
    for place, name in enumerate(("bronchitis", "fracture")):
        parts += [
            box(250, 62 + 40 * place, 130, 30, RED, opacity=0.15),
            text(315, 82 + 40 * place, name, anchor="middle"),
        ]
    parts += [line(172, y1, 248, y2, dash="4 3") for y1 in (77, 117) for y2 in (77, 117)]
    parts.append(text(400, 82, "l = 2 promises: who is who", colour=GREY))
    parts.append(text(400, 102, "is one in two, either way.", colour=GREY))
    person = next(row for row in rows if habits[smoking[row]] == "smoker")
    of = values.index("bronchitis")
    compared = [
        ("random worlds: the bucket alone", inside.attackers["random_worlds"].probability[person, of], GREY),
        ("bayesian: with all other buckets", inside.attackers["bayesian"].probability[person, of], RED),
    ]
    parts.append(text(20, 172, "The smoker has bronchitis, believes", size=14))
    return picture("Why l-diversity does not bound a reader who learns", 262, *parts, *bars(compared, 190))


def relative_threat() -> str:
    table, made = clinic(3)
    found = read(table, made, ["bayesian"], group=True)
    rows, truth = np.arange(table.rows), table.columns[1]
    learner, attacker = found.learner.probability[rows, truth], found.attackers["bayesian"].probability[rows, truth]
    times = np.sort(attacker / learner)[::-1]
    scale, ground, step = 24.0, 190.0, (WIDTH - 120) / table.rows
    parts = [text(20, 34, "How much more likely each person's own diagnosis becomes", size=17)]
    for place, one in enumerate(times):
        colour = RED if one >= 2 else BLUE
        parts.append(box(80 + place * step, ground - scale * min(one, 6), step - 2, scale * min(one, 6), colour))
    for mark in (1, 2, 4):
        parts += [line(74, ground - scale * mark, WIDTH - 36, ground - scale * mark, dash="3 4")]
        parts.append(text(66, ground - scale * mark + 5, f"{mark}×", size=12, anchor="end"))
    told = f"{int((times >= 2).sum())} of {table.rows} people: at least twice. Median {np.median(times):.1f} times."
    parts.append(text(80, 218, told))
    return picture("Relative threat of 48 people, sorted", 240, *parts)


def calibration() -> str:
    draw = np.random.default_rng(7)
    town, other = draw.integers(0, 4, (2, 1500))
    ill = np.where(draw.random(1500) < 0.68, np.where(draw.random(1500) < 0.8, town, other), other)
    rows = zip(*(column.tolist() for column in (town, town, (town + 1) % 4, ill)), strict=True)
    table = table_of([tuple(f"v{cell}" for cell in row) for row in rows], ["town", "district", "school", "diagnosis"])
    made = unveil.anonymizer("anatomy:l=3").anonymize(table, unveil.Engine(seed=1))
    found = read(table, made, ["bayesian", "boosted"], group=True)
    truth = table.columns[3]
    left, ground, size = 90.0, 300.0, 240.0
    parts = [text(20, 34, "Of beliefs of this size, how many are right?", size=17)]
    parts += [line(left, ground, left + size, ground), line(left, ground, left, ground - size)]
    parts.append(line(left, ground, left + size, ground - size, dash="4 3"))
    for mark in (0, 0.5, 1):
        parts.append(text(left + size * mark, ground + 20, f"{mark:.0%}", size=12, anchor="middle"))
        parts.append(text(left - 8, ground - size * mark + 4, f"{mark:.0%}", size=12, anchor="end"))
    parts.append(text(left + size / 2, ground + 40, "what the reader believes", size=13, anchor="middle"))
    for place, (name, colour) in enumerate({"bayesian": RED, "boosted": GREEN}.items()):
        p = found.attackers[name].probability
        top, right = p.max(axis=1), p.argmax(axis=1) == truth
        which = np.minimum((top * 10).astype(int), 9)
        points = [(top[which == b].mean(), right[which == b].mean()) for b in range(10) if (which == b).sum() >= 20]
        path = " ".join(f"{left + size * x:.0f},{ground - size * y:.0f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [
            f'<circle cx="{left + size * x:.0f}" cy="{ground - size * y:.0f}" r="4" fill="{colour}"/>'
            for x, y in points
        ]
        sure = top >= 0.8
        words = f"{name}: {int(sure.sum()):,} beliefs of 80% or more"
        parts += [text(370, 120 + 70 * place, words, colour=colour)]
        if sure.any():
            parts.append(text(370, 142 + 70 * place, f"{right[sure].mean():.0%} of them right", colour=colour))
    parts.append(text(left + size - 4, ground - size - 8, "as it should be", size=12, colour=GREY, anchor="end"))
    return picture("Calibration: naive Bayes where three columns say the same, and boosting", 360, *parts)


def composition() -> str:
    table, made = clinic(3)
    _, again = clinic(11)
    values, ill = table.attributes[1].values, table.columns[1]
    held = [(one.release.histograms(1)[0] > 0)[one.group_of_row] for one in (made, again)]
    both = held[0] & held[1]
    alone = np.flatnonzero(both.sum(axis=1) == 1)
    person = alone[0]
    parts = [text(20, 34, "The same patient in two releases of one table", size=17)]
    for place, (words, holds) in enumerate((("first release", held[0]), ("second release", held[1]))):
        parts.append(text(60 + 220 * place, 74, words))
        for where, code in enumerate(np.flatnonzero(holds[person])):
            parts.append(
                box(60 + 220 * place, 88 + 38 * where, 150, 30, BLUE if code == ill[person] else GREY, opacity=0.2)
            )
            parts.append(text(135 + 220 * place, 108 + 38 * where, values[code], anchor="middle"))
    parts += [text(500, 74, "in both"), box(500, 88, 120, 30, RED, opacity=0.25)]
    parts.append(text(560, 108, values[ill[person]], anchor="middle"))
    told = f"Each release: two diagnoses for everybody. Together: one left for {len(alone)} of {table.rows} people."
    parts.append(text(20, 200, told))
    return picture("Two releases that each hide the diagnosis among two, and together tell it", 222, *parts)


DRAWN: dict[str, Callable[[], str]] = {
    f"{draw.__name__.replace('_', '-')}.svg": draw
    for draw in (learner_and_attacker, why_l_diversity_fails, relative_threat, calibration, composition)
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or DRAWN:
        (FOLDER / name).write_text(DRAWN[name](), encoding="utf-8")
