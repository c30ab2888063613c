"""One attempt to carry changes of a project into its Python.

In: the project, the changes, and the clauses of columns that are to be said even where they seem to follow by
themselves. Out: the new contents of files, and what could not be edited. Invariant: nothing is written to disk.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.api.project.source_places import SourcePlaces
from penstock.api.source_edits.class_edits import (
    added_behind,
    added_fields,
    class_at,
    field_at,
    field_called,
    removed_fields,
)
from penstock.api.source_edits.column_changes import QueryChange, TableChange
from penstock.api.source_edits.enum_labels import NewMembers
from penstock.api.source_edits.field_text import CLAUSES, Clause, changed_field, new_field, says_path
from penstock.api.source_edits.module_names import ModuleNames
from penstock.api.source_edits.source_text import CannotEdit, Edit, SourceText
from penstock.api.source_edits.sql_edits import sql_edits
from penstock.errors import Location, Problem
from penstock.model.datasource import Column, DataSource
from penstock.model.json_path import path_of_key

Stated: TypeAlias = Mapping[tuple[str, str], frozenset[Clause]]
"""Clauses that are to be said, by data source and column."""


@dataclass(frozen=True, slots=True)
class FieldUse:
    """A column that a field of Python is, and what it becomes; None where it goes."""

    table: str
    before: Column
    after: Column | None


@dataclass(frozen=True)
class _Module:
    """A file with its edits so far."""

    source: SourceText
    names: ModuleNames
    edits: list[Edit] = field(default_factory=list)
    removed: dict[ast.ClassDef, list[ast.AnnAssign]] = field(default_factory=lambda: defaultdict(list))
    added: dict[ast.ClassDef, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass
class PythonEdits:
    """The edits of one attempt; files are read as they are needed."""

    read: Callable[[str], bytes | None]
    places: SourcePlaces
    tables: Sequence[DataSource]
    """All data sources that are made from Python, as they are."""
    classes: Mapping[str, Location]
    """Where the class of each of these is defined."""
    stated: Stated
    new_members: NewMembers
    """The members of an Enum that new labels become."""
    problems: list[Problem] = field(default_factory=list)
    _modules: dict[str, _Module] = field(default_factory=dict)

    def edit(self, tables: Sequence[TableChange], queries: Sequence[QueryChange]) -> dict[str, bytes]:
        """The new contents of the files that change; what cannot be edited is in `problems`."""
        changes = {each.before.name: each for each in tables}
        self._edit_fields(changes)
        self._add_columns(changes)
        for each in queries:
            place = self.places.locate(each.before.location)
            with self._problem_at(place, f"the SQL of `{each.pipe}`", f"its new SQL: {each.after}"):
                module = self._module(place.file)
                module.edits.extend(sql_edits(module.source, place.line, each.before.text, each.after))
        return self._contents()

    def _edit_fields(self, changes: Mapping[str, TableChange]) -> None:
        uses: dict[Location, list[FieldUse]] = defaultdict(list)
        for table in self.tables:
            change = changes.get(table.name, TableChange(table, table))
            for column, made in change.pairs():
                uses[self.places.locate(column.location)].append(FieldUse(table.name, column, made))
        for place, found in uses.items():
            differing = [each for each in found if each.after != each.before or self._is_stated(each)]
            for each in differing:
                with self._problem_at(place, f"`{each.before.name}` of `{each.table}`", _by_hand(each)):
                    self._edit_field(place, each, found)

    def _is_stated(self, use: FieldUse) -> bool:
        return use.after is not None and (use.table, use.after.name) in self.stated

    def _edit_field(self, place: Location, use: FieldUse, uses: Sequence[FieldUse]) -> None:
        module = self._module(place.file)
        found = field_at(module.source, place.line, place.column)
        if found is None:
            raise CannotEdit("it is declared by no line of a class")
        owner, node = found
        others = [each for each in uses if each.table != use.table]
        if all((each.after, each.before) == (use.after, use.before) for each in others):
            if use.after is None:
                if node not in module.removed[owner]:
                    module.removed[owner].append(node)
                return
            module.edits.extend(self._changed(module, node, use))
            return
        shared = ", ".join(f"`{each.table}`" for each in others[:3])
        self._override(module, node, use, shared)

    def _changed(self, module: _Module, node: ast.AnnAssign, use: FieldUse) -> Iterator[Edit]:
        assert use.after is not None, "a column that goes is removed"
        source = module.source
        clauses = self._clauses(use, node, source)
        members = self.new_members(source, node, use.before.type, use.after.type) if "type" in clauses else None
        if members is not None:
            yield added_behind(source, members.owner, members.last, members.texts)
            clauses -= {"type"}
        if clauses:
            text = changed_field(node, source, use.after, module.names, clauses)
            yield Edit(source.start(node), source.end(node), text)

    def _override(self, module: _Module, node: ast.AnnAssign, use: FieldUse, shared: str) -> None:
        """Say a field anew in the class of the one table for which it changes. Raises CannotEdit."""
        own_module, own = self._class_of(use.table)
        is_own = own_module is module and node in own.body
        others = [each.name for each in self.tables if each.name != use.table]
        if is_own or any(self.classes[each] == self.classes[use.table] for each in others):
            raise CannotEdit(f"its class is that of {shared}, too")
        if use.after is None or use.after.name != use.before.name:
            raise CannotEdit(f"its class inherits it from one that {shared} has, too")
        if field_called(own, use.after.name) is not None:
            raise CannotEdit("its class declares it twice")
        if own_module is module:
            source = module.source
            text = changed_field(node, source, use.after, module.names, self._clauses(use, node, source))
        else:
            text = new_field(use.after, own_module.names)
        own_module.added[own].append(text)

    def _clauses(self, use: FieldUse, node: ast.AnnAssign, source: SourceText) -> frozenset[Clause]:
        """The clauses of a column that a field has to say."""
        assert use.after is not None, "a column that goes says nothing"
        found = differing_clauses(use.before, use.after)
        follows = use.after.json_path == path_of_key(use.after.name) and not says_path(node, source)
        if follows:  # the path of a field without one is its name
            found -= {"json_path"}
        return found | self.stated.get((use.table, use.after.name), frozenset())

    def _add_columns(self, changes: Mapping[str, TableChange]) -> None:
        for change in changes.values():
            name = change.before.name
            for column in change.added():
                hint = f"write in the class of `{name}`: {python_line(column)}"
                with self._problem_at(self.classes[name], f"the new column `{column.name}` of `{name}`", hint):
                    self._add_column(change, column, changes)

    def _add_column(self, change: TableChange, column: Column, changes: Mapping[str, TableChange]) -> None:
        name = change.before.name
        module, owner = self._class_of(name)
        for each in self.tables:
            is_shared = each.name != name and self.classes[each.name] == self.classes[name]
            if is_shared and (each.name not in changes or column not in changes[each.name].added()):
                raise CannotEdit(f"its class is that of `{each.name}`, too")
        stated = {*CLAUSES} - {"json_path"} if column.json_path in (None, path_of_key(column.name)) else {*CLAUSES}
        text = new_field(column, module.names, stated | self.stated.get((name, column.name), frozenset()))
        if text not in module.added[owner]:
            module.added[owner].append(text)

    def _class_of(self, table: str) -> tuple[_Module, ast.ClassDef]:
        place = self.classes[table]
        module = self._module(place.file)
        owner = class_at(module.source, place.line)
        if owner is None:
            raise CannotEdit("its model is defined by no class of a file")
        return module, owner

    def _module(self, path: str) -> _Module:
        if path not in self._modules:
            content = self.read(path)
            if content is None:
                raise CannotEdit(f"{path} is no file of the project")
            source = SourceText(path, content)
            try:
                self._modules[path] = _Module(source, ModuleNames(source))
            except (SyntaxError, ValueError, LookupError):
                raise CannotEdit(f"{path} cannot be read") from None
        return self._modules[path]

    @contextmanager
    def _problem_at(self, place: Location, what: str, hint: str) -> Iterator[None]:
        """Keep the reason why something is not edited, as a problem."""
        try:
            yield
        except CannotEdit as error:
            self.problems.append(Problem(CODE, f"{what} is not edited: {error}", place, hint))

    def _contents(self) -> dict[str, bytes]:
        made = {}
        for path, module in self._modules.items():
            with self._problem_at(Location(path), path, "edit it by hand"):
                edits = [*module.edits]
                for owner, fields in module.removed.items():
                    edits += removed_fields(module.source, owner, fields)
                for owner, texts in module.added.items():
                    edits.append(added_fields(module.source, owner, texts, module.removed.get(owner, ())))
                edits += module.names.imports()
                if edits:
                    made[path] = module.source.with_edits(edits)
        return made


CODE = "cannot-edit-python"


def differing_clauses(one: Column, other: Column) -> frozenset[Clause]:
    """The clauses in which two columns differ."""
    return frozenset(each for each in CLAUSES if getattr(one, each) != getattr(other, each))


def python_line(column: Column) -> str:
    """A column as a field that people write, with the names of the packages as they are."""
    try:
        return new_field(column, ModuleNames(SourceText("", b"")))
    except CannotEdit as error:
        return str(error)


def _by_hand(use: FieldUse) -> str:
    if use.after is None:
        return f"remove `{use.before.name}` from the model of `{use.table}` by hand"
    return f"write in the model of `{use.table}` by hand: {python_line(use.after)}"
