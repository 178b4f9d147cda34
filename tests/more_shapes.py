"""More shapes, each list written down before the sampler was tried on any of it."""

from collections.abc import Iterator

from tests.shapes import Shape, bucket, shape

__all__ = ["late_shapes", "morning_shapes", "sixteen_shapes"]


def late_shapes() -> Iterator[Shape]:
    """Thirteen more, again written down before the sampler was tried on any of them."""
    two, three, sliced = ((0,), (1,)), ((0, 1), (2,)), ((0,), (1,), (2,))
    # Three readings: which of three values is the odd one, with weights that differ a little.
    yield shape(
        "three readings of unequal weight", (2, 2, 3), three,
        (bucket([[0, 0], [1, 1], [1, 1]], [0, 1, 2]), 13, 2), (bucket([[0, 1], [1, 0], [1, 1]], [0, 1, 2]), 3, 1),
        (bucket([[0, 0], [1, 1]], [0, 1]), 2, 0),
    )  # fmt: skip
    # Values 0 and 1 could trade places in their own buckets; 2 and 3 are settled by many tilted ones.
    yield shape(
        "a symmetric part beside a settled one", (4, 4), two,
        (bucket([[0], [1]], [0, 1]), 25, 3), (bucket([[2], [3]], [2, 3]), 12, 1),
        (bucket([[2], [2], [3]], [2, 2, 3]), 9, 0), (bucket([[0], [2]], [0, 2]), 2, 0),
        (bucket([[1], [2]], [1, 2]), 2, 0),
    )  # fmt: skip
    yield shape(
        "beta 0.02, three values in pairs", (3, 3), two,
        (bucket([[0], [1]], [0, 1]), 7, 1), (bucket([[1], [2]], [1, 2]), 7, 1), (bucket([[2], [0]], [2, 0]), 6, 0),
        (bucket([[0], [0], [1]], [0, 0, 1]), 1, 0), beta=0.02,
    )  # fmt: skip
    # All but one bucket agree to the letter, in three attributes.
    yield shape(
        "near-deterministic, one bucket says the opposite", (2, 2, 2, 2), ((0, 1, 2), (3,)),
        (bucket([[0, 0, 0], [1, 1, 1]], [0, 1]), 50, 0), (bucket([[0, 0, 0], [0, 0, 0], [1, 1, 1]], [0, 1, 1]), 1, 0),
        (bucket([[0, 0, 1], [1, 1, 1]], [0, 1]), 4, 0), (bucket([[1, 1, 0], [0, 0, 0]], [0, 1]), 3, 3),
    )  # fmt: skip
    # Generalised: cells of two attributes that overlap, in buckets.
    both = ((0,),), ((1,),)
    wide = [((((0, 1), (0,)), ((1, 2), (1,))), both), ((((1, 2), (0,)), ((0,), (0, 1))), both),
            ((((0, 1, 2), (0,)), ((2,), (1,))), both)]  # fmt: skip
    for beta in (0.3, 1.0):
        yield shape(
            f"overlapping cells of two attributes, beta {beta}", (3, 2, 2), three,
            (wide[0], 3, 1), (wide[1], 2, 1), (wide[2], 3, 0), beta=beta,
        )  # fmt: skip
    # Withheld values of three beside symmetric pairs.
    yield shape(
        "three values, some withheld, two of them alike", (3, 3), two,
        (bucket([[0], [1]], [0, 1]), 12, 2), (bucket([[0], [2]], [-1, 2], 3), 4, 0),
        (bucket([[1], [2]], [2, -1], 3), 4, 0), (bucket([[0]], [-1], 3), 3, 0), beta=0.5,
    )  # fmt: skip
    # Three blocks and withheld values: nothing can be summed out.
    pair, same = (((0,),), ((1,),)), (((0,),), ((0,),))
    unknown = (((0,),), ((0, 1),))
    yield shape(
        "three blocks, values withheld", (2, 2, 2), sliced, ((pair, pair, pair), 24, 3), ((pair, same, unknown), 4, 1),
        ((same, pair, unknown), 4, 1), ((pair, pair, unknown), 3, 0),
    )  # fmt: skip
    yield shape(
        "three blocks, values withheld, tilted", (2, 2, 2), sliced, ((pair, pair, pair), 40, 3),
        ((pair, pair, unknown), 3, 0),
        (((*pair, ((0,),)), (*pair, ((0,),)), (((0,),), ((1,),), ((0,),))), 3, 0), beta=0.5,
    )  # fmt: skip
    # Buckets of 2, 3, 5 and 9 rows that disagree about which way round.
    yield shape(
        "buckets of 2 to 9 that disagree", (2, 2, 2), three,
        (bucket([[0, 0], [1, 1]], [0, 1]), 30, 8), (bucket([[0, 0], [0, 1], [1, 1]], [0, 0, 1]), 4, 1),
        (bucket([[0, 0]] * 2 + [[1, 1]] * 3, [1, 1, 0, 0, 0]), 2, 0),
        (bucket([[0, 0]] * 5 + [[1, 1]] * 3 + [[1, 0]], [0] * 5 + [1] * 4), 1, 0),
    )  # fmt: skip
    # Five values along a line: every second bucket shows the next two.
    line = [(bucket([[0], [1]] if v % 2 == 0 else [[1], [0]], [v, v + 1]), 6, 1) for v in range(4)]
    yield shape("five values along a line", (2, 5), two, *line)
    # Two sets of codes that flip alone, tied to each other by a single bucket.
    yield shape(
        "two sets tied by one bucket", (4, 2), two, (bucket([[0], [1]], [0, 1]), 30, 4),
        (bucket([[2], [3]], [0, 1]), 30, 5), (bucket([[0], [3]], [0, 1]), 1, 0),
        (bucket([[0], [0], [1]], [0, 0, 1]), 1, 0),
    )  # fmt: skip
    # The first look at each attribute says one thing, both together the other; a third one says nothing.
    a, b, c, d = (0, 0, 0), (1, 1, 0), (1, 0, 0), (0, 1, 1)
    yield shape(
        "misled, beside a column that says nothing", (2, 2, 2, 2), ((0, 1, 2), (3,)),
        (bucket([a, b], [0, 1]), 60, 0), (bucket([a, c], [0, 1]), 5, 0), (bucket([b, d], [0, 1]), 3, 0),
        (bucket([a, a, b], [0, 0, 1]), 20, 0), (bucket([a, a, a], [0, 1, 1]), 6, 0),
        (bucket([b, b, b], [0, 0, 1]), 6, 0),
    )  # fmt: skip


