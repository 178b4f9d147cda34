"""A release audited together with what is already out."""

from dataclasses import replace

import numpy as np
import pytest

import unveil
from planted_pairs import planted_pair
from small import masked_release
from unveil.anonymizers.anatomy import Anatomy
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, build_release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.risk.composition import EarlierRelease, Overlap, Web

QUICK = {"background": None, "membership": None, "attackers": {"random_worlds": unveil.attacker("random_worlds")}}


def kind_of(found, kind, release="new"):
    return next(k for k in found.document.diagnostics["judgement"][release]["kinds"] if k["kind"] == kind)


def value_of(found, name, release="new"):
    return next(f for f in found.document.findings if f.id == name and f.release == release).value


@pytest.fixture(scope="module")
def pair():
    return planted_pair(600, 7)


def audited(pair, earlier, **options):
    table, _, new, _ = pair
    return unveil.run_audit({"new": new}, original=table, earlier=earlier, **(QUICK | options))


def test_the_planted_pair_is_exceeded_together_and_not_alone():
    table, old, new, planted = planted_pair()
    for release in (old, new):
        assert int(release.class_sizes().min()) >= 5
        assert (release.histograms(2)[0] > 0).sum(axis=1).min() >= 3
    alone = unveil.run_audit({"new": new}, original=table, **QUICK)
    together = unveil.run_audit({"new": new}, original=table, earlier={"old": EarlierRelease(release=old)}, **QUICK)
    assert kind_of(alone, "composition")["verdict"] == "not considered"
    assert alone.document.diagnostics["exit_code"] != 1
    assert together.document.diagnostics["exit_code"] == 1
    assert kind_of(together, "composition")["verdict"] == "exceeded"
    assert "33 of 3,000" in kind_of(together, "composition")["sentence"]
    assert kind_of(together, "inference")["verdict"] == kind_of(alone, "inference")["verdict"]
    p = together.answers["new", "diagnosis"].attackers["composed"].probability
    sure = np.flatnonzero(p[np.arange(3000), table.columns[2]] > 0.95)
    assert np.array_equal(sure, planted)
    frame = together.people("new", "diagnosis")
    assert any("composed" in name for name in frame.columns)  # the difference of each person


def test_the_same_release_again_adds_nothing(pair):
    found = audited(pair, {"again": EarlierRelease(release=pair[2])})
    assert kind_of(found, "composition")["verdict"] == "within"
    assert value_of(found, "newly_sure") == 0
    assert "Several releases of one table were not read together." not in found.document.diagnostics["not_tested"]


def test_without_the_original_what_can_be_counted_is(pair):
    _, old, new, _ = pair
    found = unveil.run_audit({"new": new}, earlier={"old": EarlierRelease(release=old)}, **QUICK)
    kind = kind_of(found, "composition")
    assert kind["verdict"] != "within"  # wide cells link nobody for certain, and nobody's truth is known


def test_an_unsettled_run_is_inconclusive(pair, monkeypatch):
    real = Web.beliefs
    monkeypatch.setattr(Web, "beliefs", lambda *a: replace(real(*a), settled=False, worst=0.3))
    found = audited(pair, {"again": EarlierRelease(release=pair[2])})
    assert kind_of(found, "composition")["verdict"] == "inconclusive"
    assert any("did not settle" in text for text in found.document.diagnostics["remarks"])


def test_contradictions_are_inconclusive(pair):
    table = pair[0]
    turned = Table(table.attributes, (*table.columns[:2], ((table.columns[2] + 1) % 6).astype(table.columns[2].dtype)))
    other = unveil.anonymizer("anatomy:l=3").anonymize(turned, Engine(seed=1)).release
    found = audited(pair, {"other": EarlierRelease(release=other)})
    assert kind_of(found, "composition")["verdict"] in ("inconclusive", "exceeded")
    assert any("contradict" in text for text in found.document.diagnostics["remarks"])
    # The same with a stated chance of change is no contradiction.
    said = audited(pair, {"other": EarlierRelease(release=other, changed=0.9)})
    assert not any("contradict" in text for text in said.document.diagnostics["remarks"])


def test_what_cannot_be_combined_is_named_and_never_within(pair):
    table, _, new, _ = pair
    noisy = masked_release(table.attributes, _columns(table), (2,))
    found = audited(pair, {"noisy": EarlierRelease(release=noisy)})
    kind = kind_of(found, "composition")
    assert kind["verdict"] == "not judged"
    assert "noisy" in kind["sentence"]
    assert "perturbed" in kind["sentence"]
    found = audited(pair, {"again": EarlierRelease(release=new)}, not_combined={"lost": "its file is gone"})
    assert "lost (its file is gone)" in kind_of(found, "composition")["sentence"]


