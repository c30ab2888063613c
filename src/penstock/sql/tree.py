"""A SQL text to sqlglot's tree, with syntax errors as located problems.

In: a `Text`. Out: one SELECT (or UNION), or one expression. Called by transpile, view and forward.
Invariant: every function call is an `Anonymous` whose name ends with CALL_MARK.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from penstock.errors import Problem
from penstock.model.datasource import Text
from penstock.sql.problems import Refused, place_of, refused
from penstock.sql.tokens import CALL_MARK, PARAMETERS, tokenize

_DIALECT = sqlglot.Dialect.get_or_raise("clickhouse")


def parse_query(text: Text) -> exp.Query:
    """The one SELECT of a text. Raises Refused."""
    found = _parse(text)
    while isinstance(found, exp.Subquery) and found.alias == "" and isinstance(found.this, exp.Query):
        found = found.this
    if not isinstance(found, exp.Query):
        raise refused(text, found, "not-a-query", "only SELECT is allowed here")
    return found


def parse_select_list(text: Text) -> tuple[exp.Select, Text]:
    """A select list, with or without the word SELECT, as a SELECT; and the text it was parsed from."""
    if text.text.lstrip().lower().startswith(("select", "with")):
        whole = text
    else:
        # On one line with the list, so that the places in the list stay true on all lines but the first.
        whole = Text("SELECT " + text.text, text.at(1, 1 - len("SELECT ")), text.indent)
    found = parse_query(whole)
    if not isinstance(found, exp.Select):
        raise refused(whole, found, "not-a-select-list", "expected a select list, found a UNION")
    return found, whole


def call_name(node: exp.Expr) -> str | None:
    """The name of a call as written; None for any other node."""
    if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
        return node.this.removesuffix(CALL_MARK)
    return None


def call_parts(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The parameters and the arguments of a call."""
    arguments = list(node.expressions)
    if arguments and call_name(arguments[0]) == PARAMETERS:
        return list(arguments[0].expressions), arguments[1:]
    return [], arguments


def _parse(text: Text) -> exp.Expr:
    if not text.text.strip():
        raise refused(text, None, "empty-query", "expected a SELECT, found nothing")
    try:
        found = [each for each in _DIALECT.parser().parse(tokenize(text.text), text.text) if each is not None]
    except ParseError as error:
        raise syntax_problem(text, error) from error
    except TokenError as error:
        message = str(error).splitlines()[0].removesuffix(":")
        raise refused(text, None, "invalid-sql", f"the SQL cannot be read: {message}") from error
    if len(found) != 1:
        raise refused(text, found[1] if found else None, "invalid-sql", "expected one statement")
    return found[0]


def syntax_problem(text: Text, error: ParseError) -> Refused:
    """What sqlglot's parser stopped at, at its place."""
    first = error.errors[0] if error.errors else {}
    context = str(first.get("start_context") or "")
    near = str(first.get("highlight") or "").removesuffix(CALL_MARK)
    offset = len(context) if text.text.startswith(context) else text.text.rfind(context) + len(context)
    described = str(first.get("description") or "invalid expression").rstrip(".").lower()
    message = f"invalid SQL near `{near}`: {described}" if near else f"invalid SQL: {described}"
    return Refused(Problem("invalid-sql", message, place_of(text, offset)))
