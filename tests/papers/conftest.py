"""papers/ and realdata/ lie beside the package, not in it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