def sixteen_shapes() -> Iterator[Shape]:
    """Three modes, attributes that nearly determine each other, one large bucket beside tiny ones, duplicated rows, two
    secrets, order recoding, slices of three blocks: for the session of 18 November 2026, night."""
    two, three, sliced = ((0,), (1,)), ((0, 1), (2,)), ((0,), (1,), (2,))
    yield shape(
        "three of six ways round", (3, 3), two, (bucket([[0], [1], [2]], [0, 1, 2]), 9, 2),
        (bucket([[0], [1]], [0, 1]), 4, 1), (bucket([[1], [2]], [1, 2]), 4, 1), (bucket([[2], [0]], [2, 0]), 4, 1),
        (bucket([[0], [0], [1]], [0, 0, 2]), 1, 0),
    )  # fmt: skip
    yield shape(
        "one of two attributes determines the other, nearly", (2, 2, 2, 2), ((0, 1, 2), (3,)),
        (bucket([[0, 0, 0], [1, 1, 1]], [0, 1]), 20, 3), (bucket([[0, 0, 1], [1, 1, 0]], [0, 1]), 16, 3),
        (bucket([[0, 1, 0], [1, 0, 1]], [0, 1]), 2, 1), (bucket([[0, 0, 0], [0, 1, 0], [1, 1, 1]], [0, 0, 1]), 1, 0),
        beta=0.05,
    )  # fmt: skip
    crowd = bucket([[0]] * 30 + [[1]] * 20 + [[2]] * 20, [0] * 40 + [1] * 30)
    yield shape("one large bucket, thirty tiny ones", (3, 2), two, (crowd, 1, 0), (bucket([[0], [1]], [0, 1]), 18, 3),
                (bucket([[1], [2]], [0, 1]), 12, 5))  # fmt: skip
    yield shape("one large bucket against thirty tiny ones", (3, 2), two,
                (bucket([[0]] * 30 + [[1]] * 20 + [[2]] * 20, [1] * 28 + [0] * 42), 1, 0),
                (bucket([[0], [1]], [0, 1]), 18, 9), (bucket([[0], [2]], [1, 0]), 12, 6), beta=0.3)  # fmt: skip
    a, b, c, d = [0, 0], [1, 1], [0, 1], [1, 0]
    yield shape(
        "everybody twice", (2, 2, 2), three, (bucket([a, a, b, b], [0, 0, 1, 1]), 12, 2),
        (bucket([c, c, d, d], [0, 0, 1, 1]), 8, 4), (bucket([a, a, d, d], [0, 1, 1, 1]), 3, 0),
        (bucket([a, a, b, b], [0, 0, 0, 1]), 3, 0),
    )  # fmt: skip
    yield shape(
        "everybody four times, alike", (2, 2, 2), three, (bucket([a] * 4 + [b] * 4, [0] * 4 + [1] * 4), 10, 3),
        (bucket([c] * 4 + [d] * 4, [0] * 4 + [1] * 4), 6, 3), beta=0.2,
    )  # fmt: skip
    secrets = ((0, 1), (2, 3))
    beside = [
        ((((0,), (0,)), ((1,), (1,))), (((0,), (0,)), ((1,), (1,)))),
        ((((0,), (1,)), ((1,), (0,))), (((2,), (0,)), ((0,), (1,)))),
        ((((0,), (0,)), ((1,), (0,))), (((1,), (1,)), ((2,), (0,)))),
    ]
    yield shape("two secrets side by side", (2, 2, 3, 2), secrets, (beside[0], 20, 3), (beside[1], 12, 4),
                (beside[2], 6, 0), known=(0, 1))  # fmt: skip
    yield shape("two secrets, one of them known", (2, 2, 3, 2), secrets, (beside[0], 14, 6), (beside[1], 10, 5),
                (beside[2], 8, 3), known=(0, 2), beta=0.3)  # fmt: skip
    spans = [(0, 1), (1, 2), (2, 3), (0, 1, 2)]
    for beta in (0.1, 1.0):
        yield shape(
            f"order recoding, spans that overlap, beta {beta}", (4, 2), ((0, 1),),
            *(((((span, (s,)),),), n, 0) for s, counts in ((0, (6, 2, 5, 3)), (1, (1, 5, 6, 2)))
              for span, n in zip(spans, counts, strict=True)), beta=beta,
        )  # fmt: skip
    open_ = [((((0, 1),), ((1, 2),)), (((0,),), ((1,),))), ((((1, 2),), ((2, 3),)), (((0,),), ((1,),))),
             ((((2, 3),), ((0, 1),)), (((0,),), ((1,),)))]  # fmt: skip
    yield shape(
        "order recoding in buckets", (4, 2), two, (open_[0], 4, 1), (open_[1], 3, 0), (open_[2], 3, 2), beta=0.4
    )
    pair, same = (((0,),), ((1,),)), (((0,),), ((0,),))
    one_two = (((1,),), ((2,),))
    yield shape("three slices, three values", (2, 2, 3), sliced, ((pair, pair, pair), 12, 2),
                ((pair, pair, one_two), 10, 3), ((same, pair, pair), 6, 2))  # fmt: skip
    yield shape(
        "three slices, one beside the value", (2, 2, 2, 2), ((0,), (1,), (2, 3)),
        ((pair, pair, (((0,), (0,)), ((1,), (1,)))), 14, 3), ((pair, pair, (((1,), (0,)), ((0,), (1,)))), 9, 4),
        ((pair, same, (((0,), (0,)), ((0,), (1,)))), 6, 1),
    )  # fmt: skip
    path = [(bucket([[i], [i + 1]], [0, 1] if i % 2 else [1, 0]), 3, i % 2) for i in range(7)]
    yield shape("eight codes on a path", (8, 2), two, *path, beta=0.02)
    yield shape(
        "two pairs of values, each way round, and both", (4, 4), two, (bucket([[0], [1]], [0, 1]), 12, 2),
        (bucket([[2], [3]], [2, 3]), 12, 3), (bucket([[0], [1], [2], [3]], [0, 1, 2, 3]), 2, 1),
        (bucket([[0], [2]], [0, 3]), 1, 0),
    )  # fmt: skip
    yield shape(
        "three thousand people, told by a dozen", (2, 2, 2), three, (bucket([a, b], [0, 1]), 1400, 200),
        (bucket([c, d], [0, 1]), 60, 25), (bucket([a, c, b], [0, 0, 1]), 4, 0),
    )  # fmt: skip