def test_a_release_without_the_attribute_adds_nothing(pair):
    table = pair[0]
    columns = tuple(table.columns[:2])
    bare = Table((*table.attributes[:2], Attribute("ward", Role.SENSITIVE, Kind.CATEGORICAL, ("a", "b"))),
                 (*columns, (table.columns[0] % 2).astype(np.uint8)))  # fmt: skip
    found = audited(pair, {"bare": EarlierRelease(release=bare.as_release())})
    assert kind_of(found, "composition")["verdict"] == "within"
    assert any("does not publish diagnosis" in text for text in found.document.diagnostics["remarks"])


def test_perturbed_numbers_are_combined_by_intervals(pair):
    """A table whose ages were moved by at most 1 and whose diagnosis stands beside them tells nearly everybody."""
    table = pair[0]
    rng = np.random.default_rng(0)
    columns = list(_columns(table))
    columns[0] = columns[0] + rng.integers(-1, 2, table.rows)
    noisy = masked_release(table.attributes, tuple(columns), (0,))
    free = audited(pair, {"noisy": EarlierRelease(release=noisy)})
    tight = audited(pair, {"noisy": EarlierRelease(release=noisy, within={"age": 1.0})})
    assert value_of(tight, "newly_sure") > value_of(free, "newly_sure") + 0.1 > 0.2  # exact zips alone tell some


def test_a_published_channel_is_inverted(pair):
    table = pair[0]
    rng = np.random.default_rng(1)
    matrix = np.full((6, 6), 0.04) + 0.76 * np.eye(6)
    truth = table.columns[2]
    shown = np.array([rng.choice(6, p=matrix[t]) for t in truth])
    columns = (*_columns(table)[:2], shown.astype(np.int64))
    release = EarlierRelease(release=masked_release(table.attributes, columns, (2,), {2: matrix}))
    found = audited(pair, {"pram": release})
    belief = found.answers["new", "diagnosis"].attackers["composed"].probability
    alone = found.answers["new", "diagnosis"].attackers["random_worlds"].probability
    right = (belief.argmax(axis=1) == truth).mean()
    assert right > 0.75 > (alone.argmax(axis=1) == truth).mean()
    sure = belief.max(axis=1) > 0.8
    assert abs((belief.argmax(axis=1) == truth)[sure].mean() - belief.max(axis=1)[sure].mean()) < 0.05  # calibrated


def moved_ages(table, seed=0):
    columns = list(_columns(table))
    columns[0] = columns[0] + np.random.default_rng(seed).integers(-1, 2, table.rows)
    return masked_release(table.attributes, tuple(columns), (0,))


def test_a_perturbed_release_is_read_with_earlier_ones(pair):
    """Ages moved by at most 1 beside exact zips and diagnoses: they tell most people."""
    table, old, _, _ = pair
    new, earlier = moved_ages(table), {"old": EarlierRelease(release=old)}
    options = QUICK | {"original": table, "earlier": earlier}
    found = unveil.run_audit({"new": new}, within={"age": 1.0}, **options)
    kind = kind_of(found, "composition")
    assert kind["verdict"] == "exceeded"
    facts = found.document.diagnostics["composition"]["new"]["diagnosis"]
    assert facts["sure"] > 0.6 * table.rows
    # Whose row is whose says how far numbers were moved; without either nobody can say that it is within.
    paired = unveil.run_audit({"new": new}, assignments={"new": np.arange(table.rows)}, **options)
    assert paired.document.diagnostics["composition"]["new"]["diagnosis"]["sure"] == facts["sure"]
    unknown = kind_of(unveil.run_audit({"new": new}, **options), "composition")
    assert unknown["verdict"] in ("exceeded", "not judged")
    bare = unveil.run_audit({"new": new}, **(options | {"original": None}))
    assert kind_of(bare, "composition")["verdict"] == "not judged"


def test_a_channel_on_what_is_known_links_by_its_chances(pair):
    """Zips that a published channel changed still tell rows apart."""
    table, _, _new, _ = pair
    rng, codes = np.random.default_rng(2), table.attributes[1].codes
    matrix = 0.9 * np.eye(codes) + 0.1 / codes
    columns = list(_columns(table))
    zips = Attribute("zip", Role.QUASI_IDENTIFIER, Kind.ORDINAL, table.attributes[1].values)
    shown = np.where(rng.random(table.rows) < 0.9, table.columns[1], rng.integers(0, codes, table.rows))
    columns[1] = shown.astype(np.int64)
    attributes = (table.attributes[0], zips, table.attributes[2])
    release = masked_release(attributes, tuple(columns), (1,), {1: matrix})
    found = audited(pair, {"pram": EarlierRelease(release=release)})
    assert value_of(found, "newly_sure") > 0.7  # ages are exact, and zips nearly so


