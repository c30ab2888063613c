"""A capture that another version of penstock has set up: its producer says so and does not begin."""

from __future__ import annotations

import hashlib
import threading

import pytest

from penstock.errors import PenstockError
from penstock.postgres.application.delivery_records import DeliveryRecords
from penstock.postgres.capture import installation
from penstock.postgres.capture.installation import SETUP_VERSION, OtherSetup
from penstock.postgres.capture.producer import Producer
from penstock.postgres.capture.setup import has_capture, set_up
from penstock.postgres.capture.status import read_status
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from postgres_capture.conftest import Source
from postgres_capture.landing_server import InboxPipeline

Landing = tuple[InboxPipeline, str, str]
OF_VERSION = {
    1: "6f2500d3433fd962",
    2: "d8b23335b64cec4f",
    3: "fc6b89df3310842d",
    4: "770a5ff2d9742153",
    5: "18fbc24dbb262cb2",
    6: "42805e511a1dc143",
}
"""What the statements of each version hash to."""


def test_other_statements_are_another_version() -> None:
    made = "".join((*installation._TABLES, installation._EVENT_TRIGGERS))
    digest = hashlib.sha256(made.encode()).hexdigest()[:16]
    assert digest == OF_VERSION[SETUP_VERSION], "SETUP_VERSION takes the next number, and this the new line"


def test_a_truncate_that_a_former_version_sent_is_waited_for_by_nobody(source: Source) -> None:
    """It moved no position of a store."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    source.run("ALTER TABLE penstock.delivered ADD COLUMN rows_upto numeric[]")
    of = f"'{source.name}', 'one'"
    source.run(f"INSERT INTO penstock.delivered VALUES ({of}, 'a', '{{7,0}}', '{{5,2}}'), ({of}, 'b', '{{7,1}}', NULL)")
    for _ in range(2):
        installation.install_tables(source.connection)
        assert DeliveryRecords(source.connection, source.name).sent("one") == {"a": (5, 2), "b": None}


def test_a_later_version(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    source.records.note_setup(SETUP_VERSION + 1)
    with pytest.raises(OtherSetup, match="by a later version") as refused:
        Producer(source.dsn, source.name, PenstockLanding(*landing[1:]), threading.Event().is_set).run()
    assert refused.value.hint == "run that version, or a later one"
    with pytest.raises(PenstockError, match="by a later version"):
        set_up(source.connection, source.name, [])
    assert has_capture(source.connection, source.name)
    assert read_status(source.connection, source.name).alarms
    source.records.note_setup(SETUP_VERSION)
