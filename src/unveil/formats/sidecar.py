"""release.toml, which stands beside a release and says what its table alone does not."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unveil.data.toml import read_toml
from unveil.errors import ReleaseError
from unveil.formats.arx import read_project

__all__ = ["Sidecar", "is_sidecar", "read_sidecar"]


class Sidecar(BaseModel):
    """release.toml: what the CSV alone does not say."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    group: str | None = None
    blocks: tuple[tuple[str, ...], ...] | None = None
    sensitive_table: str | None = None
    masked: tuple[str, ...] = ()
    channel: dict[str, tuple[tuple[float, ...], ...]] = Field(default_factory=dict)  # of masked columns, if published
    method: str = ""  # of masking, if published
    count: str | None = None


def read_sidecar(path: Path) -> Sidecar:
    """What stands beside a release, or in an ARX project; nothing said if there is no sidecar."""
    if path.parts and path.parts[0].lower() in ("sqlite:", "postgresql:", "postgres:"):
        raise ReleaseError(f"{path.parts[0]}//…: a release is a file, not a table in a database; export it as CSV")
    if not path.name:
        raise ReleaseError(f"{path}: is a folder; name a file in it")
    file = path.with_suffix(".toml")
    if not file.is_file() or not is_sidecar(file):
        return Sidecar(masked=read_project(path).masked if path.suffix.lower() == ".deid" else ())
    try:
        return Sidecar.model_validate(read_toml(file, ReleaseError))
    except ValidationError as error:
        fault = error.errors()[0]
        key = tuple(str(p) for p in fault["loc"])
        what = (
            "is unknown; a sidecar has group, blocks, sensitive_table, masked, channel, method, count"
            if fault["type"] == "extra_forbidden"
            else fault["msg"]
        )
        raise ReleaseError(f"{file}, {'.'.join(key) or 'sidecar'}: {what}") from None


def is_sidecar(file: Path) -> bool:
    """A TOML with [attributes] is a schema, not a sidecar."""
    try:
        return "attributes" not in read_toml(file, ReleaseError)
    except ReleaseError as error:
        raise ReleaseError(f"{error}; it stands beside the release") from None
