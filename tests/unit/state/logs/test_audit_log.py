from __future__ import annotations

from datetime import datetime, timedelta, timezone

from penstock.state.database import Database
from penstock.state.logs.audit_log import BEGUN, LONGEST_TEXT, AuditEntry, AuditLog


def test_an_action_is_there_before_it_ends_and_gets_its_outcome(database: Database) -> None:
    log = AuditLog(database)
    number = log.add(AuditEntry("deploy", "", "ci", "10.0.0.9", "r1", '{"auto_promote":"true"}'))
    log.add(AuditEntry("promote", "7", "admin", "127.0.0.1", "r2"))
    assert [(each.action, each.outcome) for each in log.recent(9)] == [("promote", BEGUN), ("deploy", BEGUN)]
    log.end(number, "ok", "7", 0.5)
    found = log.recent(9)[1]
    assert (found.target, found.outcome, found.elapsed_time, found.token) == ("7", "ok", 0.5, "ci")


def test_any_text_is_stored(database: Database) -> None:
    log = AuditLog(database)
    log.end(log.add(AuditEntry("a\0b", "x" * 9_999, "t", "\ud800", "r")), "ok", "\0", 1.0)
    found = log.recent(1)[0]
    assert (found.action, found.address, found.target) == (
        "a\N{REPLACEMENT CHARACTER}b",
        "?",
        "\N{REPLACEMENT CHARACTER}",
    )
    log.add(AuditEntry("a", "x" * 9_999, "t", "", "r"))
    assert len(log.recent(1)[0].target) == LONGEST_TEXT


def test_old_entries_are_removed(database: Database) -> None:
    log, now = AuditLog(database), datetime.now(timezone.utc)
    for days in (400, 2, 0):
        log.add(AuditEntry(f"{days}", "", "t", "", "r", began_at=now - timedelta(days=days)))
    assert log.trim(now - timedelta(days=365)) == 1
    assert log.trim(now - timedelta(days=365)) == 0
    assert [each.action for each in log.recent(9)] == ["0", "2"]
