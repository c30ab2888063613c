"""The queries of one version of a project, compiled once for all who ask while it is compared and planned.

In: a project, and the queries of other versions or of parts of it. Out: compiled views and queries. Invariant: a view
is taken over from another version only if its pipe and everything that its SQL may read or write are equal in both,
so compiling it again would give the same.
"""

from __future__ import annotations

from functools import cached_property

from penstock.errors import InvalidQuery, Problem
from penstock.model.pipe import Materialized, Pipe
from penstock.model.project import Project
from penstock.plan.diff.sql_words import names_in_sql
from penstock.plan.quarantine_sources import is_quarantine, with_quarantines
from penstock.sql.compile import compile_copy, compile_pipe, compile_view
from penstock.sql.compiler.caller import Caller
from penstock.sql.compiler.shared_nodes import SharedNodes
from penstock.sql.query import CompiledView, Query, SourceRead


class ProjectQueries:
    """The queries of one project that were compiled so far. For one thread."""

    def __init__(self, project: Project, *others: ProjectQueries) -> None:
        self.project = project
        self.caller = Caller(nodes=SharedNodes())
        self._others = tuple(_OtherVersion(each, project) for each in others)
        self._views: dict[str, CompiledView] = {}

    @cached_property
    def readable(self) -> Project:
        """The project with the quarantines that queries may read."""
        return with_quarantines(self.project)

    def view(self, pipe: Pipe) -> CompiledView | None:
        """The view of a pipe, if it has one. Raises InvalidQuery, also for a view over a quarantine."""
        if pipe.materialized is None:
            return None
        if pipe.name not in self._views:
            known = (each.view_for(pipe) for each in self._others)
            self._views[pipe.name] = next(filter(None, known), None) or self._compile_view(pipe)
        return self._views[pipe.name]

    def query(self, pipe: Pipe) -> Query:
        """The query of a pipe, as it is without a call. Raises InvalidQuery."""
        view = self.view(pipe)
        if view is not None:
            return view.query
        if pipe.copied is None:
            return compile_pipe(self.readable, pipe, caller=self.caller)
        return compile_copy(self.readable, pipe, pipe.copied, caller=self.caller).query

    def known_view(self, name: str) -> CompiledView | None:
        """The view of a pipe, if it was compiled before."""
        return self._views.get(name)

    def _compile_view(self, pipe: Pipe) -> CompiledView:
        node = pipe.materialized
        assert node is not None, "asked for views only"
        view = compile_view(self.readable, pipe, node, self.caller)
        reads = (each.datasource for each in reads_of_view(view))
        found = next((name for name in reads if is_quarantine(self.project, name)), None)
        if found is not None:
            message = f"a materialized view cannot read `{found}`: rows leave it when they are replayed or cleared"
            hint = "a copy can store its rows, on a schedule"
            problem = Problem("unsupported-view", message, node.sql.location, hint)
            raise InvalidQuery(f"the pipe `{pipe.name}` cannot be compiled", [problem])
        return view


def reads_of_view(view: CompiledView) -> tuple[SourceRead, ...]:
    """The sources that a view reads, the trigger first."""
    return (view.trigger, *(read for read in view.query.reads if read.placeholder != view.trigger.placeholder))


class _OtherVersion:
    """The queries of another version, or of a part of this one, as far as they are those of this project too."""

    def __init__(self, queries: ProjectQueries, project: Project) -> None:
        self._queries = queries
        self._project = project
        self._alike: dict[str, bool] = {}

    def view_for(self, pipe: Pipe) -> CompiledView | None:
        """The view of a pipe, if it was compiled there and is the same here."""
        known = self._queries.known_view(pipe.name)
        return known if known is not None and self._is_alike(pipe.name) else None

    def _is_alike(self, name: str) -> bool:
        """Whether a resource, and all that its SQL may read or write, is the same in both."""
        if name not in self._alike:
            self._alike[name] = True  # pipes that read each other do not compile
            self._alike[name] = self._has_same(name) and all(map(self._is_alike, self._names_used(name)))
        return self._alike[name]

    def _has_same(self, name: str) -> bool:
        one, other = self._project, self._queries.project
        return (one.datasource(name), one.pipe(name)) == (other.datasource(name), other.pipe(name))

    def _names_used(self, name: str) -> frozenset[str]:
        """What a pipe may read or write, of the names in either version."""
        pipe = self._project.pipe(name)
        if pipe is None:
            return frozenset()
        targets = {node.kind.datasource for node in pipe.nodes if isinstance(node.kind, Materialized)}
        return (names_in_sql(pipe, self._names) | targets) - {name}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset((*self._project.names, *self._queries.project.names))
