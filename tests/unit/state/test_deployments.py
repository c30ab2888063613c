from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from penstock.errors import Conflict, NotFound
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest, Table
from penstock.state import deployments as module
from penstock.state.database import Database
from penstock.state.deployments import Deployments
from penstock.state.journal import Journal
from penstock.state.schema import deployments as table

MANIFEST = Manifest(tables=(Table("a", ()),))


def create(deployments: Deployments, name: str = "first") -> Deployment:
    return deployments.create(name, None, {"a.datasource": "SCHEMA >\n  é String"}, {"rows_moved": 3}, MANIFEST)


def test_a_new_deployment_is_planned_and_reads_back_equal(database: Database) -> None:
    deployments = Deployments(database)
    made = create(deployments)
    assert (made.id, made.state, made.error, made.manifest) == (1, "planned", None, MANIFEST)
    assert made.created_at.utcoffset() is not None
    assert deployments.get(1) == made


def test_the_newest_is_first(database: Database) -> None:
    deployments = Deployments(database)
    create(deployments, "first")
    create(deployments, "second")
    assert [each.name for each in deployments.list()] == ["second", "first"]


def test_a_move_needs_one_of_the_named_states(database: Database) -> None:
    deployments = Deployments(database)
    create(deployments)
    assert deployments.move(1, "preparing", of=["planned"]).state == "preparing"
    with pytest.raises(Conflict, match="deployment 1 is preparing; only one that is planned or ready can become live"):
        deployments.move(1, "live", of=["ready", "planned"])
    assert deployments.get(1).state == "preparing"


def test_a_failure_is_kept(database: Database) -> None:
    deployments = Deployments(database)
    create(deployments)
    failed = deployments.move(1, "failed", of=["planned"], error={"code": "cast-failed"})
    assert failed.error == {"code": "cast-failed"}
    assert deployments.move(1, "discarded", of=["failed"]).error == {"code": "cast-failed"}


def test_running_are_those_whose_flows_run(database: Database) -> None:
    deployments = Deployments(database)
    for name in ("first", "second"):
        create(deployments, name)
    deployments.move(2, "backfilling", of=["planned"])
    assert [each.id for each in deployments.running()] == [2]
    assert [each.id for each in deployments.in_state("planned", "live")] == [1]


def test_the_manifest_can_be_replaced(database: Database) -> None:
    deployments = Deployments(database)
    create(deployments)
    changed = Manifest(tables=(Table("b", ()),))
    assert deployments.revise(1, lambda _: changed).manifest == changed
    assert deployments.get(1).manifest == changed


def test_one_that_does_not_exist_is_not_found(database: Database) -> None:
    deployments = Deployments(database)
    with pytest.raises(NotFound):
        deployments.get(7)
    with pytest.raises(NotFound):
        deployments.move(7, "live", of=["ready"])
    with pytest.raises(NotFound):
        deployments.revise(7, lambda manifest: manifest)


def test_an_activation_changes_manifest_and_state_together(database: Database) -> None:
    deployments = Deployments(database)
    create(deployments)
    changed = Manifest(tables=(Table("b", ()),))
    with pytest.raises(Conflict):
        deployments.activate(1, changed)
    assert deployments.get(1).manifest == MANIFEST
    deployments.move(1, "preparing", of=["planned"])
    activated = deployments.activate(1, changed)
    assert (activated.state, activated.manifest) == ("backfilling", changed)


