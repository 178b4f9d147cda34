"""Which points lie in which boxes: both are halved together along one axis after the other, until few are left."""

import numpy as np
from numba import njit

__all__ = ["points_in_boxes", "warm"]

FEW = 4096  # pairs of a point and a box that are looked at one by one


@njit(cache=True, nogil=True)
def points_in_boxes(point, low, high):
    """(pairs,) point and (pairs,) box of every point inside a box, borders included.

    `point` (points, axes), `low` and `high` (boxes, axes) int32 codes. Cost: about the pairs found and the logarithm of
    the rest, where boxes overlap little.
    """
    points, axes = point.shape
    order = np.arange(points)
    boxes = np.arange(low.shape[0])
    found, inside, at = 0, np.empty(max(points, 16), np.int64), np.empty(max(points, 16), np.int64)
    stack = np.empty((16, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, points, 0, low.shape[0]
    depth = 1
    while depth:
        depth -= 1
        first, last, begin, end = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if first == last or begin == end:
            continue
        pairs = (last - first) * (end - begin)
        axis, cut, least = -1, 0, 0.9 * pairs
        if pairs > FEW:
            for a in range(axes):
                total, lowest, highest = 0.0, point[order[first], a], point[order[first], a]
                for i in range(first, last):
                    c = point[order[i], a]
                    total += c
                    lowest, highest = min(lowest, c), max(highest, c)
                if lowest == highest:
                    continue
                middle = min(np.int32(np.floor(total / (last - first))), highest - 1)
                left, left_boxes, right_boxes = 0, 0, 0
                for i in range(first, last):
                    left += point[order[i], a] <= middle
                for j in range(begin, end):
                    left_boxes += low[boxes[j], a] <= middle and high[boxes[j], a] >= lowest
                    right_boxes += high[boxes[j], a] > middle and low[boxes[j], a] <= highest
                cost = float(left) * left_boxes + float(last - first - left) * right_boxes
                if cost < least:
                    axis, cut, least = a, middle, cost
        if axis < 0:
            for i in range(first, last):
                p = order[i]
                for j in range(begin, end):
                    b = boxes[j]
                    fits = True
                    for a in range(axes):
                        if point[p, a] < low[b, a] or point[p, a] > high[b, a]:
                            fits = False
                            break
                    if fits:
                        if found == inside.shape[0]:
                            inside, at = _wider(inside), _wider(at)
                        inside[found], at[found] = p, b
                        found += 1
            continue
        middle, i, j = first, first, last - 1  # the points of the left half first
        while i <= j:
            if point[order[i], axis] <= cut:
                i += 1
            else:
                order[i], order[j] = order[j], order[i]
                j -= 1
        middle = i
        while boxes.shape[0] < end + 2 * (end - begin):
            boxes = _wider(boxes)
        right = end
        for j in range(begin, end):
            if high[boxes[j], axis] > cut:
                boxes[right] = boxes[j]
                right += 1
        left_end = right
        for j in range(begin, end):
            if low[boxes[j], axis] <= cut:
                boxes[left_end] = boxes[j]
                left_end += 1
        if depth + 2 > stack.shape[0]:
            more = np.empty((2 * stack.shape[0], 4), np.int64)
            more[:depth] = stack[:depth]
            stack = more
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = middle, last, end, right
        stack[depth + 1, 0], stack[depth + 1, 1] = first, middle
        stack[depth + 1, 2], stack[depth + 1, 3] = right, left_end
        depth += 2
    return inside[:found], at[:found]


@njit(cache=True, nogil=True)
def _wider(array):
    more = np.empty(2 * array.shape[0] + 2, np.int64)
    more[: array.shape[0]] = array
    return more


def warm():
    """Compile every kernel here."""
    points_in_boxes(np.zeros((2, 1), np.int32), np.zeros((1, 1), np.int32), np.ones((1, 1), np.int32))
