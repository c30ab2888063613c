"""Who may open the folder `.penstock`: its owner only.

In: the folder. Out: the folder with the mode 0700, its files 0600. Invariant: nobody else can read state, tokens or
logs; a folder that is open to a group and closed to others (0750, 0770) was shared on purpose and stays so.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from penstock.model.settings import Settings

OTHERS, GROUP, GROUP_AND_OTHERS = 0o007, 0o070, 0o077
log = logging.getLogger("penstock.serve")


def make_private(home: Path) -> None:
    """Create the folder, or close one that a former release left open, with the files directly in it."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = home.stat().st_mode
    shared = mode & GROUP and not mode & OTHERS
    closed = OTHERS if shared else GROUP_AND_OTHERS
    for path in (home, *home.iterdir()):
        _close(path, closed)


def create_private_files(settings: Settings) -> None:
    """Let this process and its children create files for their owner only. If tables or raw rows are kept in folders of
    their own, others may be meant to read these: then the user's own umask stays."""
    if "warehouse" not in settings.catalog and settings.inbox.folder is None:
        os.umask(os.umask(GROUP_AND_OTHERS) | GROUP_AND_OTHERS)


def _close(path: Path, closed: int) -> None:
    """Take these bits from the mode of a file or folder; links lead elsewhere and stay."""
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & closed and not path.is_symlink():
            path.chmod(mode & ~closed)
    except OSError as error:  # it is another user's, or has just been removed
        log.warning("the mode of %s stays as it is: %s", path, error.strerror)
