"""Whether two pieces of SQL, or two versions of a pipe, are the same apart from their format.

In: SQL as written; or two projects and the name of a pipe. Out: a normal form, or yes or no. Invariants: SQL is
compared by its syntax tree, which ignores spaces, comments, quotes around plain names and the case of keywords; a
pipe is compared by its compiled SQL; SQL that does not parse or compile is compared as text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.errors import InvalidQuery
from penstock.model.datasource import Text
from penstock.model.pipe import Copied, Dialect, Exported, Materialized, Node, NodeKind, Pipe, Standard
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.template.declared_parameters import is_templated
from penstock.template.parser import is_template

_MADE_NAME = re.compile(r"\b(?:table|TABLE|[Ss]ymbol|Column|sql_unescape)\s*\(")
"""A call of a template that makes a name of a value."""
_WORD = re.compile(r"\w+")


@functools.lru_cache(maxsize=4096)
def normalize_sql(sql: str, dialect: Dialect = "clickhouse") -> str:
    """The normal form of a query, an expression or a select list; a template is its own normal form."""
    if is_template(sql):
        return sql.strip()
    for form in (sql, f"SELECT {sql}"):
        try:
            trees = sqlglot.parse(form, dialect=dialect)
        except SqlglotError:
            continue
        return ";".join(_print_quoted(tree, dialect) for tree in trees if tree is not None)
    return " ".join(sql.split())


def _print_quoted(tree: exp.Expr, dialect: Dialect) -> str:
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", True)
    return str(tree.sql(dialect=dialect, comments=False))


def is_same_text(before: Text | None, after: Text | None, dialect: Dialect = "clickhouse") -> bool:
    """Whether two pieces of SQL are equal apart from their format; None equals only None."""
    if before is None or after is None:
        return before is after
    return is_same_sql(before.text, after.text, dialect)


def is_same_sql(before: str, after: str, dialect: Dialect = "clickhouse") -> bool:
    """Whether two texts have one normal form. That they have the same tokens is found out sooner."""
    is_same = _are_same_tokens(before, after, dialect)
    return is_same or normalize_sql(before, dialect) == normalize_sql(after, dialect)


def _are_same_tokens(before: str, after: str, dialect: Dialect) -> bool:
    if before == after:
        return True
    if is_template(before) or is_template(after):
        return False
    try:
        one, other = (sqlglot.tokenize(each, dialect=dialect) for each in (before, after))
    except SqlglotError:
        return False
    return [(each.token_type, each.text) for each in one] == [(each.token_type, each.text) for each in other]


def is_same_pipe(before: ProjectQueries, after: ProjectQueries, name: str) -> bool:
    """Whether two versions of a pipe give the same rows, apart from the format of their SQL, node names and
    descriptions."""
    old, new = before.project.pipe(name), after.project.pipe(name)
    if old is None or new is None:
        return False
    is_same = _are_same_tokens if _is_known_by_query(old) and _is_known_by_query(new) else is_same_sql
    if old.dialect == new.dialect and _is_same_text_of_nodes(old, new, is_same):
        return True
    if list(map(_comparable_handler, old.nodes)) != list(map(_comparable_handler, new.nodes)):
        return False
    if _special_kinds(old) != _special_kinds(new) or _differs_by_call(old) or _differs_by_call(new):
        return False
    try:
        return before.query(old) == after.query(new)
    except InvalidQuery:
        return False


def _differs_by_call(pipe: Pipe) -> bool:
    """Whether the SQL of a pipe depends on the call, so that one compilation does not stand for all."""
    return pipe.materialized is None and is_templated(pipe)


def _is_known_by_query(pipe: Pipe) -> bool:
    """Whether the compiled query tells a pipe, whose form is then not looked at twice: a view in ClickHouse's SQL, of
    which the compiler writes each part anew."""
    return pipe.materialized is not None and pipe.dialect == "clickhouse"


def _is_same_text_of_nodes(old: Pipe, new: Pipe, is_same: Callable[[str, str, Dialect], bool]) -> bool:
    """Whether the nodes of two pipes of one dialect say the same, by a comparison of their SQL. The name of the last
    one does not count if no SQL can read it."""
    ends = {old.nodes[-1].name, new.nodes[-1].name}
    is_free = not any(_may_name(each, node.sql.text) for each in ends for node in (*old.nodes, *new.nodes))
    unread = ends if is_free else set()
    return _comparable_nodes(old, unread) == _comparable_nodes(new, unread) and all(
        is_same(before.sql.text, after.sql.text, old.dialect)
        for before, after in zip(old.nodes, new.nodes, strict=True)
    )


def _may_name(name: str, sql: str) -> bool:
    """Whether SQL may read a node, which a template may name by a value that it is called with."""
    return _MADE_NAME.search(sql) is not None or name in _WORD.findall(sql)


def _comparable_nodes(pipe: Pipe, unread: Collection[str]) -> tuple[object, ...]:
    *earlier, last = pipe.nodes
    named = [(node.name, node) for node in earlier] + [("" if last.name in unread else last.name, last)]
    return tuple((name, _comparable_kind(node), _comparable_handler(node)) for name, node in named)


def _comparable_handler(node: Node) -> tuple[object, ...] | None:
    """The function of an endpoint, without where it is written."""
    return (node.handler.source.text, node.handler.returns) if node.handler is not None else None


def _special_kinds(pipe: Pipe) -> tuple[object, ...]:
    return tuple(_comparable_kind(node) for node in pipe.nodes if not isinstance(node.kind, Standard))


def _comparable_kind(node: Node) -> NodeKind:
    """The kind of a node without what does not change the rows of its query: schedule and mode of a copy, where a sink
    writes, and what a view does about rows for which it fails."""
    match node.kind:
        case Copied():
            return replace(node.kind, schedule=None, mode="append")
        case Materialized():
            return replace(node.kind, on_error="stop")
        case Exported():
            return Exported("", node.kind.location)
        case _:
            return node.kind
