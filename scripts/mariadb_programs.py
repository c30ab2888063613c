"""MariaDB's own programs, which the tests start a server with.

In: the machine. Out: their paths, if they are there; those tests are skipped otherwise. Only the standard library.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

PACKAGE = "mariadb-server-core"
HOW = "Debian and Ubuntu: apt-get install mariadb-server-core; macOS: brew install mariadb"
FOLDERS = "/usr/sbin:/usr/local/sbin:/usr/libexec"
"""Where Debian has servers, which the PATH of a user may not have."""


@dataclass(frozen=True)
class Programs:
    """The paths of what makes a data folder, and of the server."""

    install: str
    server: str


def programs() -> Programs | None:
    """The programs, if all are there."""
    folders = f"{os.environ.get('PATH', '')}:{FOLDERS}"
    found = [shutil.which(name, path=folders) for name in ("mariadb-install-db", "mariadbd")]
    return Programs(*found) if all(found) else None  # type: ignore[arg-type] - none of them is None
