"""unveil studio: the whole job in a browser."""

from dataclasses import dataclass
from pathlib import Path

import unveil.cli.options as opt
from unveil.cli.memory import memory_size
from unveil.cli.output import doing

__all__ = ["StudioOptions", "studio"]


@dataclass(frozen=True, kw_only=True)
class StudioOptions:
    """The options of the studio."""

    folder: Path = opt.argument("Where everything is kept; this folder if not given.", "FOLDER", default=Path())
    port: int = opt.option("The port; a free one if not given.", default=0)
    host: str = opt.option("Another address of this machine; needs a certificate.", default="127.0.0.1")
    certificate: Path | None = opt.option("A TLS certificate, for --host.", "FILE")
    private_key: Path | None = opt.option("Its private key.", "FILE")
    largest_upload: str = opt.option("The largest file that may be uploaded.", "SIZE", default="2G")
    browser: bool = opt.option("Open the address in a browser.", None, "--browser/--no-browser", default=True)


def studio(options: StudioOptions) -> None:
    """Do the whole job in a browser, on this machine.

    Prints an address that works once. Everything is kept in FOLDER as files that the other commands read.
    """
    from unveil.studio import serve

    doing("")  # it waits for a browser: nothing to say
    serve(
        options.folder,
        host=options.host,
        port=options.port,
        certificate=options.certificate,
        key=options.private_key,
        largest=memory_size(options.largest_upload, "--largest-upload"),
        opened=options.browser,
    )
