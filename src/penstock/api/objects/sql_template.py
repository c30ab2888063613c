"""SQL with typed parts: `sql("SELECT {page} FROM {events} WHERE {page} = {home}", events=events, …)`.

In: a text and, by name, tables, columns, values and other SQL of it. Out: `SqlTemplate`, a text wherever SQL is given.
Invariants: a value becomes one literal, never a part of the SQL around it; braces in quotes and comments are left
alone; a name without a part is a parameter of the endpoint.
"""

from __future__ import annotations

import re
from typing import TypeAlias, Union

from penstock.api.objects.declarations import Declared, require_text
from penstock.api.objects.sql_literals import SqlValue, sql_literal
from penstock.errors import did_you_mean
from penstock.parse.sql_syntax.source_text import COMMENT, QUOTED

_PARTS = re.compile(rf"(?P<other>{COMMENT}|{QUOTED})|\{{(?P<name>[A-Za-z_]\w*)(?::(?:table|col|c))?\}}", re.DOTALL)
_MARK = re.compile(r"\{\{|\{%|\{#")


class TableColumn:
    """A column of a table in SQL, in quotes where it is written. Raises ValueError for a format that is none of a
    column's.

    >>> f"SELECT {events.columns.page} FROM {events}"
    'SELECT `page` FROM events'
    """

    def __init__(self, name: str):
        self.name = name

    def __str__(self) -> str:
        return f"`{self.name}`"

    def __format__(self, how: str) -> str:
        if how not in ("", "c", "col"):
            raise ValueError(f"a column is written as {{column}} or {{column:col}}, not as {how!r}")
        return str(self)


class TableColumns:
    """The columns of a table, by name: `events.columns.page`. Raises AttributeError for one that its model lacks."""

    def __init__(self, table: str, names: tuple[str, ...]):
        self._table = table
        self._names = names

    def __getattr__(self, name: str) -> TableColumn:
        if name.startswith("__") or name not in self._names:
            hint = did_you_mean(name, self._names)
            raise AttributeError(f"`{self._table}` has no column `{name}`{f': {hint}' if hint else ''}")
        return TableColumn(name)

    def __getitem__(self, name: str) -> TableColumn:
        """The same, for a name that is a word of Python."""
        return self.__getattr__(name)

    def __dir__(self) -> list[str]:
        return list(self._names)


class SqlTemplate(str):
    """SQL that `sql` made. It is a text, and says which names in it have no part yet.

    >>> sorted(sql("SELECT id FROM {events} WHERE page = {page}", events=events).parameters)
    ['page']
    """

    parameters: frozenset[str]

    def __new__(cls, text: str, parameters: frozenset[str] = frozenset()) -> SqlTemplate:
        made = super().__new__(cls, text)
        made.parameters = parameters
        return made


SqlPart: TypeAlias = Union[Declared, TableColumn, SqlTemplate, SqlValue]


def sql(text: str, /, **parts: SqlPart) -> SqlTemplate:
    """SQL with its parts put in: a table as its name, a column in quotes, other `sql(…)` as it is, and a value as one
    literal, whatever it holds. A `{name}` without a part is a parameter of the `Api` that has the SQL.

    Raises TypeError for a part that the text does not use, and for a value that SQL has not; a name that is left is a
    TypeError where no parameter can be.

    >>> home = sql("{page} = {path}", page=events.columns.page, path="/it's")
    >>> sql("SELECT id, at FROM {events} WHERE {home}", events=events, home=home)
    "SELECT id, at FROM events WHERE `page` = '/it\\\\'s'"
    >>> visits = View("home_visits", sql("SELECT id FROM {events} WHERE page = {path}", events=events, path="/"))
    """
    require_text("text of sql(…)", text)
    if parts and (_MARK.search(text) or text.lstrip().startswith("%")):
        raise TypeError("sql(…): this is a template of its own, which declares its parameters itself; give it no parts")
    used: set[str] = set()
    left: set[str] = set()

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0]
        if name not in parts:
            left.add(name)
            return found[0]
        used.add(name)
        part = parts[name]
        if isinstance(part, SqlTemplate):
            left.update(part.parameters)
        return str(part) if isinstance(part, (Declared, TableColumn, SqlTemplate)) else sql_literal(part)

    made = _PARTS.sub(written, text)
    unused = next((name for name in parts if name not in used), None)
    if unused is not None:
        hint = did_you_mean(unused, left) or f"write {{{unused}}} where it stands, outside of quotes"
        raise TypeError(f"sql(…): the text does not use `{unused}`: {hint}")
    return SqlTemplate(made, frozenset(left))


def require_query(what: str, value: object) -> None:
    """Raises TypeError for a value that is no SQL, or that has names which stand for nothing: only an endpoint has
    parameters."""
    require_text(what, value)
    if isinstance(value, SqlTemplate) and value.parameters:
        name = min(value.parameters)
        raise TypeError(f"the {what} has no part `{name}`: give it to sql(…, {name}=…); only an Api has parameters")
