"""SQL in one normal form, so that formatting and comments are no change.

In: SQL as written. Out: text that is equal for equal syntax trees. Called by the modules of plan
that compare versions. Invariant: only what the parser drops (spaces, comments, quoting of plain
names, case of keywords) is ignored; SQL that does not parse is compared as text.
"""

from __future__ import annotations

import functools

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.model.datasource import Text
from penstock.model.pipe import Dialect
from penstock.template.tree import is_template


@functools.lru_cache(maxsize=4096)
def normal(sql: str, dialect: Dialect = "clickhouse") -> str:
    """The normal form of a query, of an expression or of a select list; a template is its own."""
    if is_template(sql):
        return sql.strip()
    for form in (sql, f"SELECT {sql}"):
        try:
            trees = sqlglot.parse(form, dialect=dialect)
        except SqlglotError:
            continue
        return ";".join(_text(tree, dialect) for tree in trees if tree is not None)
    return " ".join(sql.split())


def _text(tree: exp.Expr, dialect: Dialect) -> str:
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", True)
    return str(tree.sql(dialect=dialect, comments=False))


def same_sql(before: Text | None, after: Text | None, dialect: Dialect = "clickhouse") -> bool:
    """Whether two pieces of SQL are the same but for their form; None is none."""
    if before is None or after is None:
        return before is after
    return normal(before.text, dialect) == normal(after.text, dialect)
