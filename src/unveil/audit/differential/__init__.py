"""Differential inference testing as a run: its document, and how it stands to limits."""

from unveil.audit.differential.run import Differential, run_differential

__all__ = ["Differential", "run_differential"]
