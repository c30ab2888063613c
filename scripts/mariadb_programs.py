"""MariaDB's own programs, which the tests start a server with.

In: the machine. Out: their paths, if they are there; those tests are skipped otherwise. Only the standard library.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

PACKAGES = ("mariadb-server-core", "mariadb-client-core")
"""Debian's; what makes a data folder asks a program of the second one."""
HOW = f"Debian and Ubuntu: apt-get install {' '.join(PACKAGES)}; macOS: brew install mariadb"
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
    names = ("mariadb-install-db", "mariadbd", "my_print_defaults")
    install, server, asked = (shutil.which(name, path=folders) for name in names)
    return Programs(install, server) if install and server and asked else None