def test_a_number_of_many_values_is_composed_in_bins(pair):
    """Income beside the diagnosis: cut by age and by zip, the two tell it."""
    table = pair[0]
    rng = np.random.default_rng(3)
    places = np.arange(2000, dtype=np.float64)
    income = Attribute("income", Role.SENSITIVE, Kind.NUMERIC, tuple(map(str, range(2000))), low=places, high=places)
    column = rng.permutation(2000)[: table.rows].astype(income.dtype)
    known = Table((*table.attributes[:2], income), (*table.columns[:2], column))
    codes = table.attributes[0].codes
    wide = Regions.intervals(codes, [0], [codes - 1])
    narrow = Regions.intervals(codes, np.arange(0, codes, 4), np.arange(3, codes, 4))

    def cut(key):
        group = table.columns[key].astype(np.int64) // 4
        cells = (group, 0 * group) if key == 0 else (0 * group, group)
        regions = [narrow, wide] if key == 0 else [wide, narrow]
        part = BlockRows((0, 1, 2), group, (*cells, column.astype(np.int64)))
        return build_release(known.attributes, [*regions, Regions.singles(2000)], [part])[0]

    found = unveil.run_audit({"new": cut(0)}, original=known, earlier={"old": EarlierRelease(release=cut(1))}, **QUICK)
    facts = found.document.diagnostics["composition"]["new"]
    assert {"income in 10 bins", "income in 100 bins"} <= set(facts)
    assert kind_of(found, "composition")["verdict"] == "exceeded"


def test_other_domains_and_other_people_are_translated(pair):
    """The earlier release has a value that nobody has any more, and half of the people."""
    table, _, _, planted = pair
    rows = np.sort(np.concatenate([planted, np.arange(0, table.rows, 2)]))
    rows = np.unique(rows)
    values = ("retired", *table.attributes[2].values)
    attributes = (*table.attributes[:2], Attribute("diagnosis", Role.SENSITIVE, Kind.CATEGORICAL, values))
    part = Table(attributes, (*(c[rows] for c in table.columns[:2]), (table.columns[2][rows] + 1).astype(np.uint8)))
    earlier = Anatomy(l=2).anonymize(part, Engine(seed=3)).release
    found = audited(pair, {"half": EarlierRelease(release=earlier, overlap=Overlap("subset"))})
    assert not any("contradict" in text for text in found.document.diagnostics["remarks"])
    belief = found.answers["new", "diagnosis"].attackers["composed"].probability
    outside = np.setdiff1d(np.arange(table.rows), rows)
    assert belief[rows].max(axis=1).mean() > belief[outside].max(axis=1).mean() + 0.1
    stated = audited(pair, {"half": EarlierRelease(release=earlier)})
    assert any("Say how they overlap" in text for text in stated.document.diagnostics["remarks"])


def test_an_external_document_shows_no_small_count(pair):
    found = audited(pair, {"old": EarlierRelease(release=pair[1])}, variant="external", least_count=10)
    facts = found.document.diagnostics["composition"]["new"]["diagnosis"]
    assert facts["sure"] is None
    assert facts["one_value_left"] is None


def test_several_earlier_releases_and_the_fewest_that_expose(pair):
    table, old, _, _ = pair
    more = unveil.anonymizer("anatomy:l=4").anonymize(table, Engine(seed=2)).release
    found = audited(pair, {"old": EarlierRelease(release=old), "more": EarlierRelease(release=more)})
    sets = found.document.diagnostics["composition"]["new"]["diagnosis"]["minimal_sets"]
    assert {"releases": ["old"], "people": 7} in sets
    assert value_of(found, "releases_needed") == 1


@pytest.mark.thorough
def test_two_dozen_earlier_releases_and_the_one_that_exposes(pair):
    """Coarser zips, each of which tells nothing, and at last the one that does: too many to try every set."""
    table, old, _, planted = pair
    codes, secret = table.attributes[1].codes, table.columns[2].astype(np.int64)
    earlier = {}
    for number in range(23):
        width = 4 * (number + 2)
        low = np.arange(0, codes, width)
        regions = [Regions.intervals(codes, [0], [codes - 1])]
        regions += [Regions.intervals(codes, low, np.minimum(low + width, codes) - 1), Regions.singles(6)]
        group = table.columns[1].astype(np.int64) // width
        rows = BlockRows((0, 1, 2), group, (group * 0, group, secret))
        earlier[f"coarse {number}"] = EarlierRelease(release=build_release(table.attributes, regions, [rows])[0])
    harmless = audited(pair, earlier)
    assert kind_of(harmless, "composition")["verdict"] == "within"
    assert not any(f.id == "releases_needed" for f in harmless.document.findings)
    found = audited(pair, {**earlier, "old": EarlierRelease(release=old)})
    assert kind_of(found, "composition")["verdict"] == "exceeded"
    facts = found.document.diagnostics["composition"]["new"]["diagnosis"]
    assert facts["sure"] == len(planted)
    assert facts["minimal_sets"] == [{"releases": ["old"], "people": len(planted)}]
    assert facts["every_subset"] is False
    assert value_of(found, "releases_needed") == 1


