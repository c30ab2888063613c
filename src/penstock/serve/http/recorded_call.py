"""Record the calls of endpoints and of SQL in the call log.

In: a request, what its handler noted, and the answer. Out: an entry that waits to be written. Invariants: the answer
does not wait for it and is sent whatever becomes of it; a call without a valid token is not recorded, so that nobody
from outside can fill the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from starlette.requests import Request

from penstock.deploy.queries.answers.answer_formats import Answer
from penstock.errors import PenstockError
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.logs.call_log import CallRecord
from penstock.state.logs.call_parameters import ParameterValue
from penstock.template.general_parameters import GENERAL_PARAMETERS
from penstock.template.render_frame import ListParameter, Parameter

if TYPE_CHECKING:
    from penstock.state.tokens import ApiToken

log = logging.getLogger("penstock.serve")


@dataclass(frozen=True, slots=True)
class CallStart:
    """When a call began."""

    at: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    monotonic: float = field(default_factory=time.monotonic)


def note_parameters(request: Request, ref: str, given: Mapping[str, Parameter]) -> None:
    """Note which version a call asks for, and with which parameters."""
    request.state.call_ref, request.state.call_parameters = ref, given


def note_answer(request: Request, answer: Answer) -> None:
    """Note what a call was answered."""
    request.state.call_answer = (len(answer.rows), answer.rows_read, answer.bytes_read)


def note_error(request: Request, error: PenstockError) -> None:
    """Note why a call is refused."""
    request.state.call_error = (error.code, error.message)


def record_call(host: PipelineHost, request: Request, start: CallStart, name: str | None, status: int) -> None:
    """Let the entry of a call that was answered wait to be written."""
    token: ApiToken | None = getattr(request.state, "token", None)
    if token is None or name is None:
        return
    try:
        host.pipeline.store.calls.add(_call_record(request, start, (name, token.name), status))
    except PenstockError:  # the server stops, or has not started: nothing is recorded
        return
    except Exception:  # a bug here costs an entry, never an answer
        log.exception("a call of %s is not in the call log", name)


def _call_record(request: Request, start: CallStart, names: tuple[str, str], status: int) -> CallRecord:
    state = request.state
    rows, rows_read, bytes_read = getattr(state, "call_answer", (0, 0, 0))
    code, message = getattr(state, "call_error", (None, None))
    given = getattr(state, "call_parameters", None)
    if given is None:  # it was refused before its parameters were read
        given = {key: value for key, value in request.query_params.items() if key not in GENERAL_PARAMETERS}
    return CallRecord(
        started_at=start.at,
        pipe=names[0],
        deployment=str(getattr(state, "call_ref", "")),
        duration=time.monotonic() - start.monotonic,
        read_rows=rows_read,
        read_bytes=bytes_read,
        result_rows=rows,
        status=status,
        error_code=code,
        error=message,
        request_id=str(getattr(state, "request_id", "")),
        token=names[1],
        method=request.method,
        user_agent=request.headers.get("user-agent", ""),
        parameters={name: _value(value) for name, value in given.items()},
    )


def _value(value: Parameter) -> ParameterValue:
    return value.items if isinstance(value, ListParameter) else value
