"""Which of a group's values each of its people can have, if everybody must have one (Li 2010, definition 3.4.1).

A value is valid for a person if the rest of the group can still be matched. Once one perfect matching is known, person
i can take the value of person j exactly if i → j lies on a cycle of "can take the value of": inside one strongly
connected component. All groups go into one graph, in which values stand between the people: rows · values edges.
"""

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError

__all__ = ["some_sharing", "valid_kinds", "valid_values"]


def valid_values(
    group: NDArray[np.integer], value: NDArray[np.integer], possible: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(people, values) the valid values; `value` is any perfect matching, for instance the truth."""
    rows = np.arange(len(possible))
    if not possible[rows, value].all():
        raise UsageError("somebody has a value that the rules call impossible; use rules of confidence 1")
    holds = np.zeros(possible.shape, dtype=bool)
    holds[rows, value] = True
    return valid_kinds(group, holds, possible)


def valid_kinds(group: NDArray[np.integer], holds: NDArray[np.bool_], possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(kinds, values) the same for kinds of people, of whom one or more hold each of some values."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    kinds, values = possible.shape
    group = np.asarray(group, dtype=np.int64)
    owner, held = np.nonzero(holds)
    slot, place = np.unique(group[owner] * values + held, return_inverse=True)  # a value of a group, held by somebody
    slot_of = np.full((int(group.max(initial=-1)) + 1) * values, -1, dtype=np.int64)
    slot_of[slot] = np.arange(len(slot))
    kind, wanted = np.nonzero(possible)
    there = slot_of[group[kind] * values + wanted]
    kind, wanted, there = kind[there >= 0], wanted[there >= 0], there[there >= 0]
    begin = np.concatenate([kind, kinds + place.reshape(-1)])
    end = np.concatenate([kinds + there, owner])
    nodes = kinds + len(slot)
    graph = csr_matrix((np.ones(len(begin), dtype=np.int8), (begin, end)), shape=(nodes, nodes))
    label = connected_components(graph, directed=True, connection="strong")[1]
    valid = np.zeros(possible.shape, dtype=bool)
    inside = label[kind] == label[kinds + there]
    valid[kind[inside], wanted[inside]] = True
    return valid


def some_sharing(
    group: NDArray[np.integer],
    people: NDArray[np.integer],
    possible: NDArray[np.bool_],
    counts: NDArray[np.integer],
) -> NDArray[np.int64]:
    """(kinds, values) how many people of each kind get each value, in some way to share out (groups, values) counts.

    By a largest flow from kinds to the values of their group: cost kinds · values, whatever the groups' size.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    kinds, values = possible.shape
    group = np.asarray(group, dtype=np.int64)
    kind, value = np.nonzero(possible & (counts[group] > 0))
    slots = counts.size
    source, sink = kinds + slots, kinds + slots + 1
    needed = np.flatnonzero(counts.ravel())
    begin = np.concatenate([np.full(kinds, source), kind, kinds + needed])
    end = np.concatenate([np.arange(kinds), kinds + group[kind] * values + value, np.full(len(needed), sink)])
    room = np.concatenate([people, people[kind], counts.ravel()[needed]]).astype(np.int32)
    graph = csr_matrix((room, (begin, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink).flow
    shared = np.zeros(possible.shape, dtype=np.int64)
    shared[kind, value] = np.asarray(flow[kind, kinds + group[kind] * values + value]).ravel()
    short = np.flatnonzero(shared.sum(axis=1) != people)
    if len(short):
        raise UsageError(
            f"what is known rules out group {int(group[short[0]]) + 1} of the release: "
            "its people cannot have its values"
        )
    return shared
