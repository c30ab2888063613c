"""What is wrong with SQL that sqlglot cannot read, in words for the user.

In: a `Text` and sqlglot's error. Out: the `Refused` to raise, at the place where reading stopped or where an open quote
begins. Invariant: no name of Python's or sqlglot's classes is in a message.
"""

from __future__ import annotations

from sqlglot.errors import ParseError, TokenError

from penstock.errors import Problem, nearest_name
from penstock.model.datasource import Text
from penstock.sql.syntax.problems import Refused, place_of, refusal
from penstock.sql.syntax.tokens import CALL_MARK

_CLAUSES = {
    "SELECT": "SELECT",
    "FROM": "FROM",
    "WHERE": "WHERE",
    "PREWHERE": "PREWHERE",
    "GROUP": "GROUP BY",
    "HAVING": "HAVING",
    "ORDER": "ORDER BY",
    "LIMIT": "LIMIT",
    "JOIN": "JOIN",
    "UNION": "UNION ALL",
    "WINDOW": "WINDOW",
    "QUALIFY": "QUALIFY",
    "SAMPLE": "SAMPLE",
    "FINAL": "FINAL",
    "FORMAT": "FORMAT",
}
_OPENED = {"'": "quote", '"': "double quote", "`": "backquote", "/*": "comment"}
_LONGEST_WORD = 20


def syntax_problem(text: Text, error: Exception) -> Refused:
    """The problem for an error of sqlglot."""
    if isinstance(error, ParseError):
        return _parse_problem(text, error)
    opened = _find_unclosed(text.text) if isinstance(error, TokenError) else None
    if opened is not None:
        offset, sign = opened
        return Refused(
            Problem("invalid-sql", f"the {_OPENED[sign]} that begins here is not closed", place_of(text, offset))
        )
    said = str(error).splitlines()[0].removesuffix(":") if isinstance(error, TokenError) else "invalid expression"
    return refusal(text, None, "invalid-sql", f"the SQL cannot be read: {said}")


def _parse_problem(text: Text, error: ParseError) -> Refused:
    """The problem at the place where the parser stopped."""
    first = error.errors[0] if error.errors else {}
    context = str(first.get("start_context") or "")
    near = str(first.get("highlight") or "").removesuffix(CALL_MARK)
    offset = len(context) if text.text.startswith(context) else text.text.rfind(context) + len(context)
    described = str(first.get("description") or "invalid expression").rstrip(".").lower()
    described = "something is missing after it" if "missing for <class" in described else described
    described = described.replace(" but got", "").partition(" <token")[0]
    message = f"invalid SQL near `{near}`: {described}" if near else f"invalid SQL: {described}"
    return Refused(Problem("invalid-sql", message, place_of(text, offset), _misspelt_clause(text.text[:offset], near)))


def _misspelt_clause(before: str, stopped: str) -> str | None:
    """A hint where the word before, which sqlglot has read as an alias, or the one at which it stopped is nearly that
    of a clause. A word before a clause is none."""
    if stopped.upper() in _CLAUSES:
        return None
    word = next(iter(before[-2 * _LONGEST_WORD :].split()[-1:]), "")
    return _near_clause(word) or _near_clause(stopped)


def _near_clause(word: str) -> str | None:
    if not word.isalpha() or len(word) > _LONGEST_WORD or word.upper() in _CLAUSES:
        return None
    near = nearest_name(word.upper(), _CLAUSES)
    return f"did you mean `{_CLAUSES[near]}` for `{word}`?" if near is not None else None


def _find_unclosed(sql: str) -> tuple[int, str] | None:
    """The place and the sign of a quote or comment that does not end; None if each does."""
    at = 0
    while at < len(sql):
        if sql.startswith(("--", "# ", "#!"), at):
            end = sql.find("\n", at)
        elif sql.startswith("/*", at):
            end = sql.find("*/", at + 2)
            if end < 0:
                return at, "/*"
        elif sql[at] in _OPENED:
            end = _find_quote_end(sql, at)
            if end < 0:
                return at, sql[at]
        else:
            end = at
        at = end + 1 if end >= 0 else len(sql)
    return None


def _find_quote_end(sql: str, start: int) -> int:
    """The place of the quote that closes the one at `start`; -1 if there is none."""
    at = start + 1
    while at < len(sql) and sql[at] != sql[start]:
        at += 2 if sql[at] == "\\" else 1
    return at if at < len(sql) else -1
