"""anjana's k-anonymity by full-domain recoding: CPU seconds from its frame to the released one; the group of each row.

Usage: anjana_k.py CSV K HIERARCHIES GROUPS.npy, a folder with one CSV file without a header for each attribute.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity

path, k, folder, out = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
frame = pd.read_csv(path, dtype=str, keep_default_na=False)
known = list(frame.columns[:-1])
ladders = {
    name: dict(pd.read_csv(folder / f"{name}.csv", header=None, dtype=str, keep_default_na=False)) for name in known
}
begin = time.process_time()
made = k_anonymity(frame, [], known, k, 0, ladders)
spent = time.process_time() - begin
np.save(out, made.groupby(known, sort=False).ngroup().to_numpy())
print(json.dumps({"seconds": spent, "rows": len(made), "version": version("anjana")}))
