"""Local files as Iceberg names them: `file:/a/b`, `file:///a/b` or `/a/b` are one path.

In: a location from a table's metadata. Out: a `Path`, or the same location in another folder. Invariant: what is not
inside the folder stays as it was; the way in which a location was written stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Failed

_LOCAL = re.compile(r"(?P<scheme>file:)?(?P<slashes>/+)(?P<rest>.*)", re.DOTALL)


class DamagedFile(Failed):
    """A file of a table is there and cannot be read: it was cut, overwritten, or the disk fails."""


def local_path(location: str) -> Path | None:
    """The path of a location on this machine's disk; None for any other storage."""
    found = _LOCAL.fullmatch(location)
    return Path("/" + found["rest"]) if found else None


@dataclass(frozen=True, slots=True)
class FolderMove:
    """A folder that was moved, or copied, with everything in it."""

    old: Path
    new: Path

    def moved(self, location: str) -> str:
        """The location where it is now."""
        found = _LOCAL.fullmatch(location)
        if found is None:
            return location
        path, old = f"/{found['rest']}", str(self.old)
        if path != old and not path.startswith(f"{old}/"):
            return location
        return f"{found['scheme'] or ''}{found['slashes']}{str(self.new)[1:]}{path[len(old) :]}"