def morning_shapes() -> Iterator[Shape]:
    """Thirteen for 19 November 2026: secrets apart, a cycle of three values, symmetries that nearly hold, a bucket of a
    hundred, three slices with wide cells and withheld values, pseudo-counts from 0.01 to 5, three thousand rows."""
    two, three, sliced = ((0,), (1,)), ((0, 1), (2,)), ((0,), (1,), (2,))
    # Two secrets in blocks of their own: both may flip, alone or together; known is what the first goes with.
    pair, same = (((0,),), ((1,),)), (((0,),), ((0,),))
    a_b, c_d = (((0,), (0,)), ((1,), (1,))), (((0,), (1,)), ((1,), (0,)))
    one_two = (((1,),), ((2,),))
    yield shape(
        "two secrets apart, the other one hidden", (2, 2, 3, 2), ((0, 1), (2,), (3,)), ((a_b, pair, pair), 16, 3),
        ((c_d, one_two, pair), 8, 3), ((a_b, same, pair), 5, 2), known=(0, 1), beta=0.5,
    )  # fmt: skip
    # Every reading fits a third of the buckets to the letter, and only turning all three values leads to the next.
    for beta, counts in ((0.01, (3, 3, 3)), (0.3, (4, 3, 3))):
        turn = [(bucket([[k], [k], [(k + 1) % 3]], [v, v, (v + 1) % 3]), counts[k], 0)
                for k in range(3) for v in range(3)]  # fmt: skip
        yield shape(f"a cycle of three values, beta {beta}", (3, 3), two, *turn, beta=beta)
    # Four readings, one narrow and high, one wide and low: how sure the codes are differs by reading.
    yield shape(
        "modes of different width", (4, 2), two, (bucket([[0], [1]], [0, 1]), 14, 2),
        (bucket([[0], [2]], [0, 1]), 9, 4), (bucket([[1], [3]], [0, 1]), 9, 4), (bucket([[2], [3]], [0, 1]), 9, 4),
        (bucket([[0], [1], [1]], [0, 1, 1]), 5, 0), beta=0.1,
    )  # fmt: skip
    # Two pairs of values, each a mirror of itself but for one bucket, and these two pull opposite ways.
    a, b, c, d = [0, 0], [1, 1], [0, 1], [1, 0]
    yield shape(
        "mirrors that nearly hold, pulled both ways", (2, 2, 4), three, (bucket([a, b], [0, 1]), 40, 6),
        (bucket([c, d], [2, 3]), 40, 6), (bucket([a, a, b], [0, 0, 1]), 1, 0), (bucket([c, d, d], [2, 3, 3]), 1, 0),
        (bucket([a, d], [0, 2]), 3, 1), (bucket([b, d], [1, 2]), 2, 1), beta=0.5,
    )  # fmt: skip
    crowd = bucket([[0]] * 50 + [[1]] * 30 + [[2]] * 20, [0] * 60 + [1] * 40)
    some = bucket([[0]] * 9 + [[1]] * 9 + [[2]] * 6, [0] * 12 + [1] * 12)
    few = bucket([[0]] * 2 + [[1]] * 4, [0] * 4 + [1] * 2)
    yield shape("buckets of 100, 24, 6 and 2", (3, 2), two, (crowd, 1, 0), (some, 1, 0), (few, 2, 0),
                (bucket([[1], [2]], [0, 1]), 7, 3))  # fmt: skip
    # One of three values is withheld from those whom it would tell apart; pseudo-counts above what is seen.
    yield shape(
        "withheld where it matters, beta 5", (2, 2, 3), three, (bucket([a, b], [0, 1]), 14, 2),
        (bucket([c, d], [-1, 2], 3), 5, 0), (bucket([a, d], [0, -1], 3), 4, 0), (bucket([b], [-1], 3), 3, 0),
        alpha=0.1, beta=5.0,
    )  # fmt: skip
    yield shape(
        "pseudo-counts of 5, both ways alike", (2, 2, 2), three, (bucket([a, b], [0, 1]), 300, 120),
        (bucket([a, c, b], [0, 0, 1]), 12, 6), (bucket([c, d], [0, 1]), 60, 30), alpha=5.0, beta=5.0,
    )  # fmt: skip
    # Slices whose attribute is generalised, whose value is withheld now and then.
    wide = (((0, 1),), ((1, 2),))
    either, unknown = (((0,),), ((2,),)), (((0,),), ((0, 1),))
    yield shape(
        "three slices, wide cells, values withheld", (3, 2, 2), sliced, ((wide, pair, pair), 2, 1),
        ((either, pair, pair), 10, 2), ((wide, same, unknown), 1, 0), ((either, pair, unknown), 2, 0), beta=0.3,
    )  # fmt: skip
    # Regions of two attributes that overlap, at almost no pseudo-counts.
    both = ((0,),), ((1,),)
    over = [((((0, 1), (0,)), ((1,), (0, 1))), both), ((((0,), (0, 1)), ((0, 1), (1,))), both),
            ((((0,), (0,)), ((1,), (1,))), both)]  # fmt: skip
    yield shape("regions that overlap, beta 0.01", (2, 2, 2), three, (over[0], 3, 1), (over[1], 3, 1), (over[2], 4, 1),
                beta=0.01)  # fmt: skip
    # Three thousand rows in which ten buckets close the circle of values.
    yield shape(
        "three thousand rows, three values", (3, 3), two, (bucket([[0], [1]], [0, 1]), 1000, 150),
        (bucket([[1], [2]], [1, 2]), 480, 200), (bucket([[2], [0]], [2, 0]), 10, 3), beta=0.1,
    )  # fmt: skip
    # Who knows the group and one attribute; the other attribute mirrors what this one says.
    yield shape(
        "a group and one attribute known, beta 0.1", (2, 2, 2), three, (bucket([a, b], [0, 1]), 30, 9),
        (bucket([c, d], [0, 1]), 26, 9), (bucket([a, c, d], [0, 1, 1]), 4, 1), (bucket([b, c, d], [0, 0, 1]), 4, 1),
        known=(1,), group_known=True, beta=0.1,
    )  # fmt: skip
    # Each attribute says which way round, one against the other, and a third one settles it in few buckets.
    e, f, g, h = [0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0]
    yield shape(
        "two attributes against each other, three values", (2, 2, 2, 3), ((0, 1, 2), (3,)),
        (bucket([e, f], [0, 1]), 22, 8), (bucket([g, h], [1, 2]), 12, 4), (bucket([e, g, h], [0, 0, 2]), 2, 0),
        (bucket([f, h], [1, 2]), 5, 2), beta=0.5,
    )  # fmt: skip
