"""Shrink a query that gives different answers to the smallest one that still does.

In: a query, and a function that says whether a query differs. Out: a smaller query. Each step takes a part away, so
shrinking ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

CLAUSES = ("where", "having", "order", "limit", "offset", "limit_by", "distinct", "group", "qualify", "joins")
MOST_TRIES = 400


def shrunk(sql: str, differs: Callable[[str], bool]) -> str:
    """The least query that was found within MOST_TRIES tries."""
    best, tries = sql, 0
    while True:
        for smaller in _smaller(best):
            tries += 1
            if tries > MOST_TRIES:
                return best
            if len(smaller) < len(best) and differs(smaller):
                best = smaller
                break
        else:
            return best


def _smaller(sql: str) -> Iterator[str]:
    """Queries with one thing less."""
    try:
        tree = sqlglot.parse_one(sql, read="clickhouse")
    except SqlglotError:
        return
    yield from _subqueries(tree)
    yield from _without_clauses(tree)
    yield from _without_items(tree)
    yield from _simpler_expressions(tree)


def _subqueries(tree: exp.Expr) -> Iterator[str]:
    for each in tree.find_all(exp.Select):
        if each is not tree:
            yield _text(each)


def _without_clauses(tree: exp.Expr) -> Iterator[str]:
    for clause in CLAUSES:
        copy = tree.copy()
        for each in copy.find_all(exp.Select):
            if each.args.get(clause):
                each.set(clause, None)
                yield _text(copy)


def _without_items(tree: exp.Expr) -> Iterator[str]:
    for count, each in enumerate(tree.find_all(exp.Select)):
        for place in range(len(each.expressions) if len(each.expressions) > 1 else 0):
            copy = tree.copy()
            found = list(copy.find_all(exp.Select))[count]
            found.set("expressions", [item for at, item in enumerate(found.expressions) if at != place])
            yield _text(copy)


def _simpler_expressions(tree: exp.Expr) -> Iterator[str]:
    """A call replaced by one of its arguments."""
    calls = [each for each in tree.walk() if isinstance(each, (exp.Func, exp.Binary, exp.Paren, exp.Not))]
    for place, call in enumerate(calls):
        for inner in range(len(_inner(call))):
            copy = tree.copy()
            same = [each for each in copy.walk() if isinstance(each, (exp.Func, exp.Binary, exp.Paren, exp.Not))]
            same[place].replace(_inner(same[place])[inner].copy())
            yield _text(copy)


def _inner(call: exp.Expr) -> list[exp.Expr]:
    return [each for each in call.iter_expressions() if isinstance(each, exp.Condition)]


def _text(tree: exp.Expr) -> str:
    return tree.sql(dialect="clickhouse")
