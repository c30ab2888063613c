"""ENGINE_SAMPLING_KEY: what SAMPLE takes the rows by.

In: the parts of the keys of a data source and its columns. Out: problems. Called by parse.engine and sql.sample.
Invariant: as in ClickHouse it is one expression of the primary key, or of the sorting key where there is none, of an
unsigned type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from penstock.errors import Problem
from penstock.model import types as t
from penstock.model.datasource import Column
from penstock.parse.keys import KeyPart
from penstock.parse.lexer import lex


def check_sampling(
    sampling: Sequence[KeyPart], keys: Sequence[KeyPart], columns: Sequence[Column]
) -> Iterator[Problem]:
    """`keys` are the parts of the primary key, or of the sorting key. The type of an expression is seen where
    SAMPLE is compiled."""
    known = {column.name: column.type for column in columns}
    if not sampling or any(name not in known for name, _ in sampling[0].names):
        return
    text = sampling[0].text
    of = known.get(text.text)
    if len(sampling) > 1 or (of is not None and not is_unsigned(of)):
        message = "ENGINE_SAMPLING_KEY needs one expression of UInt8, UInt16, UInt32 or UInt64"
        yield Problem("invalid-key", message, text.location, "such as cityHash64(…) of a column")
    elif canonical(text.text) not in [canonical(each.text.text) for each in keys]:
        message = f"`{text.text}` is not part of the primary key, nor of the sorting key where there is none"
        hint = "add it to ENGINE_SORTING_KEY and ENGINE_PRIMARY_KEY"
        yield Problem("invalid-key", message, text.location, hint)


def is_unsigned(of: t.Type) -> TypeGuard[t.Int]:
    """Whether SAMPLE can cut the range of the type."""
    return isinstance(of, t.Int) and not of.signed and of.bits <= 64


def canonical(sql: str) -> tuple[str, ...]:
    """The words and signs of an expression."""
    return tuple(lexeme.text for lexeme in lex(sql))
