"""What a call becomes is one operand: an operator beside it never takes a part of it.

In: one kept call of each scalar function. Invariant: no operator stands outside of brackets, CASE … END and literals.
"""

from __future__ import annotations

import re

import pytest
from tests.differential.typed.kept_calls import KeptCall, kept_calls
from tests.differential.typed.signatures import compiled

from penstock.sql.functions.table import FUNCTIONS

_PIECES = re.compile(
    r"'(?:[^'\\]|\\.)*'|`[^`]*`|[()]|\b(?:CASE|END|DIV|AND|OR|IS|LIKE|RLIKE|BETWEEN|IN)\b|[-+]?[\w.]+|<=>|[-+*/%&|^<>=]+",
    re.DOTALL,
)
_OPERATORS = frozenset(["DIV", "AND", "OR", "IS", "LIKE", "RLIKE", "BETWEEN", "IN"])
_SHOWN = re.compile(r"SELECT `\w+`\.`id` AS `id`, (.*) AS `c0` FROM __all_\w+__", re.DOTALL)
_SHORTEST_LAST = sorted(kept_calls(), key=lambda each: len(each.call), reverse=True)
CALLS = (
    *{each.function: each for each in _SHORTEST_LAST if each.function in FUNCTIONS}.values(),
    KeptCall("toInt64", "id", "FROM w", "toInt64(t3)"),
)


def operators_outside(sql: str) -> list[str]:
    """The operators that are in no brackets; a sign before a number is none."""
    found, depth = [], 0
    for piece in _PIECES.findall(sql):
        if piece in ("(", "CASE"):
            depth += 1
        elif piece in (")", "END"):
            depth -= 1
        elif depth == 0 and (piece in _OPERATORS or re.fullmatch(r"[-+*/%&|^<>=]+", piece)):
            found.append(piece)
    return found


def test_operators_are_seen_where_they_stand_outside() -> None:
    assert operators_outside("unix_micros(`t`) DIV 1000L") == ["DIV"]
    assert operators_outside("(a(`x - y`) * -1) + CASE WHEN a = b THEN 1 END") == ["+"]
    assert operators_outside("concat('a - b', (-1 + 2))") == []


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.function)
def test_a_call_is_one_operand(call: KeptCall) -> None:
    shown = _SHOWN.match(compiled(call.query.sql).sql)
    assert shown is not None
    assert operators_outside(shown[1]) == []
