"""pycanon's t-closeness of a released CSV whose last column is sensitive: the level and CPU seconds.

Usage: pycanon_t.py CSV
"""

import json
import sys
import time
from importlib.metadata import version

import pandas as pd
from pycanon import anonymity

frame = pd.read_csv(sys.argv[1], dtype=str)
known, sensitive = list(frame.columns[:-1]), [frame.columns[-1]]
begin = time.process_time()
level = anonymity.t_closeness(frame, known, sensitive)
spent = time.process_time() - begin
print(json.dumps({"level": float(level), "seconds": spent, "version": version("pycanon")}))
