"""From a place in a datafile that was made to the place in Python that it was made from.

In: places of datafiles. Out: places of Python. Invariant: a place of a file that was not made is left as it is, so all
problems of a project can be led through here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.errors import Location, Problem
from penstock.model.quick_dataclass import dataclass

INDENT = "    "
"""What stands before each line of a block that is made."""

_DATAFILES = (".datasource", ".pipe")


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """For each file that was made, the file, line and column in Python of each of its lines, and whether the text of
    the line stands there: then the column is that of what follows the indent of a block."""

    by_file: Mapping[str, Sequence[tuple[str, int, int, bool]]]
    main: str = ""
    """The file of the project's module; empty for a project of datafiles."""
    files: Container[str] = ()
    """The files of the project, also those that were made."""

    def locate(self, place: Location) -> Location:
        """The place in Python, or the place itself. A datafile that is not there is one that a former version of the
        project was made into: what is said of it, such as that it is removed, is said of the module."""
        lines = self.by_file.get(place.file)
        if not lines and self.main and place.file.endswith(_DATAFILES) and place.file not in self.files:
            return Location(self.main)
        if not lines:
            return place
        file, line, column, is_same = lines[min(max(place.line, 1), len(lines)) - 1]
        moved = column + place.column - len(INDENT) - 1 if is_same else column
        return Location(file, line, max(moved, 1))

    def problems(self, found: Iterable[Problem]) -> tuple[Problem, ...]:
        """Problems with their places in Python."""
        return tuple(replace(each, location=self.locate(each.location)) if each.location else each for each in found)

    def file(self, path: str) -> str:
        """The file of Python that a datafile was made from, or the path itself."""
        return self.locate(Location(path)).file


PLACES_OF_DATAFILES = SourcePlaces({})
