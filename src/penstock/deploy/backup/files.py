"""Files that never change, in a second place: as hard links where that is possible, else copied.

In: files and where they go. Out: `CopiedFiles`. Invariant: a file is never written to after it was linked; what may be
written to is always copied.
"""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EACCES})
"""Another file system, or one without hard links."""


@dataclass(slots=True)
class CopiedFiles:
    """What was copied so far."""

    files: int = 0
    bytes: int = 0

    def link(self, source: Path, target: Path) -> None:
        """Link or copy a file that nobody writes to any more. One that is there already stays. Raises OSError."""
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            shutil.copyfile(source, target)
        self._count(target)

    def copy(self, source: Path, target: Path) -> None:
        """Copy a file. Raises OSError."""
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        self._count(target)

    def copy_tree(self, source: Path, target: Path, *, link: bool) -> None:
        """Copy the files below a folder; those that go meanwhile are left out. Raises OSError."""
        for here, _, names in os.walk(source):
            for name in names:
                path = Path(here, name)
                place = target / path.relative_to(source)
                try:
                    (self.link if link else self.copy)(path, place)
                except FileNotFoundError:
                    continue

    def _count(self, target: Path) -> None:
        self.files += 1
        self.bytes += target.stat().st_size
