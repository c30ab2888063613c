"""Whether the rows of an endpoint come in an order that its query says.

In: a pipe. Out: yes or no. Invariant: an ORDER BY inside of parentheses, such as that of a window or a subquery, orders
no answer; a function in Python answers in its own order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from penstock.model.pipe import Pipe
from penstock.parse.lexer import depth_change, lex

_OPENING = re.compile(r"\{[%{#]")
_CLOSING = {"{%": "%}", "{{": "}}", "{#": "#}"}


def orders_rows(pipe: Pipe) -> bool:
    """Whether the order of the endpoint's rows means something."""
    node = pipe.endpoint
    return node is not None and (node.handler is not None or _orders(node.sql.text))


def _parts_outside_templates(sql: str) -> Iterator[str]:
    at = 0
    while (found := _OPENING.search(sql, at)) is not None:
        yield sql[at : found.start()]
        end = sql.find(_CLOSING[found[0]], found.end())
        if end < 0:  # the template is refused elsewhere
            return
        at = end + 2
    yield sql[at:]


def _orders(sql: str) -> bool:
    depth = 0
    for lexeme, following in pairwise(lex(" ".join(_parts_outside_templates(sql)))):
        depth += depth_change(lexeme)
        if depth == 0 and lexeme.says("ORDER") and following.says("BY"):
            return True
    return False
