"""Python's own parser, for one thread at a time.

In: Python. Out: its syntax tree. Invariant: no other thread of this process parses meanwhile. Python 3.11 counts the
depth of the tree that it builds in one place for all threads: where another one parses in between (a collection of
garbage may let it run), a text that is right ends with `SystemError: AST constructor recursion depth mismatch`.
"""

from __future__ import annotations

import ast
import threading
import warnings

_one_at_a_time = threading.RLock()


def parse_module(text: str | bytes) -> ast.Module:
    """The tree of a file. Raises what `ast.parse` does."""
    with _one_at_a_time:
        return ast.parse(text)


def parse_quietly(text: str, mode: str) -> ast.AST:
    """The tree of a text, without the warnings that Python has for it (their filters are of all threads, too). Raises
    what `ast.parse` does."""
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)
