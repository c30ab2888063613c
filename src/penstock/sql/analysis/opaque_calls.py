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
from sqlglot.tokens import Token, TokenType

from penstock.sql.analysis.column_graph import GENERATORS, has_aggregate
from penstock.sql.analysis.expression_facts import VOLATILE_FUNCTIONS
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.spark_text import (
    DIALECT,
    PARSE_ERRORS,
    QUOTED,
    Tokens,
    is_call,
    parse_tokens,
    parse_tree,
    replace_spans,
    tokenize_spark,
)

_MARK = "call__"
_PARSED = frozenset(["cast", "try_cast", "if", "coalesce", "in", "exists", "explode", "posexplode", "inline"])
"""Calls that stay as they are: their nodes hold all that is written, and rules of this package are about them."""
_SUFFIX = re.compile(r"(?<=[\d.])(?:BD|[LDFSY])$", re.IGNORECASE)
"""The letters after a number that tell its type; sqlglot writes a cast in their place."""
_WITH_UNITS = ("timestampadd", "timestampdiff")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ARGUMENTS = ("()", "(x)", "(x, y)", "(x, y, z)")
_MARKED_GENERATORS = frozenset([*GENERATORS, "explode_outer", "posexplode_outer", "stack"])
"""Those that are marked calls; the others have nodes of their own."""


def parse_opaque(sql: str) -> exp.Expr | None:
    """The tree of a query with marked calls; None where sqlglot does not know the form, or loses a part of it."""
    try:
        tokens = query_facts(sql).tokens
    except PARSE_ERRORS:
        return None
    marked = [_marked(each) if _is_marked(tokens, at) else each for at, each in enumerate(tokens)]
    tree = parse_tokens(marked, sql)
    if tree is None:
        return None
    _forget_places(tree)
    _tell_units(tree)
    written = tree.copy().sql(dialect=DIALECT, copy=False)  # writing changes the tree
    bared = _bared_names(tree) if any(each.token_type == TokenType.LATERAL for each in tokens) else Counter()
    is_whole = _values(marked) == _values(tokenize_spark(written)) + bared
    return tree if is_whole else None


def parse_opaque_value(sql: str) -> exp.Expr | None:
    """The same of one expression."""
    tree = parse_opaque(f"SELECT {sql} AS `value`")
    alias = tree.expressions[0] if isinstance(tree, exp.Select) and len(tree.expressions) == 1 else None
    return alias.this.pop() if isinstance(alias, exp.Alias) else None


def _is_marked(tokens: Tokens, at: int) -> bool:
    token = tokens[at]
    return token.token_type == TokenType.VAR and is_call(tokens, at) and token.text.lower() not in _PARSED


def _marked(token: Token) -> Token:
    """A copy, as the tokens of a query are shared."""
    place = (token.line, token.col, token.start, token.end)
    return Token(token.token_type, _MARK + token.text, *place, comments=token.comments)


def _tell_units(tree: exp.Expr) -> None:
    """Write the unit of `timestampadd(DAY, …)` as a word: sqlglot takes it for a column."""
    for call in tree.find_all(exp.Anonymous):
        unit = call.expressions[0] if call_name(call) in _WITH_UNITS and call.expressions else None
        if isinstance(unit, exp.Column) and not unit.table and not unit.this.quoted:
            unit.replace(exp.var(unit.name))


def _forget_places(tree: exp.Expr) -> None:
    """Remove from each node where it was written: nobody asks a marked tree, and it is most of what is copied."""
    for node in tree.walk():
        node._meta = None  # `meta.clear()` would leave a dict to copy


def write_opaque(tree: exp.Expr) -> str:
    """The SQL of a tree, with the names of its functions."""
    sql = str(tree.sql(dialect=DIALECT))
    tokens = tokenize_spark(sql)
    marked = (each for each in tokens if each.token_type == TokenType.VAR and each.text.lower().startswith(_MARK))
    return replace_spans(sql, ((each.start, each.end + 1, each.text[len(_MARK) :]) for each in marked))


def _values(tokens: Iterable[Token]) -> Counter[str]:
    """The names, numbers and texts among the tokens of SQL."""
    found: list[str] = []
    for token in tokens:
        kind, text = token.token_type, token.text
        if kind in QUOTED:
            found.append(text)
        elif kind == TokenType.NUMBER:
            found.append(_SUFFIX.sub("", text))
        elif (word := text.lower()).startswith(_MARK) or word == "try_cast":
            found.append(word)
    return Counter(found)


def _bared_names(tree: exp.Expr) -> Counter[str]:
    """The names of generated rows that are quoted in SQL, and which sqlglot writes without the quotes."""
    given = (each.args.get("alias") for each in tree.find_all(exp.Lateral))
    names = (each.this for each in given if isinstance(each, exp.TableAlias))
    return Counter(
        each.name for each in names if isinstance(each, exp.Identifier) and each.quoted and _WORD.fullmatch(each.name)
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
        if isinstance(
            each, (exp.Query, exp.Window, exp.AggFunc, exp.UDTF, exp.Star, exp.IgnoreNulls, exp.RespectNulls)
        ):
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


def value_over(sql: str, alias: str) -> exp.Expr | None:
    """A known value, with its columns as those of `alias`; None where it is not told what is a column."""
    value = parse_opaque_value(sql)
    if value is None or value.find(exp.Lambda) is not None:
        return None
    columns = list(value.find_all(exp.Column))
    for column in columns:
        if column.table:
            return None
        column.set("table", exp.to_identifier(alias, quoted=True))
    while isinstance(value, exp.Cast) and isinstance(value.this, exp.Cast) and value.this.to == value.to:
        value = value.this  # a DEFAULT is cast to the type of its column, whatever it is
    return value


def is_stored(node: exp.Expr) -> bool:
    """Whether it is a column, or one in another type."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return isinstance(node, exp.Column)
