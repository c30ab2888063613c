"""What is true of a compiled expression: the columns it names, its cost, whether its value is always the same.

In: Spark SQL of one expression: a DEFAULT, a column of a FORWARD_QUERY, a stored value for older rows. Out:
`ExpressionFacts`, which derives a fact when it is first asked for and keeps it. Invariant: nothing is claimed of an
expression that sqlglot cannot parse: it is neither constant nor NULL nor cheap.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.may_raise import may_raise
from penstock.sql.spark_text import QUOTED, column_names, parse_tree, tokenize_spark

_CONSTANT = (exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Neg, exp.Paren)
_CHEAP = (*_CONSTANT, exp.Column, exp.Identifier, exp.Case, exp.If, exp.LTE, exp.GT, exp.And, exp.Is)
"""What `plan.tables.column_placement` writes around columns and constants: casts, CASE WHEN _seq <= n …, and
CASE WHEN column IS NULL …"""
_MOST_CHOICES = 3
"""More of them in one another are not cheap: each time that names pass to other columns adds one."""
VOLATILE_FUNCTIONS = frozenset(
    ["current_timestamp", "current_date", "now", "rand", "randn", "uuid", "shuffle", "monotonically_increasing_id"]
)
"""Spark functions that compiled SQL may hold and that give another value each time they are called."""


@dataclass(frozen=True)
class ExpressionFacts:
    """Facts of one expression. Made by `expression_facts`; `tree` must not be changed."""

    sql: str

    @cached_property
    def tree(self) -> exp.Expr | None:
        """The syntax tree; None where sqlglot does not know the form."""
        return parse_tree(self.sql)

    @cached_property
    def column_names(self) -> frozenset[str]:
        """The names in backquotes, without those of struct fields."""
        return column_names(self.sql)

    @cached_property
    def is_constant(self) -> bool:
        """Whether it is made of literals and casts alone."""
        return self._consists_of(_CONSTANT)

    @cached_property
    def is_cheap(self) -> bool:
        """Whether it costs next to nothing to evaluate: columns, constants, casts and choices among them by `_seq`. Of
        what reads no column, such as an empty array, Spark makes a constant."""
        if self.tree is None or not self.is_repeatable or len(list(self.tree.find_all(exp.Case))) > _MOST_CHOICES:
            return False
        return all(isinstance(node, _CHEAP) or _reads_nothing(node) for node in self.tree.walk(prune=_reads_nothing))

    @cached_property
    def is_null(self) -> bool:
        """Whether it is the literal NULL, with or without casts."""
        tree = self.tree
        while isinstance(tree, (exp.Cast, exp.TryCast, exp.Paren)):
            tree = tree.this
        return isinstance(tree, exp.Null)

    @cached_property
    def is_repeatable(self) -> bool:
        """Whether it gives the same value for the same row each time: no clock, no random number."""
        words = (token.text.lower() for token in tokenize_spark(self.sql) if token.token_type not in QUOTED)
        return VOLATILE_FUNCTIONS.isdisjoint(words)

    @cached_property
    def may_raise(self) -> bool:
        """Whether Spark may raise an error for some row; true of any form that is not known to be safe."""
        return may_raise(self.sql)

    def _consists_of(self, kinds: tuple[type[exp.Expr], ...]) -> bool:
        return self.tree is not None and all(isinstance(node, kinds) for node in self.tree.walk())


def _reads_nothing(node: exp.Expr) -> bool:
    return node.find(exp.Column, exp.Query) is None


@lru_cache(maxsize=1024)
def expression_facts(sql: str) -> ExpressionFacts:
    """The facts of a compiled expression. The same object for the same text, for the 1024 texts used last."""
    return ExpressionFacts(sql)
