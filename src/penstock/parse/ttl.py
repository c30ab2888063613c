"""Parses ENGINE_TTL to its rules: an expression for the expiry time each, and the rows it applies to.

In: the text of the directive. Out: `TtlRule`s, and problems. Invariant: every rule deletes whole rows; the other TTL
actions of ClickHouse are problems
(https://clickhouse.com/docs/engines/table-engines/mergetree-family/mergetree#table_engine-mergetree-ttl).
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import Problem
from penstock.model.datasource import Column, Text
from penstock.model.quick_dataclass import dataclass
from penstock.parse.lexer import Lexeme, depth_change, lex, location_at, split_at_commas, text_slice
from penstock.parse.sql_syntax.engine_keys import check_columns, parse_expression

_ACTIONS = {
    "TO": "moves rows to another disk or volume",
    "GROUP": "aggregates rows",
    "RECOMPRESS": "compresses rows anew",
    "SET": "aggregates rows",
}
_HINT = "such as `timestamp + INTERVAL 30 DAY`, or `timestamp + INTERVAL 30 DAY DELETE WHERE kind = 'debug'`"


@dataclass(frozen=True, slots=True)
class TtlRule:
    """One rule of ENGINE_TTL."""

    until: Text
    """The expression of the time at which rows are deleted."""
    where: Text | None = None
    """Only rows for which this condition holds are deleted; None: all rows."""


def parse_ttl_rules(text: Text, columns: Sequence[Column], problems: list[Problem]) -> tuple[TtlRule, ...]:
    """The rules of an ENGINE_TTL; none if one of them is wrong, with problems added."""
    before = len(problems)
    rules = [_parse_rule(text, lexemes, problems) for lexemes in split_at_commas(lex(text.text))]
    found = tuple(rule for rule in rules if rule is not None)
    for each in (each for rule in found for each in (rule.until, rule.where) if each is not None):
        parsed = parse_expression(each, problems)
        problems.extend(check_columns(parsed, columns) if parsed is not None else ())
    if sum(rule.where is None for rule in found) > 1:
        message = "more than one rule of ENGINE_TTL has no WHERE: each is for all rows"
        problems.append(Problem("unsupported-ttl", message, text.location, "the shortest of them is enough"))
    return found if len(problems) == before else ()


def _parse_rule(text: Text, lexemes: Sequence[Lexeme], problems: list[Problem]) -> TtlRule | None:
    """One rule: `time [DELETE] [WHERE condition]`."""
    words = [each for each, depth in _with_depth(lexemes) if depth == 0]
    action = next((each for each in words if each.kind == "word" and each.text.upper() in _ACTIONS), None)
    if action is not None:
        message = f"`{action.text}` in ENGINE_TTL {_ACTIONS[action.text.upper()]}: not in this version"
        problems.append(Problem("unsupported-ttl", message, location_at(text, action.start), _HINT))
        return None
    where = next((each for each in words if each.says("WHERE")), None)
    end = lexemes[-1].start if where is None else where.start
    head = [each for each in lexemes[:-1] if each.start < end]
    until = head[-1].start if len(head) > 1 and head[-1].says("DELETE") else end
    condition = text_slice(text, where.end, lexemes[-1].start) if where is not None else None
    return TtlRule(text_slice(text, head[0].start if head else 0, until), condition)


def _with_depth(lexemes: Sequence[Lexeme]) -> list[tuple[Lexeme, int]]:
    """Each lexeme with the number of open brackets around it."""
    depth, found = 0, []
    for each in lexemes:
        found.append((each, depth))
        if each.kind == "symbol":
            depth = max(0, depth + depth_change(each))
    return found
