"""The files in which raw rows wait: NDJSON, written once, on disk before anybody is told so.

In: lines. Out: a file below the inbox folder. Called by `inbox` (write) and `landing` (read, in
Spark's workers). Invariant: a file that the batch log names is complete and never changes.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path


class DamagedSegment(Exception):
    """A segment whose size is not the one in the batch log."""


def write_segment(folder: Path, stream: str, lines: Sequence[bytes]) -> tuple[str, int]:
    """Write the lines to a new file and force it to disk. Returns its path below `folder` and its
    size in bytes. Raises OSError; a half-written file is removed."""
    name = f"{stream}/{uuid.uuid4().hex}.ndjson"
    path = folder / name
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            file.write(b"\n".join(lines) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    if made:
        _sync_folder(folder)
    return name, path.stat().st_size


def read_segment(path: Path, size: int) -> Iterator[bytes]:
    """The lines of a segment of that size. Raises DamagedSegment, FileNotFoundError."""
    content = path.read_bytes()
    if len(content) != size:
        raise DamagedSegment(f"{path.name} has {len(content)} bytes, the batch log says {size}")
    return iter(content[:-1].split(b"\n"))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
