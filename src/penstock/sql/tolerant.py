"""The SQL of a conversion that does not raise.

In: SQL that the conversion_* modules made. Out: the same with NULL where it would raise. Called by conversions
and by what probes them. Invariant: only for SQL of conversions, whose forms it knows.
"""

from __future__ import annotations

import sqlglot

from penstock.sql.may_raise import is_call
from penstock.sql.tokens import closing


def tolerant(sql: str) -> str:
    """The same SQL, but NULL where it would raise."""
    tokens = sqlglot.tokenize(sql, dialect="spark")
    out: list[str] = []
    end = 0
    for place, token in enumerate(tokens[:-1]):
        if token.start < end or not is_call(tokens, place):
            continue
        last = tokens[closing(tokens, place + 1)]
        inside = sql[tokens[place + 1].end + 1 : last.start]
        match token.text.lower():
            case "cast":
                new, stop = "try_cast", token.end + 1
            case "raise_error":
                new, stop = "NULL", last.end + 1
            case "timestamp_seconds":
                micros = f"try_cast(try_multiply({tolerant(inside)}, 1000000L) AS BIGINT)"
                new, stop = f"timestamp_micros({micros})", last.end + 1
            case _:
                continue
        out += [sql[end : token.start], new]
        end = stop
    return "".join(out) + sql[end:]
