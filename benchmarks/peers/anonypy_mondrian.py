"""anonypy's Mondrian: CPU seconds to cut, and from the file to the released rows; the group of each row.

Usage: anonypy_mondrian.py CSV K GROUPS.npy
"""

import json
import sys
import time
from importlib.metadata import version

import numpy as np
import pandas as pd
from anonypy import Preserver
from anonypy.mondrian import Mondrian

path, k, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def read():
    frame = pd.read_csv(path)
    for name in frame.columns[1:-1]:
        frame[name] = frame[name].astype("category")
    return frame


frame = read()
known, sensitive = list(frame.columns[:-1]), frame.columns[-1]
begin = time.process_time()
partitions = Mondrian(frame, known, sensitive).partition(k)
cut = time.process_time() - begin
begin = time.process_time()
rows = Preserver(read(), known, sensitive).anonymize_k_anonymity(k)
whole = time.process_time() - begin
group = np.empty(len(frame), dtype=np.int32)
for number, part in enumerate(partitions):
    group[part] = number
np.save(out, group)
print(
    json.dumps({"cut": cut, "whole": whole, "published": sum(r["count"] for r in rows), "version": version("anonypy")})
)
