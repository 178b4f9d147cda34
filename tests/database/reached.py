"""How the tests reach their PostgreSQL server."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import adbc_driver_postgresql.dbapi as driver

__all__ = ["PASSWORD", "USER", "Server"]

USER, PASSWORD = "steward", "s3cret/p@ss#word"


@dataclass(frozen=True)
class Server:
    """A running server and how to reach it."""

    folder: Path

    def address(self, what: str, password: str = PASSWORD, options: str = "") -> str:
        login = f"{USER}:{quote(password, safe='')}"
        return f"postgresql://{login}@{quote(str(self.folder), safe='')}/postgres{options}#{what}"

    def run(self, *statements: str) -> None:
        with driver.connect(self.address("").partition("#")[0], autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
