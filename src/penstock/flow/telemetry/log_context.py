"""What a log line is about: the request, the deployments.

In: `log_context` around the work. Out: the names and values that each log line has. Invariant: what is
set in a thread or task is seen only there and in the threads that copy its context (as anyio's do).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("log_context", default=())


@contextmanager
def log_context(**names: object) -> Iterator[None]:
    """Lines that the block logs begin with these names and values, after those of the blocks around it."""
    kept = tuple(pair for pair in _current.get() if pair[0] not in names)
    token = _current.set((*kept, *((name, str(value)) for name, value in names.items())))
    try:
        yield
    finally:
        _current.reset(token)


def log_context_pairs() -> tuple[tuple[str, str], ...]:
    """The names and values of the blocks around, from the outermost on."""
    return _current.get()


def describe_log_context(pairs: tuple[tuple[str, str], ...]) -> str:
    """Such as `[request=3f… deployment=4] `; empty if there are none."""
    return f"[{' '.join(f'{name}={value}' for name, value in pairs)}] " if pairs else ""


def log_context_value(name: str) -> str:
    """The value that a block around set for the name; empty if none did."""
    return dict(_current.get()).get(name, "")
