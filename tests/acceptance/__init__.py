"""Slow, whole runs that say whether the sampler may be believed; `make accept` writes docs/results/sampler.md."""
