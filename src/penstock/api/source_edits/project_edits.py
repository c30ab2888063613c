"""A project of datafiles and Python whose files are being edited.

In: a folder, and edits of the datafiles that the project is read as. Out: the project as it is then, and the new
contents of the user's own files. Invariant: a project whose Python is read again and is not exactly the one that is
wanted is refused, with what to write by hand; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.api.source_edits.column_changes import query_changes, table_changes
from penstock.api.source_edits.column_types import plain_type
from penstock.api.source_edits.enum_labels import NewMembers, new_labels, no_labels
from penstock.api.source_edits.field_text import Clause
from penstock.api.source_edits.project_copy import read_with
from penstock.api.source_edits.python_edits import CODE, PythonEdits, Stated, differing_clauses, python_line
from penstock.api.source_edits.source_text import SourceText
from penstock.errors import Conflict, InvalidProject, Location, Problem
from penstock.model import types as t
from penstock.model.datasource import DataSource
from penstock.model.project import Project
from penstock.parse.project_loader import load_files

_MOST_ROUNDS = 4
"""A clause that did not follow by itself is said in the next round."""
_MOST_SHOWN = 300


class CannotEditPython(Conflict):
    """What is to change in a project's Python cannot be edited there."""

    code = "cannot-edit-python"


@dataclass(frozen=True, slots=True)
class ProjectEdits:
    """A project with the edits so far."""

    folder: Path
    source: SourceProject
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """The files that are other ones than in the folder."""

    @property
    def files(self) -> Mapping[str, str]:
        """The project as datafiles."""
        return self.source.loaded.files

    def text(self, path: str) -> str:
        """The text of one of the user's files."""
        content = self._read(path) or b""
        return SourceText(path, content).text if path.endswith(".py") else content.decode()

    def with_edits(self, edits: Mapping[str, str]) -> ProjectEdits:
        """The project after edits of the datafiles that it is read as. Raises CannotEditPython."""
        own = {path: text.encode() for path, text in edits.items() if path not in self.source.places.by_file}
        wanted = load_files({**self.files, **edits})
        contents = {**self.contents, **own}
        if len(own) == len(edits):
            return ProjectEdits(self.folder, replace(self.source, loaded=wanted), contents)
        return self._python_edited(wanted.project, contents)

    def _python_edited(self, wanted: Project, contents: Mapping[str, bytes]) -> ProjectEdits:
        """Labels become members of an Enum; where that makes another project, such as one whose SQL is made of the
        members, they are the type of their field."""
        try:
            return self._edited_in_rounds(wanted, contents, new_labels)
        except CannotEditPython:
            if not _has_new_labels(self.source.loaded.project, wanted):
                raise
        return self._edited_in_rounds(wanted, contents, no_labels)

    def _edited_in_rounds(
        self, wanted: Project, contents: Mapping[str, bytes], new_members: NewMembers
    ) -> ProjectEdits:
        """Edit, read again, and say in the next round what did not follow by itself."""
        stated: dict[tuple[str, str], frozenset[Clause]] = {}
        for _ in range(_MOST_ROUNDS):
            made = {**contents, **self._round(wanted, stated, new_members)}
            read = read_with(self.folder, made)
            differing = _differing(read.loaded.project, wanted)
            if not read.has_failed and not differing:
                return ProjectEdits(self.folder, read, made)
            more = _clauses_to_state(read.loaded.project, wanted) if not read.has_failed else {}
            if all(clauses <= stated.get(each, frozenset()) for each, clauses in more.items()):
                break
            stated = {each: more.get(each, frozenset()) | stated.get(each, frozenset()) for each in {*more, *stated}}
        raise self._refusal(read, wanted, differing)

    def _round(self, wanted: Project, stated: Stated, new_members: NewMembers) -> dict[str, bytes]:
        places, project = self.source.places, self.source.loaded.project
        made = [each for each in project.datasources if each.location.file in places.by_file]
        tables = [each for each in table_changes(project, wanted) if each.before in made]
        queries = [each for each in query_changes(project, wanted) if each.before.location.file in places.by_file]
        classes = {each.name: self._class_place(each) for each in made}
        attempt = PythonEdits(self._read, places, made, classes, stated, new_members)
        contents = attempt.edit(tables, queries)
        if attempt.problems:
            raise CannotEditPython("the project's Python is not edited, and nothing is written", attempt.problems)
        return contents

    def _class_place(self, table: DataSource) -> Location:
        """Where the class of a table is defined: the place of its SCHEMA."""
        path = table.location.file
        line = self.files[path].split("\n").index("SCHEMA >") + 1
        return self.source.places.locate(Location(path, line))

    def _read(self, path: str) -> bytes | None:
        """The content of a file of the project, with the edits so far; None for a file that is elsewhere."""
        if path in self.contents:
            return self.contents[path]
        place = self.folder / path
        return place.read_bytes() if not Path(path).is_absolute() and place.is_file() else None

    def _refusal(self, read: SourceProject, wanted: Project, differing: Mapping[str, str]) -> CannotEditPython:
        message = "the project's Python would be another one than the migration needs, and nothing is written"
        problems = list(read.places.problems(read.loaded.errors))
        for name, hint in differing.items() if not read.has_failed else ():
            resource = self.source.loaded.project.datasource(name) or self.source.loaded.project.pipe(name)
            place = self.source.places.locate(resource.location) if resource is not None else None
            problems.append(Problem(CODE, f"`{name}` cannot be edited so that it is what it must be", place, hint))
        return CannotEditPython(message, problems)


