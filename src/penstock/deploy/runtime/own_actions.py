"""What the server does by itself and a person could have done, such as retiring a version: recorded as theirs is.

In: an action and what carries it out. Out: the same, with an entry of the audit log around it. Invariant: the entry is
stored before the action begins, and names no token.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.state.logs.audit_log import DONE, AuditEntry, AuditLog


def record_own_action(audit: AuditLog, action: str, run: Callable[[str], object]) -> Callable[[str], None]:
    """`run`, which is given a deployment's id, with an entry by `penstock` itself."""

    def run_recorded(ref: str) -> None:
        number, began, outcome = audit.add(AuditEntry(action, ref, "", "penstock", "")), time.monotonic(), "internal"
        try:
            run(ref)
            outcome = DONE
        except PenstockError as error:
            outcome = error.code
            raise
        finally:
            audit.end(number, outcome, ref, time.monotonic() - began)

    return run_recorded
