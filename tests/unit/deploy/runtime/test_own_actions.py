from __future__ import annotations

from pathlib import Path

import pytest

from penstock.deploy.runtime.own_actions import record_own_action
from penstock.errors import Conflict
from penstock.state.database import open_database
from penstock.state.logs.audit_log import AuditLog


def test_what_the_server_does_by_itself_is_recorded(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    audit, retired = AuditLog(database), list[str]()
    record_own_action(audit, "retire", retired.append)("7")
    assert retired == ["7"]

    def refuse(ref: str) -> None:
        raise Conflict("it is live")

    with pytest.raises(Conflict):
        record_own_action(audit, "discard", refuse)("8")
    found = [(each.action, each.target, each.outcome, each.address) for each in audit.recent(9)]
    assert found == [("discard", "8", "conflict", "penstock"), ("retire", "7", "ok", "penstock")]
    database.close()
