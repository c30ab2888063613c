"""Spans of OpenTelemetry: what a call, a step or a deployment did, and how long it took.

In: a name and attributes. Out: a span while the block runs, below the span around it. Invariants: no attribute and no
status has the text of a query, a parameter, a row or a message of an error; without an exporter
(`span_delivery.py`) nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias, Union

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from penstock.errors import PenstockError

AttributeValue: TypeAlias = Union[str, int, float, bool, tuple[int, ...]]
TRACER = trace.get_tracer("penstock")


@contextmanager
def span(name: str, attributes: Mapping[str, AttributeValue], *expected: type[Exception]) -> Iterator[Span]:
    """A span of work within this process. One that an exception ends has an error, with the code or the type of it,
    unless that is one of `expected`, by which the work says how it goes on."""
    with _recorded(name, attributes, None, SpanKind.INTERNAL, expected) as made:
        yield made


@contextmanager
def call_span(name: str, headers: Mapping[str, str], attributes: Mapping[str, AttributeValue]) -> Iterator[Span]:
    """The span of a call, below the one that the caller's `traceparent` names, if it sent one."""
    with _recorded(name, attributes, propagate.extract(headers), SpanKind.SERVER) as made:
        yield made


@contextmanager
def _recorded(
    name: str,
    attributes: Mapping[str, AttributeValue],
    parent: Context | None,
    kind: SpanKind,
    expected: tuple[type[Exception], ...] = (),
) -> Iterator[Span]:
    with TRACER.start_as_current_span(
        name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as made:
        try:
            yield made
        except expected:
            raise
        except Exception as error:
            set_error(made, error.code if isinstance(error, PenstockError) else type(error).__name__)
            raise


def set_error(made: Span, code: str) -> None:
    """Mark a span as failed with an error of this code."""
    made.set_attribute("error.type", code)
    made.set_status(Status(StatusCode.ERROR))


def trace_id(made: Span) -> str | None:
    """The id of the trace of a span in 32 hexadecimal digits; None if it is not recorded."""
    return f"{made.get_span_context().trace_id:032x}" if made.is_recording() else None
