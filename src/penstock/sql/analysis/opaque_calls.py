"""Syntax trees of compiled SQL in which each function is only a name with arguments.

In: compiled Spark SQL. Out: a tree, and SQL of a tree. sqlglot gives many functions a node of their own, and may leave
out an argument or write another name for it. Here the name of each call is marked before the text is parsed, so that no
rule of sqlglot applies to it. Invariant: every name, number and text of the SQL is in its tree as often as in the SQL;
for SQL of which that is not so, there is no tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokens import TokenType

from penstock.sql.analysis.column_graph import GENERATORS, has_aggregate
from penstock.sql.analysis.expression_facts import VOLATILE_FUNCTIONS
from penstock.sql.spark_text import (
    DIALECT,
    PARSE_ERRORS,
    QUOTED,
    is_call,
    parse_tree,
    replace_spans,
    token_source,
    tokenize_spark,
)

_MARK = "call__"
_PARSED = frozenset(["cast", "try_cast", "if", "coalesce", "in", "exists", "explode", "posexplode", "inline"])
"""Calls that stay as they are: their nodes hold all that is written, and rules of this package are about them."""
_SUFFIX = re.compile(r"(?<=[\d.])(?:BD|[LDFSY])$", re.IGNORECASE)
"""The letters after a number that tell its type; sqlglot writes a cast in their place."""
_VALUES = frozenset([*QUOTED, TokenType.NUMBER])
_ARGUMENTS = ("()", "(x)", "(x, y)", "(x, y, z)")
_MARKED_GENERATORS = frozenset([*GENERATORS, "explode_outer", "posexplode_outer", "stack"])
"""Those that are marked calls; the others have nodes of their own."""


def parse_opaque(sql: str) -> exp.Expr | None:
    """The tree of a query with marked calls; None where sqlglot does not know the form, or loses a part of it."""
    try:
        tokens = tokenize_spark(sql)
    except PARSE_ERRORS:
        return None
    spans, values = [], []
    for at, token in enumerate(tokens):
        is_marked = token.token_type == TokenType.VAR and is_call(tokens, at) and token.text.lower() not in _PARSED
        values.append((token.token_type, _MARK + token.text if is_marked else token.text))
        if is_marked:
            spans.append((token.start, token.end + 1, _MARK + token_source(sql, token)))
    marked = replace_spans(sql, spans)
    tree = parse_tree(marked)
    if tree is None:
        return None
    written = tree.sql(dialect=DIALECT, copy=False)  # this changes the tree, and a parse takes less time than a copy
    is_whole = _values(values) == _values((each.token_type, each.text) for each in tokenize_spark(written))
    return parse_tree(marked) if is_whole else None


def write_opaque(tree: exp.Expr) -> str:
    """The SQL of a tree, with the names of its functions."""
    sql = str(tree.sql(dialect=DIALECT))
    tokens = tokenize_spark(sql)
    marked = (each for each in tokens if each.token_type == TokenType.VAR and each.text.lower().startswith(_MARK))
    return replace_spans(sql, ((each.start, each.end + 1, each.text[len(_MARK) :]) for each in marked))


def _values(tokens: Iterable[tuple[TokenType, str]]) -> Counter[str]:
    """The names, numbers and texts among the tokens of SQL."""
    return Counter(
        _SUFFIX.sub("", text) if kind in _VALUES else text.lower()
        for kind, text in tokens
        if kind in _VALUES or text.lower().startswith(_MARK) or text.lower() == "try_cast"
    )


def call_name(node: exp.Expr) -> str:
    """The name of a marked call in lower case; '' for another node."""
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    return name.removeprefix(_MARK)


@lru_cache(maxsize=1024)
def _is_aggregate_name(name: str) -> bool:
    """Whether a function aggregates rows; also if that cannot be told."""
    trees = [tree for tree in map(parse_tree, (f"{name}{each}" for each in _ARGUMENTS)) if tree is not None]
    return not trees or any(map(has_aggregate, trees))


def computes_row_by_row(node: exp.Expr) -> bool:
    """Whether an expression is a function of the columns that it names: no aggregate, window, subquery, clock or random
    number in it, and nothing that makes rows."""
    for each in node.walk():
        if isinstance(each, (exp.Query, exp.Window, exp.AggFunc, exp.UDTF, exp.Star)):
            return False
        name = call_name(each)
        if name in VOLATILE_FUNCTIONS or name in _MARKED_GENERATORS or (name and _is_aggregate_name(name)):
            return False
    return True


def makes_rows(node: exp.Expr) -> bool:
    """Whether an expression makes several rows of one."""
    return any(isinstance(each, exp.UDTF) or call_name(each) in _MARKED_GENERATORS for each in node.walk())


def has_opaque_aggregate(node: exp.Expr) -> bool:
    """Whether an expression aggregates rows, or a function in it may."""
    return any(isinstance(each, exp.AggFunc) or _may_aggregate(call_name(each)) for each in node.walk())


def _may_aggregate(name: str) -> bool:
    return bool(name) and _is_aggregate_name(name)


def is_constant(node: exp.Expr) -> bool:
    """Whether an expression has one value, whatever the row."""
    return node.find(exp.Column) is None and computes_row_by_row(node)
