"""Record in the audit log what a call changes.

In: a call's action, its request and its handler. Out: the handler's answer. Invariants: the handler runs only once its
entry is stored; what became of it is stored whatever it raises, and if that fails, the log has it. A token that may do
nothing cannot fill the store with its refused calls.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from penstock.errors import PenstockError
from penstock.redaction import redact
from penstock.state.logs.audit_log import DONE, LONGEST_TEXT, AuditEntry, AuditLog

UNKNOWN = "internal"
HIDDEN = frozenset(("token", "where", "delete_condition"))
"""Parameters that are not recorded: the call's own secret, and whose rows were deleted."""
CHECKED = "only checked"
"""What the target of a call ends with that only said what it would do."""
MOST_PARAMETERS = 50
MOST_REFUSALS, REFUSAL_SECONDS = 60, 3_600.0
"""How many refused calls of one token are stored in that time; of more there are only lines in the log."""
log = logging.getLogger("penstock.audit")
T = TypeVar("T")


def run_audited(audit: AuditLog, action: str, request: Request, handler: Callable[[], T]) -> T:
    """Run a handler between the two halves of its entry."""
    entry = describe_action(action, request)
    number, began = audit.add(entry), time.monotonic()
    outcome = UNKNOWN
    try:
        answer = handler()
        outcome = DONE
        return answer
    except PenstockError as error:
        outcome = error.code
        raise
    finally:
        target = getattr(request.state, "audit_target", entry.target)
        _log(entry, target, outcome)
        try:
            audit.end(number, outcome, target, time.monotonic() - began)
        except PenstockError as error:
            log.error("the audit log does not have the outcome of entry %d: %s", number, error.message)


class RefusalBudget:
    """The refused calls that may still be stored, by the names of their tokens."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._since = time.monotonic()
        self._stored: Counter[str] = Counter()

    def take(self, token: str) -> bool:
        """Count one more; False if there are too many of this token."""
        with self._guard:
            if time.monotonic() - self._since > REFUSAL_SECONDS:
                self._since = time.monotonic()
                self._stored.clear()
            self._stored[token] += 1
            return self._stored[token] <= MOST_REFUSALS


def record_refusal(audit: AuditLog, budget: RefusalBudget, entry: AuditEntry, code: str) -> None:
    """Record that a token which may not do this tried to. An entry that cannot be stored is in the log only."""
    _log(entry, entry.target, code)
    if not budget.take(entry.token):
        return
    try:
        number = audit.add(entry)
        audit.end(number, code, entry.target, 0.0)
    except PenstockError as error:
        log.error("the audit log does not have a refused call: %s", error.message)


def name_target(request: Request, target: str) -> None:
    """Say what the call is about, where its address does not."""
    request.state.audit_target = target


def describe_action(action: str, request: Request) -> AuditEntry:
    """The entry of a call that begins."""
    token = getattr(request.state, "token", None)
    client = request.client.host if request.client is not None else ""
    return AuditEntry(
        action,
        " ".join(map(str, request.path_params.values())),
        token.name if token is not None else "",
        client,
        str(getattr(request.state, "request_id", "")),
        _details(request),
    )


def _details(request: Request) -> str:
    given = parse_qsl(request.url.query[:LONGEST_TEXT], keep_blank_values=True)[:MOST_PARAMETERS]
    shown = {name: redact(value) for name, value in given if name not in HIDDEN}
    return orjson.dumps(shown).decode() if shown else ""


def _log(entry: AuditEntry, target: str, outcome: str) -> None:
    log.info("%s %s by the token %s from %s: %s", entry.action, target[:200], entry.token, entry.address, outcome)