def edited_project(folder: Path) -> ProjectEdits:
    """The project of a folder. Raises InvalidProject for Python that cannot be read, and NotFound."""
    source = load_source_folder(folder)
    if source.has_failed:
        raise InvalidProject("the project's Python has problems", list(source.places.problems(source.loaded.errors)))
    return ProjectEdits(folder.resolve(), source)


def _has_new_labels(project: Project, wanted: Project) -> bool:
    """Whether a column of labels changes."""
    return any(
        isinstance(plain_type(column.type)[0], t.Enum) and pair.after.column(column.name) != column
        for pair in table_changes(project, wanted)
        for column in pair.before.columns
    )


def _differing(read: Project, wanted: Project) -> dict[str, str]:
    """The names of the resources that are not as wanted, with what is to be written by hand."""
    found: dict[str, str] = {}
    for each in wanted.datasources:
        if read.datasource(each.name) != each:
            found[each.name] = _wanted_columns(read.datasource(each.name), each)
    for pipe in wanted.pipes:
        if read.pipe(pipe.name) != pipe:
            found[pipe.name] = f"its SQL is to be: {pipe.nodes[-1].sql.text}"[:_MOST_SHOWN]
    names = {*wanted.names}
    more = [each for each in read.names if each not in names]
    return {**found, **dict.fromkeys(more, "the project did not have it before")}


def _wanted_columns(read: DataSource | None, wanted: DataSource) -> str:
    others = [each for each in wanted.columns if read is None or read.column(each.name) != each]
    gone = [each.name for each in read.columns if wanted.column(each.name) is None] if read is not None else []
    said = [f"write in its model: {'; '.join(map(python_line, others))}"] if others else []
    said += [f"its model has no {', '.join(gone)} any more"] if gone else []
    return "; ".join(said)[:_MOST_SHOWN] or "its columns are in another order, or its options are other ones"


def _clauses_to_state(read: Project, wanted: Project) -> dict[tuple[str, str], frozenset[Clause]]:
    """The clauses that columns lack which are there under their names."""
    found = {}
    for table in wanted.datasources:
        made = read.datasource(table.name)
        for column in table.columns if made is not None else ():
            there = made.column(column.name) if made is not None else None
            if there is not None and there != column:
                found[table.name, column.name] = differing_clauses(there, column)
    return found
