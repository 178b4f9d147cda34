"""A report that was opened in a browser."""

from dataclasses import dataclass, field

from playwright.sync_api import Page

__all__ = ["Opened"]


@dataclass
class Opened:
    """A page of a report and what happened on it."""

    page: Page
    said: list[str] = field(default_factory=list)  # console and page errors
    asked: list[str] = field(default_factory=list)  # requests that wanted to leave
    refused: list[tuple[str, str]] = field(default_factory=list)  # requests that failed, and why
    dialogs: list[str] = field(default_factory=list)
