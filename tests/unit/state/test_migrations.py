"""From each schema to the newest and back, with rows in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy.engine import Connection

from penstock.model.deployment import DeploymentState
from penstock.model.manifest import Manifest
from penstock.state.database import (
    MIGRATIONS,
    Database,
    NewerStore,
    connect_database,
    make_engine,
    migrate_database,
    open_database,
)
from penstock.state.deployments import Deployments
from penstock.state.journal import Journal
from penstock.state.lease import Lease, LeaseRecord
from penstock.state.manifest_codec import manifest_to_json
from penstock.state.schema import METADATA, deployments

VERSIONS = sorted(path.stem[1:5] for path in Path(MIGRATIONS, "versions").glob("v*.py"))
NOW = "2026-01-02 03:04:05+00:00"
ROWS = (
    "INSERT INTO deployments (name, state, base, created_at, updated_at, files, plan, manifest, error) "
    f"VALUES ('first', 'live', NULL, '{NOW}', '{NOW}', '{{}}', '{{}}', :manifest, NULL)",
    "UPDATE pointer SET live = 1, version = 1",
    "INSERT INTO journal (deployment, ordinal, step, done) VALUES (1, 0, 'made', true), (1, 1, 'left', false)",
    f"INSERT INTO batches VALUES ('d', 1, 'd/1.ndjson', 3, 42, '{NOW}')",
    "INSERT INTO batch_keys VALUES ('d', 'key', 1)",
    f"INSERT INTO tokens VALUES ('ci', 'digest', '[\"read\"]', '{NOW}')",
)


@pytest.fixture
def old(store_url: str) -> Iterator[Database]:
    """A store with rows in it, as the first version of Penstock left it."""
    made = Database(make_engine(store_url))
    with made.write() as connection:
        command.upgrade(config(connection), "0001")
        for statement in ROWS:
            given = {"manifest": manifest_to_json(Manifest())} if ":manifest" in statement else {}
            connection.execute(sa.text(statement), given)
    yield made
    made.close()


def config(connection: Connection) -> Config:
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS))
    made.attributes["connection"] = connection
    return made


def test_an_old_store_is_read_as_it_was(old: Database, store_url: str) -> None:
    new = open_database(store_url)
    first = Deployments(new).get(1)
    assert (first.name, first.state, first.paused, first.error) == ("first", "live", False, None)
    assert [(entry.step, entry.mark) for entry in Journal(new).entries(1)] == [("made", "done"), ("left", "waiting")]
    assert Lease(new).read() == LeaseRecord(0, 0, {})
    with new.read() as connection:
        segments = connection.execute(sa.text("SELECT segment, digest FROM batches")).all()
        keys = connection.execute(sa.text("SELECT key FROM batch_keys")).scalars().all()
    assert ([tuple(each) for each in segments], keys) == ([("d/1.ndjson", None)], ["key"])
    assert Deployments(new).create("second", 1, {}, {}, Manifest()).id == 2
    new.close()


def test_down_and_up_again_keeps_what_both_schemas_know(old: Database) -> None:
    with old.write() as connection:
        command.upgrade(config(connection), "head")
    with old.write() as connection:
        command.downgrade(config(connection), "0001")
        done = connection.execute(sa.text("SELECT step, done FROM journal ORDER BY ordinal")).all()
        assert [(step, bool(was)) for step, was in done] == [("made", True), ("left", False)]
        columns = {each["name"] for each in sa.inspect(connection).get_columns("batches")}
        assert "digest" not in columns
    with old.write() as connection:
        command.upgrade(config(connection), "head")
    with old.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), METADATA) == []
    assert [entry.mark for entry in Journal(old).entries(1)] == ["done", "waiting"]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_can_be_reached_and_left(store_url: str, version: str) -> None:
    database = Database(make_engine(store_url))
    for way, to in ((command.upgrade, version), (command.downgrade, "base"), (command.upgrade, "head")):
        with database.write() as connection:
            way(config(connection), to)
    with database.read() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == VERSIONS[-1]
    database.close()


def test_an_upgrade_that_fails_leaves_the_old_schema(old: Database) -> None:
    def upgrade() -> None:
        with old.write() as connection:
            command.upgrade(config(connection), "head")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        upgrade()
    with old.read() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == "0001"
        assert not sa.inspect(connection).has_table("lease")


def test_a_store_of_a_later_release_is_refused_and_untouched(store_url: str) -> None:
    open_database(store_url).close()
    later = Database(make_engine(store_url))
    with later.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    for opened in (open_database, connect_database):
        with pytest.raises(NewerStore, match="revision 9999") as raised:
            opened(store_url)
        assert "docs/upgrades.md" in str(raised.value.hint)
    with pytest.raises(NewerStore):
        migrate_database(later)
    with later.read() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all() == ["9999"]
    later.close()


def test_a_server_that_waits_migrates_nothing_under_the_owner(store_url: str) -> None:
    """A server of an earlier release may have the lease: its tables stay as it knows them until it has ended."""
    owner = Database(make_engine(store_url))
    with owner.write() as connection:
        command.upgrade(config(connection), "0002")
    Lease(owner).take(Lease(owner).read(), {"host": "a"})
    waiting = connect_database(store_url)
    assert Lease(waiting).read().heartbeat == 1
    Lease(owner).heartbeat()
    with owner.read() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == "0002"
    Lease(owner).release()
    Lease(waiting).take(Lease(waiting).read(), {"host": "b"})
    migrate_database(waiting)
    with waiting.read() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == VERSIONS[-1]
    for each in (owner, waiting):
        each.close()


def test_every_state_fits_its_column() -> None:
    """Postgres holds a length, SQLite takes any."""
    column = deployments.c.state.type
    assert isinstance(column, sa.String)
    assert column.length is not None
    assert max(map(len, DeploymentState.__args__)) <= column.length  # type: ignore[attr-defined]
