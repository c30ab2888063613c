"""Texts from outside in a form that every state store takes.

In: any text. Out: the same text, cut, without what Postgres does not store. Invariant: it never fails.
"""

from __future__ import annotations


def storable_text(value: str, most: int) -> str:
    """The first `most` characters of a text, in which a NUL and a lone surrogate are replaced."""
    return value[:most].replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
