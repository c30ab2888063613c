"""A folder made a project: from an example, or from the datafiles that are in it already.

In: a folder, and the files that it would get. Out: the files written. Invariant: an existing file is never overwritten;
only a `.gitignore` without the server's own folder gets one more line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.client.project_server import HOME, SETTINGS_FILE
from penstock.errors import Conflict

SETTINGS = b"""# The folder with this file is a Penstock project. Every setting has a default.
dialect = "clickhouse"
"""
_GITIGNORE = ".gitignore"


def make_project(folder: Path, files: Mapping[str, bytes] | None = None) -> list[str]:
    """Write the files that the folder lacks, always its settings and its `.gitignore`; the result names those written.
    Raises Conflict if it has settings already, or cannot be written."""
    if (folder / SETTINGS_FILE).exists():
        raise Conflict(
            f"{folder / SETTINGS_FILE} exists already", hint="the folder is a project: `penstock up` starts it"
        )
    wanted = {SETTINGS_FILE: SETTINGS, **(files or {})}
    try:
        written = [path for path, content in sorted(wanted.items()) if _write_missing(folder / path, content)]
        return sorted([*written, *_ignore_server_files(folder)])
    except OSError as error:
        raise Conflict(f"{error.filename} cannot be written: {error.strerror}") from error


def _write_missing(target: Path, content: bytes) -> bool:
    if target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return True


def _ignore_server_files(folder: Path) -> list[str]:
    """Keep the server's own folder out of version control."""
    target, line = folder / _GITIGNORE, f"{HOME}/"
    before = target.read_text(encoding="utf-8", errors="surrogateescape") if target.exists() else ""
    if {line, HOME, f"/{line}", f"/{HOME}"} & set(before.split()):
        return []
    gap = "\n" if before and not before.endswith("\n") else ""
    target.write_text(f"{before}{gap}{line}\n", encoding="utf-8", errors="surrogateescape")
    return [_GITIGNORE]
