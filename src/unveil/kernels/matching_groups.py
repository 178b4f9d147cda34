"""Which groups a tuple matches: tuples counted by the set of groups that are left, and the groups of given tuples."""

import numpy as np
from numba import njit

__all__ = ["common_groups", "narrow", "tally", "warm"]


@njit(cache=True, nogil=True)
def _meet(groups, start, atom, count, touched):
    """Count the atoms of these groups; how many there are, listed in `touched`, and how many entries."""
    found, entries = 0, 0
    for g in groups:
        for e in range(start[g], start[g + 1]):
            a = atom[e]
            if count[a] == 0:
                touched[found] = a
                found += 1
            count[a] += 1
        entries += start[g + 1] - start[g]
    return found, entries


@njit(cache=True, nogil=True)
def narrow(set_start, set_group, times, start, atom, atoms, weight, prime, singles, most):
    """One more choice: every set of groups with every atom that one of its groups holds; equal results become one.

    Set i is `set_group[set_start[i]:set_start[i + 1]]` (int32, growing), reached by `times[i]` (int64, a residue by
    each `prime`) tuples. Group g holds the atoms `atom[start[g]:start[g + 1]]` (int32, each once), atom a standing for
    `weight[a]` values (residues). What is left with one group is added to `singles[g]`, unless that has no rows: then
    it is a set like others. Stops when more than `most` pairs of a group and an atom were met.
    Returns the new sets, their times, and the pairs met (over `most`: nothing else counts).
    Cost: the pairs of a group in a set and an atom that it holds.
    """
    primes = len(prime)
    keep_singles = len(singles) == 0
    new_start = np.zeros(1025, np.int64)
    new_group = np.empty(4096, np.int32)
    new_times = np.zeros((1024, primes), np.int64)
    new_hash = np.zeros(1024, np.uint64)
    slot = np.full(4096, -1, np.int64)
    sets, used, met = 0, 0, 0
    count = np.zeros(atoms, np.int64)
    place = np.zeros(atoms, np.int64)
    touched = np.empty(atoms, np.int64)
    listed = np.empty(64, np.int32)
    for i in range(len(set_start) - 1):
        found, pairs = _meet(set_group[set_start[i] : set_start[i + 1]], start, atom, count, touched)
        met += pairs
        if met > most:
            return new_start[:1], new_group[:0], new_times[:0], met
        if pairs > len(listed):
            listed = np.empty(2 * pairs, np.int32)
        at = 0
        for k in range(found):
            place[touched[k]] = at
            at += count[touched[k]]
        for j in range(set_start[i], set_start[i + 1]):
            g = set_group[j]
            for e in range(start[g], start[g + 1]):
                listed[place[atom[e]]] = g
                place[atom[e]] += 1
        for k in range(found):
            a = touched[k]
            size = count[a]
            first = place[a] - size
            count[a] = 0
            if size == 1 and not keep_singles:
                g = listed[first]
                for p in range(primes):
                    singles[g, p] = (singles[g, p] + times[i, p] * weight[a, p]) % prime[p]
                continue
            key = np.uint64(1469598103934665603)
            for q in range(first, first + size):
                key = (key ^ np.uint64(listed[q])) * np.uint64(1099511628211)
                key ^= key >> np.uint64(29)
            mask = np.uint64(len(slot) - 1)
            s = key & mask
            same = -1
            while slot[s] >= 0:
                n = slot[s]
                if new_hash[n] == key and new_start[n + 1] - new_start[n] == size:
                    same = n
                    for q in range(size):
                        if new_group[new_start[n] + q] != listed[first + q]:
                            same = -1
                            break
                    if same >= 0:
                        break
                s = (s + np.uint64(1)) & mask
            if same < 0:
                if sets + 1 >= len(new_hash):
                    new_start = _grown(new_start, 2 * len(new_hash) + 1)
                    new_hash = _grown(new_hash, 2 * len(new_hash))
                    wider = np.zeros((len(new_hash), primes), np.int64)
                    wider[:sets] = new_times[:sets]
                    new_times = wider
                if used + size > len(new_group):
                    new_group = _grown(new_group, 2 * (used + size))
                same = sets
                new_group[used : used + size] = listed[first : first + size]
                used += size
                sets += 1
                new_start[sets] = used
                new_hash[same] = key
                slot[s] = same
                if 3 * sets > len(slot):
                    slot = np.full(4 * len(slot), -1, np.int64)
                    mask = np.uint64(len(slot) - 1)
                    for n in range(sets):
                        s = new_hash[n] & mask
                        while slot[s] >= 0:
                            s = (s + np.uint64(1)) & mask
                        slot[s] = n
            for p in range(primes):
                new_times[same, p] = (new_times[same, p] + times[i, p] * weight[a, p]) % prime[p]
    return new_start[: sets + 1], new_group[:used], new_times[:sets], met


@njit(cache=True, nogil=True)
def _grown(array, size):
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def tally(set_start, set_group, times, start, atom, atoms, weight, prime, degrees):
    """The last choice: (degrees + 1, primes) how many tuples match that many groups. Arguments as in `narrow`."""
    found = np.zeros((degrees + 1, len(prime)), np.int64)
    count = np.zeros(atoms, np.int64)
    touched = np.empty(atoms, np.int64)
    for i in range(len(set_start) - 1):
        seen, _ = _meet(set_group[set_start[i] : set_start[i + 1]], start, atom, count, touched)
        for k in range(seen):
            a = touched[k]
            for p in range(len(prime)):
                found[count[a], p] = (found[count[a], p] + times[i, p] * weight[a, p]) % prime[p]
            count[a] = 0
    return found


@njit(cache=True, nogil=True)
def common_groups(which, start, group, copies, listed):
    """Of each target, how many groups fit it in every block, and in how many ways.

    `which` (targets, blocks) int64: the target's list in each block; list i is `group[start[i]:start[i + 1]]` (int64,
    growing) with `copies` (float64) cells that fit. The groups are also written to `listed` (int64), target by target,
    as far as it has room. Cost: the target's shortest list, by the logarithm of the others.
    """
    targets, blocks = which.shape
    degree = np.zeros(targets, np.int64)
    ways = np.zeros(targets, np.float64)
    at = 0
    for t in range(targets):
        lead = 0
        for b in range(1, blocks):
            if start[which[t, b] + 1] - start[which[t, b]] < start[which[t, lead] + 1] - start[which[t, lead]]:
                lead = b
        for e in range(start[which[t, lead]], start[which[t, lead] + 1]):
            g, product = group[e], copies[e]
            for b in range(blocks):
                if b != lead:
                    low, high = start[which[t, b]], start[which[t, b] + 1]
                    end = high
                    while low < high:
                        middle = (low + high) // 2
                        if group[middle] < g:
                            low = middle + 1
                        else:
                            high = middle
                    if low == end or group[low] != g:
                        product = 0.0
                        break
                    product *= copies[low]
            if product > 0:
                degree[t] += 1
                if at < len(listed):
                    listed[at] = g
                    at += 1
                ways[t] += product
    return degree, ways


def warm():
    """Compile every kernel here."""
    start, group = np.array([0, 1], np.int64), np.zeros(1, np.int32)
    one, prime = np.ones((1, 1), np.int64), np.array([7], np.int64)
    narrow(start, group, one, start, group, 1, one, prime, np.zeros((1, 1), np.int64), 10)
    tally(start, group, one, start, group, 1, one, prime, 1)
    common_groups(np.zeros((1, 1), np.int64), start, group.astype(np.int64), np.ones(1), np.zeros(0, np.int64))
