"""What the caller of a query may read: names, rows of them, and the parameters that are set for it.

In: the permissions of a token. Out: checks, and the relation of a data source with the rows that may be read.
Invariants: a limit that cannot be kept to is Forbidden, never left out; a filter restricts every reading of its data
source in an answer, also that of a pipe, since it stands around the table itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from penstock.errors import Forbidden, InvalidQuery, Location, Problem
from penstock.model.datasource import DataSource, Text
from penstock.model.project import Project
from penstock.model.service_sources import SERVICE_SOURCES
from penstock.sql.compile import compile_expression
from penstock.template.render_frame import Parameter


def allow_all(name: str) -> bool:
    """The permission of a caller that may read every name."""
    return True


def allow_as_pipe(name: str) -> bool:
    """The permission of what an endpoint asks for its callers: all but records that no pipe may show them."""
    source = SERVICE_SOURCES.get(name)
    return source is None or not source.is_private


@dataclass(frozen=True, slots=True)
class CallerRights:
    """The rights of a caller."""

    may: Callable[[str], bool] = allow_all
    """Whether a name may be read; a pipe needs only its own permission, not those of what it reads."""
    fixed: Mapping[str, Parameter] = field(default_factory=dict)
    """The parameters of a call, whatever it sends itself."""
    filters: Mapping[str, str] = field(default_factory=dict)
    """The condition for the rows that may be read, in ClickHouse's dialect, by the data source."""
    granted: Callable[[str], bool] | None = None
    """Whether the caller's token names what is read; None: `may` says that."""

    def check_name(self, name: str) -> None:
        """Raises Forbidden if the caller may not read the name."""
        if not self.may(name):
            raise Forbidden(f"the token may not read `{name}`", hint=f"the scope `read:{name}` allows it")

    def check_all_rows(self, name: str) -> None:
        """Raises Forbidden if the caller may read only some rows of a data source."""
        if name in self.filters:
            raise Forbidden(f"the token may read only some rows of `{name}`", hint="by SELECT and by endpoints")

    def check_filters(self, project: Project, read: Iterable[str]) -> None:
        """Raises Forbidden if a filter is for a name that is a pipe of the project; or for none, so that its rows may
        be under another name, while the caller reads a data source that its token does not name."""
        pipe = next((name for name in self.filters if project.pipe(name) is not None), None)
        if pipe is not None:
            message = f"the token filters rows of `{pipe}`, which is a pipe in this version"
            raise Forbidden(message, hint="a filter is for a data source; a pipe has `fixed_params`")
        gone = next((name for name in self.filters if project.datasource(name) is None), None)
        names = self.granted or self.may
        if gone is not None and any(project.datasource(name) is not None and not names(name) for name in read):
            message = f"the token filters rows of `{gone}`, which this version has not, and a pipe reads other rows"
            hint = "they may be the same under a new name: a token for this version filters what it reads"
            raise Forbidden(message, hint=hint)

    def check_fixed(self, endpoint: str, read: Collection[str]) -> None:
        """Raises Forbidden if a fixed parameter is none of those that an endpoint read for this call."""
        unread = next((name for name in sorted(self.fixed) if name not in read), None)
        if unread is not None:
            message = f"the token fixes the parameter `{unread}`, which `{endpoint}` does not read in this call"
            hint = "without it the answer would not be restricted; the template has to read it in each of its branches"
            raise Forbidden(message, hint=hint)

    def readable_rows(self, source: DataSource | None, relation: str) -> str:
        """The relation of a data source with the rows that the caller may read. Raises Forbidden."""
        condition = self.filters.get(source.name) if source is not None else None
        if source is None or condition is None:
            return relation
        return f"(SELECT * FROM {relation} WHERE ({_compile_filter(source, condition)}) = 1)"


NO_LIMITS = CallerRights()
"""Of a caller that may read everything."""


_CONDITION_HINT = "write the condition alone, such as org = 7"
_STATEMENT = re.compile(r"\s*(SELECT|WHERE|WITH)\b", re.IGNORECASE)


def _compile_filter(source: DataSource, condition: str) -> str:
    """The Spark SQL of 1 for the rows of a condition. Raises Forbidden."""
    place = Location(f"filter of {source.name}")
    try:
        compile_expression(Text(condition, place), source.columns)  # so that it is one expression
        return compile_expression(Text(f"if({condition}\n, 1, 0)", place), source.columns).sql
    except InvalidQuery as error:
        problems = _no_condition(condition, place) or error.problems
        cause = problems[0].message if problems else error.message
        message = f"the token's filter of `{source.name}` cannot be kept to in this version: {cause}"
        raise Forbidden(message, problems) from error


def _no_condition(condition: str, place: Location) -> tuple[Problem, ...]:
    """What is wrong with a filter that is something else than a condition; nothing if it looks like one."""
    begins = _STATEMENT.match(condition)
    if begins is not None:
        return (Problem("invalid-sql", f"it begins with {begins[1].upper()}", place, _CONDITION_HINT),)
    if condition.rstrip().endswith(";"):
        return (Problem("invalid-sql", "it ends with `;`", place, _CONDITION_HINT),)
    if "{{" in condition:
        return (Problem("invalid-sql", "it is a template", place, "whoever signs the token writes the value into it"),)
    return ()