LATER = datetime.now(timezone.utc) + timedelta(days=1)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The manifests that are decoded from now on."""
    found: list[str] = []
    decode = module.manifest_from_json

    def count(text: str) -> Manifest:
        found.append(text)
        return decode(text)

    monkeypatch.setattr(module, "manifest_from_json", count)
    return found


def test_lists_decode_no_manifest_and_reads_decode_each_revision_once(database: Database, decoded: list[str]) -> None:
    deployments = Deployments(database)
    for number in range(5):
        create(deployments, f"d{number}")
    decoded.clear()
    assert [each.rows_moved for each in deployments.list()] == [3] * 5
    assert deployments.list(2)[1].name == "d3"
    assert (deployments.newest(), deployments.record(2).name) == (5, "d1")
    assert deployments.find_by_name("d4") == deployments.newest_in_state("planned") == deployments.record(5)
    assert deployments.find_by_name("unknown") is None
    assert deployments.table_ids() == {"a"}
    assert decoded == []
    for _ in range(3):
        assert deployments.in_state("planned", "live")[-1] == deployments.get(1)
    assert len(decoded) == 5
    deployments.revise(1, lambda manifest: Manifest(tables=(*manifest.tables, Table("b", ()))))
    decoded.clear()
    assert [each.id for each in deployments.get(1).manifest.tables] == ["a", "b"]
    assert deployments.get(1).name == "d0"
    assert len(decoded) == 1


def test_what_another_process_changed_is_seen(database: Database) -> None:
    ours, theirs = Deployments(database), Deployments(database)
    create(ours)
    assert theirs.get(1).manifest == MANIFEST
    ours.revise(1, lambda _: Manifest())
    assert theirs.get(1).manifest == Manifest()


def test_a_change_that_is_undone_leaves_nothing_in_memory(database: Database) -> None:
    deployments = Deployments(database)
    create(deployments)
    with pytest.raises(ZeroDivisionError):
        deployments.revise(1, lambda _: 1 // 0)  # type: ignore[arg-type,return-value]
    assert deployments.get(1).manifest == MANIFEST
    assert deployments.revise(1, lambda _: Manifest()) == deployments.get(1)


def test_no_more_contents_are_kept_than_allowed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CACHED", 2)
    deployments = Deployments(database)
    for number in range(5):
        create(deployments, f"d{number}")
    assert len(deployments.in_state("planned")) == 5
    assert len(deployments._cached) == 2


def test_swept_deployments_are_forgotten_with_their_journals(database: Database) -> None:
    deployments, journal = Deployments(database), Journal(database)
    for base in (None, 1, None, None, None):
        deployments.create("d", base, {}, {}, MANIFEST, ["step"])
    for number in (1, 3, 4, 5):
        deployments.move(number, "discarded", of=["planned"])
    assert deployments.remove_swept(LATER, 10) == 0, "something may be left of them"
    deployments.mark_swept([1, 3, 4, 5])
    assert [each.id for each in deployments.unswept()] == [2]
    assert deployments.remove_swept(datetime.now(timezone.utc) - timedelta(days=1), 10) == 0
    assert (deployments.remove_swept(LATER, 1), deployments.remove_swept(LATER, 10)) == (1, 1)
    # 1 is the base of one that may go on, and the next number follows 5.
    assert [each.id for each in deployments.list()] == [5, 2, 1]
    assert (journal.entries(3), len(journal.entries(2))) == ((), 1)
    assert deployments.table_ids() == {"a"}
    assert create(deployments).id == 6


def test_a_step_that_begins_after_the_sweep_takes_the_mark_back(database: Database) -> None:
    deployments = Deployments(database)
    deployments.create("d", None, {}, {}, MANIFEST, ["step"])
    deployments.mark_swept([1])
    Journal(database).mark(1, 0, "intended")
    assert [each.id for each in deployments.unswept()] == [1]


def test_numbers_have_64_bits(database: Database) -> None:
    large = 2**40
    with database.write() as connection:
        row = {"id": large, "name": "", "state": "retired", "created_at": LATER, "updated_at": LATER}
        connection.execute(sa.insert(table).values({**row, "files": {}, "plan": {}, "manifest": "{}"}))
    assert Deployments(database).record(large).id == large


def test_the_tables_of_forgotten_deployments_are_known_for_a_while(database: Database) -> None:
    deployments = Deployments(database)
    for number, name in enumerate(("old", "shared", "shared"), 1):
        deployments.create("d", None, {}, {}, Manifest(tables=(Table(name, ()),)))
        deployments.move(number, "discarded", of=["planned"])
    deployments.mark_swept([1, 2])
    assert deployments.remove_swept(LATER, 10) == 2
    assert deployments.table_ids() == {"old", "shared"}
    deployments.forget_tables(datetime.now(timezone.utc) - timedelta(days=1))
    assert deployments.table_ids() == {"old", "shared"}
    deployments.forget_tables(LATER)
    assert deployments.table_ids() == {"shared"}
