"""Whether a pipe gives the same, however it is written: by what its SQL compiles to.

In: two projects and the name of a pipe of both. Out: bool. Called by `diff` and `causes`. Invariant:
equal compiled SQL over equal names gives equal rows; SQL that does not compile is compared as text.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import InvalidQuery
from penstock.model.pipe import Copied, Kind, Node, Pipe, Standard
from penstock.model.project import Project
from penstock.plan.normal import normal
from penstock.sql.query import Query
from penstock.sql.transpile import compile_copy, compile_pipe, compile_view
from penstock.template.pipes import is_templated


def same_query(before: Project, after: Project, name: str) -> bool:
    """Whether two versions of a pipe do the same but for the form of their SQL, the names of their
    nodes and their descriptions."""
    old, new = before.pipe(name), after.pipe(name)
    if old is None or new is None:
        return False
    if old.dialect == new.dialect and _content(old) == _content(new):
        return True
    if _kinds(old) != _kinds(new) or _differs_by_call(old) or _differs_by_call(new):
        return False
    try:
        return _compiled(before, old) == _compiled(after, new)
    except InvalidQuery:
        return False


def _differs_by_call(pipe: Pipe) -> bool:
    """Whether what a pipe does depends on the call, so that one compilation does not tell it."""
    return pipe.materialized is None and is_templated(pipe)


def _content(pipe: Pipe) -> tuple[object, ...]:
    return tuple((node.name, normal(node.sql.text, pipe.dialect), _kind(node)) for node in pipe.nodes)


def _kinds(pipe: Pipe) -> tuple[object, ...]:
    return tuple(_kind(node) for node in pipe.nodes if not isinstance(node.kind, Standard))


def _kind(node: Node) -> Kind:
    """When a copy runs makes no difference to what it does."""
    return replace(node.kind, schedule=None) if isinstance(node.kind, Copied) else node.kind


def _compiled(project: Project, pipe: Pipe) -> Query:
    if pipe.materialized is not None:
        return compile_view(project, pipe, pipe.materialized).query
    return compile_pipe(project, pipe) if pipe.copied is None else compile_copy(project, pipe, pipe.copied).query
