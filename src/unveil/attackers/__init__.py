"""Attackers: a release becomes a belief about each person. One file a member; they never see the original table.

posterior/ is what members share. `learner` is the baseline of every attribute risk: the reader who does
not know that the target is in the table.
"""
