"""What the results of runs that are held against limits have in common: an audit, a link, a trial, a disclosure."""

from unveil.audit.document import Document, Verdict

__all__ = ["EXIT_CODES", "Judged"]

EXIT_CODES: dict[Verdict, int] = {"no limit": 0, "within": 0, "exceeded": 1, "inconclusive": 3}


class Judged:
    """A result whose document says how it stands to the limits."""

    __slots__ = ()
    document: Document

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings."""
        return self.document.diagnostics["verdict"]  # type: ignore[no-any-return]

    @property
    def exit_code(self) -> int:
        """0 within limits or none given, 1 exceeded, 3 inconclusive."""
        return int(self.document.diagnostics["exit_code"])
