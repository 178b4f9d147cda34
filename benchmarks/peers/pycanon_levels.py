"""pycanon's levels of a released CSV whose last column is sensitive, and prosecutor risk from its equivalence classes.

Usage: pycanon_levels.py CSV
"""

import json
import sys
from importlib.metadata import version

import pandas as pd
from pycanon import anonymity
from pycanon.anonymity.utils.aux_anonymity import get_equiv_class

frame = pd.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
known, sensitive = list(frame.columns[:-1]), [frame.columns[-1]]
sizes = [len(rows) for rows in get_equiv_class(frame, known)]
alpha, k = anonymity.alpha_k_anonymity(frame, known, sensitive)
found = {
    "k_anonymity": anonymity.k_anonymity(frame, known),
    "distinct_l": anonymity.l_diversity(frame, known, sensitive),
    "entropy_l": anonymity.entropy_l_diversity(frame, known, sensitive),
    "alpha_k": alpha,
    "beta_likeness": anonymity.basic_beta_likeness(frame, known, sensitive),
    "delta_disclosure": anonymity.delta_disclosure(frame, known, sensitive),
    # By definition (El Emam and Dankar 2008): one over the size of a person's class.
    "prosecutor_risk.max": 1 / min(sizes),
    "prosecutor_risk.mean": len(sizes) / len(frame),  # the people of a class add up to 1
}
levels = {name: float(value) for name, value in found.items()}
print(json.dumps({"version": version("pycanon"), "classes": len(sizes), "levels": levels}))
