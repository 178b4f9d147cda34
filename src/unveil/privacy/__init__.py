"""Privacy: models and their levels, the distances they use, and what readers may know beforehand."""
