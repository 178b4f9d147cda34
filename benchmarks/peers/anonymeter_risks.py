"""Anonymeter's three attacks on one set of files: the risk of each with its ends, and CPU seconds.

Usage: anonymeter_risks.py TRUTH.csv CONTROL.csv SYNTHETIC.csv SECRET ATTACKS
"""

import json
import sys
import time
import warnings
from importlib.metadata import version

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

warnings.simplefilter("ignore")
truth, control, synthetic = (pd.read_csv(path) for path in sys.argv[1:4])
secret, attacks = sys.argv[4], int(sys.argv[5])
known = [name for name in truth.columns if name != secret]
half = len(known) // 2
evaluators = {
    "singling out": lambda: SinglingOutEvaluator(truth, synthetic, attacks, 3, control, seed=0),
    "linkability": lambda: LinkabilityEvaluator(truth, synthetic, (known[:half], known[half:]), attacks, 10, control),
    "inference": lambda: InferenceEvaluator(truth, synthetic, known, secret, n_attacks=attacks, control=control),
}
found = {}
for name, make in evaluators.items():
    made = make()
    begin = time.process_time()
    made.evaluate(**({"mode": "multivariate"} if name == "singling out" else {}))
    spent = time.process_time() - begin
    risk = made.risk()
    found[name] = {"seconds": spent, "value": risk.value, "low": risk.ci[0], "high": risk.ci[1]}
print(json.dumps({"version": version("anonymeter"), "risks": found}))
