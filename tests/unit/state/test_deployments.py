from __future__ import annotations

import pytest

from penstock.errors import Conflict, NotFound
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest, Table
from penstock.state.database import Database
from penstock.state.deployments import Deployments

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
