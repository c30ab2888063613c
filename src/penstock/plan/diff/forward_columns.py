"""What a FORWARD_QUERY does with each column: rename, cast, fill with a constant, or compute.

In: a live data source and its next version. Out: `ForwardQuery`. Invariant: a query that the live version has too is
left over from an earlier step and is ignored.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import Column, DataSource
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.plan.diff.query_equality import is_same_text
from penstock.sql.compile import compile_forward
from penstock.sql.query import ForwardColumn
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import spark_type


@dataclass(frozen=True, slots=True)
class ForwardQuery:
    """The compiled forward query of this deployment."""

    columns: tuple[ForwardColumn, ...] = ()
    """The columns of its select list; none if it does not compile."""
    problems: tuple[Problem, ...] = ()
    """Why it does not compile."""

    def column(self, name: str) -> ForwardColumn | None:
        return next((column for column in self.columns if column.name == name), None)

    def renames(self, name: str) -> str | None:
        """The live column that the query selects unchanged under this name; None if there is none."""
        column = self.column(name)
        return column.renames if column else None


def read_forward_query(old: DataSource, new: DataSource) -> ForwardQuery | None:
    """The forward query of the change from `old` to `new`; None if `new` has none, or the same one as `old`."""
    if new.forward_query is None or is_same_text(old.forward_query, new.forward_query):
        return None
    try:
        return ForwardQuery(compile_forward(new.forward_query, old.columns, new.columns))
    except InvalidQuery as error:
        whole = Problem(error.code, error.message, new.forward_query.location, error.hint)
        return ForwardQuery(problems=error.problems or (whole,))


def keeps_values(column: ForwardColumn, before: Column, after: Type) -> bool:
    """Whether the query selects the values of `before` unchanged, apart from casts to the types of the two columns
    (which changing the type in place would do as well)."""
    tree = column.facts.tree
    allowed = {_normal_type(before.type), _normal_type(after)}
    while isinstance(tree, (exp.Cast, exp.TryCast, exp.Paren)):
        if not isinstance(tree, exp.Paren) and tree.to.sql(dialect=DIALECT) not in allowed:
            return False
        tree = tree.this
    return isinstance(tree, exp.Column) and tree.name == before.name


def _normal_type(of: Type) -> str:
    """A Spark type as sqlglot writes it."""
    return str(exp.DataType.build(spark_type(of), dialect=DIALECT).sql(dialect=DIALECT))