def _columns(table):
    return tuple(
        c.astype(np.float64) if a.kind.measured else c.astype(np.int64)
        for a, c in zip(table.attributes, table.columns, strict=True)
    )


def test_loops_that_do_not_settle_are_inconclusive():
    """Ages moved by up to 6 beside wide zips: everybody may be many rows, and messages keep turning."""
    table, _, new, _ = planted_pair(160, 4)
    moved = table.columns[0] + np.random.default_rng(4).uniform(-6, 6, table.rows)
    columns = (moved, np.full(table.rows, np.nan), table.columns[2].astype(np.int64))
    release = EarlierRelease(release=masked_release(table.attributes, columns, (0, 1)), within={"age": 6.0, "zip": 1e9})
    found = unveil.run_audit({"new": new}, original=table, earlier={"noisy": release}, **QUICK)
    facts = found.document.diagnostics["composition"]["new"]["diagnosis"]
    assert facts["settled"] is False
    assert kind_of(found, "composition")["verdict"] == "inconclusive"
    assert found.document.diagnostics["exit_code"] == 3


def test_a_frustrated_loop_is_inconclusive():
    """Three people in pairs, each pair holding two different values: no way around an odd loop fits."""
    x = Attribute("x", Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(map(str, range(9))))
    s = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, ("a", "b"))
    place = np.arange(9)
    table = Table((x, s), (place.astype(x.dtype), (place % 2).astype(s.dtype)))

    def paired(one, other):
        group = np.where((place == one) | (place == other), 0, 1)
        values = np.where(group == 0, place == one, place % 2).astype(np.int64)
        parts = [BlockRows((0,), group, (place,)), BlockRows((1,), group, (values,))]
        return build_release((x, s), [Regions.singles(9), Regions.singles(2)], parts)[0]

    earlier = {f"{i}{j}": EarlierRelease(release=paired(i, j)) for i, j in ((1, 2), (0, 2))}
    found = unveil.run_audit({"new": paired(0, 1)}, original=table, earlier=earlier, **QUICK)
    assert kind_of(found, "composition")["verdict"] in ("inconclusive", "exceeded")
    assert any("contradict" in text for text in found.document.diagnostics["remarks"])


@pytest.mark.parametrize(("people", "word"), [("same", "within"), ("subset", "inconclusive")])
def test_large_parts_with_people_missing_are_never_within(people, word):
    """Nothing checks propagation there: what it believes may exceed a limit and keeps none."""
    rng = np.random.default_rng(8)
    x = Attribute("x", Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(map(str, range(40))))
    y = Attribute("y", Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(map(str, range(40))))
    s = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, ("a", "b", "c", "d"))
    everyone = Table((x, y, s), tuple(rng.integers(0, a.codes, 800).astype(a.dtype) for a in (x, y, s)))
    new = unveil.anonymizer("mondrian:k=40").anonymize(everyone, Engine(seed=1)).release
    kept = np.arange(800) if people == "same" else np.sort(rng.permutation(800)[:400])
    some = Table((x, y, s), tuple(c[kept] for c in everyone.columns))
    half = unveil.anonymizer("mondrian:k=90").anonymize(some, Engine(seed=2)).release
    earlier = {"half": EarlierRelease(release=half, overlap=Overlap(people))}
    found = unveil.run_audit({"new": new}, original=everyone, earlier=earlier, **QUICK)
    assert kind_of(found, "composition")["verdict"] == word
    composed = found.answers["new", "s"].attackers["composed"].diagnostics
    assert composed.converged
    assert composed.precise == (word == "within")
    assert ("no limit counts as kept" in str(composed.facts.get("alarm"))) == (word == "inconclusive")


def test_nearly_sure_where_nothing_checks_loops_is_inconclusive(pair, monkeypatch):
    """Whom logic tells for certain was believed at 87% by propagation: nine tenths may be certainty."""
    real, truth = Web.beliefs, pair[0].columns[2]

    def believed(web, *given, share):
        found = real(web, *given)
        others = np.delete(np.arange(6), truth[0])
        found.probability[0, others] = (1 - share) / 5
        found.probability[0, truth[0]] = share
        return replace(found, exact=np.zeros_like(found.exact))

    monkeypatch.setattr("unveil.audit.composition.sampled_check", lambda *_: None)
    for share, word in ((0.8, "within"), (0.9, "inconclusive"), (0.96, "exceeded")):
        monkeypatch.setattr(Web, "beliefs", lambda *a, share=share: believed(*a, share=share))
        assert kind_of(audited(pair, {"again": EarlierRelease(release=pair[2])}), "composition")["verdict"] == word
