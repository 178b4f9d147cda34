"""Numba kernels: arrays and a key in, arrays out; no unveil imports but kernels. Compiled once, cached on disk."""
