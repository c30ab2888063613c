"""ClickHouse SQL parsed to sqlglot's tree, with syntax errors as problems at their place in the file.

In: a `Text`. Out: one SELECT or UNION, or one select list. Invariant: every function call is an `exp.Anonymous` whose
name ends with CALL_MARK, so that sqlglot's own classes for functions never change its name or its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

import sqlglot
from sqlglot import exp
from sqlglot.tokens import TokenType

from penstock.errors import Problem
from penstock.model.datasource import Text
from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.spark_text import DEEPEST, PARSE_ERRORS, Tokens, first_too_deep
from penstock.sql.syntax.clause_order import refuse_clauses_out_of_order
from penstock.sql.syntax.clause_words import name_clause_words
from penstock.sql.syntax.error_messages import syntax_problem
from penstock.sql.syntax.literals_as_texts import quote_cast_literals
from penstock.sql.syntax.problems import Refused, odd_statement, place_of, refusal
from penstock.sql.syntax.tokens import BRACKETS, CALL_MARK, PARAMETERS, complete_select_list, rewrite_tokens
from penstock.sql.syntax.written_types import note_written_types

_DIALECT = sqlglot.Dialect.get_or_raise("clickhouse")


def parse_query(text: Text) -> exp.Query:
    """The one SELECT of a text. Raises Refused."""
    found = _parse_statement(text)
    inner = found
    while isinstance(inner, exp.Subquery) and inner.alias == "" and isinstance(inner.this, exp.Query):
        inner = inner.this
    if not isinstance(inner, exp.Query):
        raise Refused(
            Problem("not-a-query", "only SELECT is allowed here", odd_statement(text, _DIALECT.tokenize(text.text)))
        )
    ends = any(found.args.get(each) for each in ("order", "limit", "settings"))
    return found if ends and isinstance(found, exp.Query) else inner


def parse_select_list(text: Text) -> exp.Select:
    """A select list, with or without the word SELECT, as a SELECT. Raises Refused."""
    found = _parse_statement(text, complete_select_list)
    if not isinstance(found, exp.Select):
        raise refusal(text, found, "not-a-select-list", "expected a select list")
    return found


def call_name(node: exp.Expr) -> str | None:
    """The name of a call as written; None for any other node."""
    if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
        return node.this.removesuffix(CALL_MARK)
    return None


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is a call of an aggregate function."""
    name = call_name(node)
    return name is not None and parse_aggregate_name(name) is not None


