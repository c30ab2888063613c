"""What a FORWARD_QUERY does with each column: rename, cast, fill with a constant, or compute.

In: a data source of live and its next version. Out: `ForwardQuery`. Invariant: a query that live has too is left over
from an earlier step and is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.tokens import TokenType

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import Column, DataSource
from penstock.model.types import Type
from penstock.plan.diff.query_equality import is_same_sql
from penstock.plan.spark_text import tree_of
from penstock.sql.column_types import spark_type
from penstock.sql.compile import compile_forward
from penstock.sql.query import ForwardColumn


@dataclass(frozen=True, slots=True)
class ForwardQuery:
    """A forward query of this step. `problems` says why it does not compile; then it has no columns."""

    columns: tuple[ForwardColumn, ...] = ()
    problems: tuple[Problem, ...] = ()

    def column(self, name: str) -> ForwardColumn | None:
        return next((column for column in self.columns if column.name == name), None)

    def renames(self, name: str) -> str | None:
        """The column of live that a column of this name is, where the query says just that."""
        column = self.column(name)
        return column.renames if column else None


def read_forward_query(old: DataSource, new: DataSource) -> ForwardQuery | None:
    """The forward query of the step from `old` to `new`; None where there is none, or where it is
    left over."""
    if new.forward_query is None or is_same_sql(old.forward_query, new.forward_query):
        return None
    try:
        return ForwardQuery(compile_forward(new.forward_query, old.columns, new.columns))
    except InvalidQuery as error:
        whole = Problem(error.code, error.message, new.forward_query.location, error.hint)
        return ForwardQuery(problems=error.problems or (whole,))


def is_constant(column: ForwardColumn) -> bool:
    """Whether the value is the same for every row and whenever it is asked for."""
    tree = tree_of(column.sql)
    return tree is not None and not column.uses and all(isinstance(node, _CONSTANT) for node in tree.walk())


_CONSTANT = (exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Neg, exp.Paren)


def is_repeatable(column: ForwardColumn) -> bool:
    """Whether the value is the same whenever it is asked for: no clock, no random number."""
    tokens = sqlglot.tokenize(column.sql, dialect="spark")
    return not any(token.text.lower() in _NONDETERMINISTIC and token.token_type not in _TEXT_TOKENS for token in tokens)


_NONDETERMINISTIC = frozenset(
    {"current_timestamp", "current_date", "now", "rand", "randn", "uuid", "shuffle", "monotonically_increasing_id"}
)
"""Spark functions that sql.functions compiles to and that give another value each time."""
_TEXT_TOKENS = (TokenType.STRING, TokenType.IDENTIFIER)


def is_null(column: ForwardColumn) -> bool:
    """Whether the value is NULL for every row."""
    tree = tree_of(column.sql)
    while isinstance(tree, (exp.Cast, exp.TryCast, exp.Paren)):
        tree = tree.this
    return isinstance(tree, exp.Null)


def keeps_values(column: ForwardColumn, before: Column, after: Type) -> bool:
    """Whether the query gives the values of `before` as they are, but for casts to the types of the
    two columns: no more than what changing the type in place does."""
    tree = tree_of(column.sql)
    allowed = {_normal_type(before.type), _normal_type(after)}
    while isinstance(tree, (exp.Cast, exp.TryCast, exp.Paren)):
        if not isinstance(tree, exp.Paren) and tree.to.sql(dialect="spark") not in allowed:
            return False
        tree = tree.this
    return isinstance(tree, exp.Column) and tree.name == before.name


def _normal_type(of: Type) -> str:
    """A Spark type as sqlglot writes it."""
    return str(exp.DataType.build(spark_type(of), dialect="spark").sql(dialect="spark"))
