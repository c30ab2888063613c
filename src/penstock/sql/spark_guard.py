"""What SQL of DIALECT spark may hold: a closed list of kinds of node, and of functions.

In: a parsed SELECT. Out: nothing, or a refusal with its place. Called by spark_dialect before anything
else. Invariant: what reads files, other catalogs, settings or code, or runs a program, is not on the lists.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model.datasource import Text
from penstock.sql.problems import refused
from penstock.sql.spark_functions import SPARK_FUNCTIONS

_CALL = re.compile(r"\s*`?(\w+)`?\s*\(")
_BARE = re.compile(r"\s*(\w+)\s*$")
STAND_IN = "__table"
"""How the names begin that stand for tables while a SELECT is compiled."""
_TABLE_PARTS = frozenset(("this", "alias", "joins", "laterals", "sample"))
_QUERY = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.With, exp.CTE, exp.TableAlias, exp.From, exp.Join, exp.Lateral,
    exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct, exp.Qualify,
    exp.Cube, exp.Rollup, exp.GroupingSets, exp.Values, exp.Table, exp.TableSample, exp.Window, exp.WindowSpec,
    exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Unnest, exp.Cluster, exp.Sort,
)  # fmt: skip
_VALUE = (
    exp.Column, exp.Identifier, exp.Star, exp.Alias, exp.Aliases, exp.Literal, exp.Boolean, exp.Null, exp.HexString,
    exp.RawString, exp.Interval, exp.Var, exp.Paren, exp.Tuple, exp.Unary, exp.Binary, exp.Between, exp.In, exp.Bracket,
    exp.Slice, exp.Lambda, exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Dot, exp.PropertyEQ, exp.IntervalSpan,
    exp.JSONPath, exp.JSONPathPart, exp.Escape, exp.Kwarg, exp.SubqueryPredicate, exp.AtTimeZone,
)  # fmt: skip


def check(text: Text, tree: exp.Query) -> None:
    """Raises Refused for the first node that is not allowed."""
    for node in tree.walk():
        if isinstance(node, exp.Table):
            _check_table(text, node)
        elif isinstance(node, exp.Func):
            _check_function(text, node)
        elif not isinstance(node, (*_QUERY, *_VALUE)):
            raise _unsupported(text, node, f"`{node.key}` is not supported here")
        _check_parts(text, node)


def _check_parts(text: Text, node: exp.Expr) -> None:
    if isinstance(node, exp.With) and node.args.get("recursive"):
        raise _unsupported(text, node, "WITH RECURSIVE is not supported")
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        raise _not_allowed(text, node, node.expression.name or node.expression.sql_name())
    if isinstance(node, exp.Select) and (node.args.get("kind") or node.args.get("operation_modifiers")):
        raise _unsupported(text, node, "this kind of SELECT is not supported")
    if isinstance(node, exp.Identifier) and node.name.lower().startswith(STAND_IN):
        raise refused(text, node, "invalid-name", f"nothing can be called `{node.name}`")


def _check_table(text: Text, node: exp.Table) -> None:
    if not isinstance(node.this, exp.Identifier):
        shown = node.name or node.this.sql(dialect="spark").partition("(")[0]
        raise refused(text, node, "unknown-table", f"the table function `{shown}` is not supported")
    if any(part.name == "" for part in node.parts):
        raise refused(text, node, "unknown-table", "a part of the table's name is empty")
    extra = [part for part, value in node.args.items() if value and part not in (*_TABLE_PARTS, "db", "catalog")]
    if extra:
        raise _unsupported(text, node, f"`{extra[0]}` of a table is not supported")


def _check_function(text: Text, node: exp.Func) -> None:
    """By the name that Spark gets: sqlglot reads several names into one node."""
    if isinstance(node, exp.Anonymous):
        names = [node.name.lower()]
    else:
        written = node.sql(dialect="spark", comments=False)
        found = _CALL.match(written) or _BARE.match(written)
        names = [found.group(1).lower()] if found is not None else []
    for name in names:
        if name not in SPARK_FUNCTIONS:
            raise _not_allowed(text, node, name)


def _not_allowed(text: Text, node: exp.Expr, name: str) -> Exception:
    hint = did_you_mean(name, SPARK_FUNCTIONS)
    return refused(text, node, "unknown-function", f"the function `{name}` is not allowed", hint)


def _unsupported(text: Text, node: exp.Expr, message: str) -> Exception:
    return refused(text, node, "unsupported-clause", message)
