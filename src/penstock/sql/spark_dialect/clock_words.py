"""Texts that Spark reads as times of the clock: `CAST('yesterday' AS DATE)`, `t > 'now'`.

In: a SELECT whose types sqlglot has inferred. Out: nothing, or Refused. Invariant: a text of these words that stands
where a date or a time is wanted is refused; as a text among texts, such as `status = 'today'`, it is a text.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.model import types as t
from penstock.model.datasource import Text
from penstock.sql.spark_dialect.allowed import function_name
from penstock.sql.spark_dialect.value_types import type_of_value
from penstock.sql.syntax.problems import refusal

_WORDS = re.compile(r"\s*(?:now|today|yesterday|tomorrow)\b", re.IGNORECASE)
"""A zone may stand behind them. `epoch` is always the same."""
_OF_TIMES = re.compile(r"date|time|day|hour|minute|second|month|year|week|quarter|trunc|zone|unix_|extract")
_TIMES = (t.Nullable(t.Date(wide=True)), t.Nullable(t.DateTime64(6)))
_HINT = "write current_date() or current_timestamp(); in a view, use a time that the row itself has"


def refuse_clock_words(text: Text, tree: exp.Expr) -> None:
    """Raises Refused for the first text that Spark would read as a time of the clock."""
    for node in tree.find_all(exp.Literal):
        if node.is_string and _WORDS.match(node.name) and _is_time(node):
            message = f"the text '{node.name.strip()}' would be a time of the clock"
            raise refusal(text, node, "unsupported-syntax", message, _HINT)


def _is_time(node: exp.Expr) -> bool:
    """Whether a date or a time is wanted where a text stands."""
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    around = node.parent
    if isinstance(around, exp.Cast):
        return around.to.is_type(*exp.DataType.TEMPORAL_TYPES)
    if isinstance(around, exp.Func) and _OF_TIMES.search(function_name(around)):
        return True
    beside = around.iter_expressions() if isinstance(around, (exp.Condition, exp.Func)) else ()
    return any(each is not node and _has_time(each) for each in beside)


def _has_time(node: exp.Expr) -> bool:
    return node.is_type(*exp.DataType.TEMPORAL_TYPES) or type_of_value(node) in _TIMES
