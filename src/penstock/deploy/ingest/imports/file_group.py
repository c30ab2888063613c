"""Small files are taken together: their rows are stored at once, since storing takes longer than reading them.

In: files that wait, in their order. Out: `FileGroup`, those that come first. Invariants: each is whole, and none
between them is left out; one that is large, was begun, or cannot be read ends them, and is then taken by itself, where
it is said what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.deploy.ingest.row_files.file_ingestion import is_within_part
from penstock.lake.spark.cancellation import WorkCancelled
from penstock.state.positions.imported_files import ImportedFile

MOST_FILES = 1_000
"""The most files that are taken together."""
MOST_UNPACKED = 2**20
"""The most bytes of one of them, unpacked."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A small file with its rows."""

    file: ImportedFile
    """With the numbers of its rows that fit, and that do not."""
    lines: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are taken together."""

    files: tuple[ImportedFile, ...]
    lines: tuple[bytes, ...]


def read_file_group(
    waiting: Sequence[ImportedFile], read: Callable[[ImportedFile], ReadFile | None]
) -> FileGroup | None:
    """The first of the files, as far as they are small and their rows can be stored at once; None if these are not
    several. `read` gives nothing for a file that is none of them, and may raise."""
    files, lines, size = list[ImportedFile](), list[bytes](), 0
    for each in waiting:
        try:
            found = read(each)
        except WorkCancelled:
            raise
        except Exception:  # whatever it is, it is said when the file is taken by itself
            break
        if found is None:
            break
        size += sum(map(len, found.lines)) + len(found.lines)
        if not is_within_part(len(lines) + len(found.lines), size):
            break
        files.append(found.file)
        lines.extend(found.lines)
    return FileGroup(tuple(files), tuple(lines)) if len(files) > 1 else None