def call_parts(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The parameters and the arguments of a call."""
    arguments = list(node.expressions)
    if arguments and call_name(arguments[0]) == PARAMETERS:
        return list(arguments[0].expressions), arguments[1:]
    return [], arguments


def _parse_statement(text: Text, prepare: Callable[[Tokens], Tokens] = list) -> exp.Expr:
    if not text.text.strip():
        raise refusal(text, None, "empty-query", "expected a SELECT, found nothing")
    try:
        raw = name_clause_words(list(_DIALECT.tokenize(text.text)))
        refuse_depth(text, raw)
        refuse_clauses_out_of_order(text, raw)
        tokens = rewrite_tokens(quote_cast_literals(raw, text.text))
        _check_bytes(text, tokens)
        found = [each for each in _DIALECT.parser().parse(prepare(tokens), text.text) if each is not None]
    except PARSE_ERRORS as error:
        raise syntax_problem(text, error) from error
    if len(found) != 1:
        raise Refused(Problem("invalid-sql", "expected one statement", odd_statement(text, raw)))
    refuse_unfinished(text, tokens, found[0])
    refuse_last_commas(text, tokens)
    note_bracket_sets(tokens, found[0])
    note_written_types(tokens, found[0])
    return found[0]


_ENDS = frozenset(
    {TokenType.R_PAREN, TokenType.COMMA, TokenType.SEMICOLON, TokenType.WHERE, TokenType.PREWHERE, TokenType.GROUP_BY}
    | {TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.UNION, TokenType.JOIN}
)
_NAMED = frozenset({TokenType.DOT, TokenType.ALIAS})


def refuse_unfinished(text: Text, tokens: Tokens, tree: exp.Expr) -> None:
    """Refuses what sqlglot takes without its end: `a IN` would be no row, `JOIN b ON` all of them. Raises Refused."""
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        is_word = token.token_type == TokenType.ON and (before is None or before.token_type not in _NAMED)
        if is_word and (after is None or after.token_type in _ENDS):
            place = place_of(text, token.start)
            raise Refused(Problem("invalid-sql", "ON of nothing", place, "write a condition, or CROSS JOIN"))
    for node in tree.find_all(exp.In, exp.Group, exp.Join, exp.Select):
        if isinstance(node, exp.In) and node.args.get("field", node) is None:
            raise refusal(text, node, "invalid-sql", "IN of nothing", "write IN (…)")
        if isinstance(node, exp.Group) and not any(node.args.values()):
            raise refusal(text, node.parent, "invalid-sql", "GROUP BY of nothing", "name its keys, or leave it out")
        if isinstance(node, exp.Join) and node.args.get("using") == []:
            raise refusal(text, node, "invalid-sql", "USING of nothing", "write USING (…)")
        if isinstance(node, exp.Select) and not node.expressions:
            raise refusal(text, node, "invalid-sql", "SELECT of nothing", "name a column, or write *")


def refuse_last_commas(text: Text, tokens: Tokens) -> None:
    """Refuses a comma before the end of an array, a call or a clause, which only tuples and select lists may have.
    Raises Refused."""
    lists: list[TokenType | None] = [None]
    for index, (token, after) in enumerate(zip(tokens, [*tokens[1:], None], strict=True)):
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            before = tokens[index - 1] if index else token
            is_list = before.text.endswith(CALL_MARK) or before.token_type in _NAMES_BEHIND
            lists.append(before.token_type if is_list else None)
        elif kind == TokenType.R_PAREN and len(lists) > 1:
            lists.pop()
        elif kind in _CLAUSES:
            lists[-1] = kind
        elif kind == TokenType.COMMA and _ends_list(lists[-1], None if after is None else after.token_type):
            raise _last_comma(text, token.start)


def _ends_list(clause: TokenType | None, after: TokenType | None) -> bool:
    """Whether a comma of a list or clause may not stand before a token: `after` is None at the end of the text."""
    if after == TokenType.R_BRACKET or after in _CLAUSES - {TokenType.SELECT}:
        return True
    return clause not in (None, TokenType.SELECT) and after in (TokenType.R_PAREN, None)


_NAMES_BEHIND = frozenset({TokenType.USING, TokenType.EXCEPT, TokenType.OVER})
_CLAUSES = frozenset(
    {TokenType.SELECT, TokenType.WHERE, TokenType.PREWHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY}
    | {TokenType.QUALIFY, TokenType.LIMIT, TokenType.DISTRIBUTE_BY, TokenType.PARTITION_BY, TokenType.UNION}
    | {TokenType.SETTINGS}
)
"""Words that begin a list or an expression of a SELECT."""


def _last_comma(text: Text, start: int) -> Refused:
    return Refused(Problem("invalid-sql", "nothing follows this comma", place_of(text, start), "leave the comma out"))


_BEFORE_VALUES = frozenset({TokenType.L_BRACKET, TokenType.L_PAREN, TokenType.DASH})


def note_bracket_sets(tokens: Tokens, tree: exp.Expr) -> None:
    """Notes at each `x IN [a, b]` that its set is written with brackets, which sqlglot reads as `x IN (a, b)`."""
    starts = set[int]()
    for index, token in enumerate(tokens[:-1]):
        if token.token_type == TokenType.IN and tokens[index + 1].token_type == TokenType.L_BRACKET:
            following = (each for each in tokens[index + 2 :] if each.token_type not in _BEFORE_VALUES)
            starts.update(each.start for each in islice(following, 1))
    for node in tree.find_all(exp.In) if starts else ():
        places = (inner.meta.get("start") for each in node.expressions for inner in each.walk() if inner.meta)
        if next(places, None) in starts or _is_empty_array(tokens, node):
            node.meta[BRACKETS] = True


def _is_empty_array(tokens: Tokens, node: exp.In) -> bool:
    """Whether this is `x IN []`."""
    if any(node.args.get(each) for each in ("expressions", "query", "field")):
        return False
    end = max((place for each in node.this.walk() if (place := each.meta.get("end")) is not None), default=-1)
    behind = (index for index, each in enumerate(tokens) if each.start > end and each.token_type == TokenType.IN)
    return tokens[next(behind) + 1].token_type == TokenType.L_BRACKET


_BYTE = re.compile(r"(?<!\\)(?:\\\\)*(\\x[89a-fA-F][0-9a-fA-F])")


def _check_bytes(text: Text, tokens: Tokens) -> None:
    """Refuses bytes from 80 on in a string literal: sqlglot reads `\\xff` as the character U+00FF. Raises Refused."""
    for token in tokens:
        found = _BYTE.search(text.text, token.start, token.end + 1) if token.token_type == TokenType.STRING else None
        if found is not None:
            message = f"`{found.group(1)}` is a byte, and by itself no character: texts are UTF-8 here"
            place = place_of(text, found.start(1))
            raise Refused(Problem("invalid-literal", message, place, "unhex('…') gives bytes, or write the character"))


def refuse_depth(text: Text, tokens: Tokens) -> None:
    """Raises Refused if brackets nest so deeply that the parser could overflow the stack of the process."""
    deepest = first_too_deep(tokens)
    if deepest is not None:
        message = f"the SQL nests more than {DEEPEST} brackets"
        raise Refused(Problem("too-deep", message, place_of(text, deepest.start), "move parts of it into nodes"))


def filter_as_if(node: exp.Expr) -> exp.Anonymous | None:
    """`sum(x) FILTER (WHERE c)` as `sumIf(x, c)`."""
    name, where = call_name(node.this), node.expression
    test = where.this if isinstance(where, exp.Where) else None
    if name is None or test is None:
        return None
    arguments = [each for each in node.this.expressions if not isinstance(each, exp.Star)]
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        name, arguments = f"{name}Distinct", list(arguments[0].expressions)
    given = [each.copy() for each in (*arguments, test)]
    renamed = exp.Anonymous(this=f"{name}If{CALL_MARK}", expressions=given)
    renamed.parent = node.parent
    return renamed
