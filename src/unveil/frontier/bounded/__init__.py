"""Releases bounded by threat: the most useful recoding of a table that keeps limits against readers who learn."""

from unveil.frontier.bounded.release import Bounded, bounded_release

__all__ = ["Bounded", "bounded_release"]
