"""A publication that somebody edits: Postgres sends less from then on, and says nothing of it."""

from __future__ import annotations

import pytest

from penstock.postgres.capture.status import read_status
from postgres_capture.conftest import Source

EDITS = [
    "ALTER PUBLICATION penstock_{s} DROP TABLE {s}.issues",
    "ALTER PUBLICATION penstock_{s} SET (publish = 'insert, update')",
    "ALTER PUBLICATION penstock_{s} SET TABLE {s}.issues WHERE (id > 1), {s}.labels, {s}.parts",
    "ALTER PUBLICATION penstock_{s} SET TABLE {s}.issues (id), {s}.labels, {s}.parts",
    "DROP PUBLICATION penstock_{s}",
]


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_publication_sends_no_more_is_an_alarm(source: Source, edit: str) -> None:
    source.run("CREATE TABLE {s}.issues (id int PRIMARY KEY, title text)")
    source.run("CREATE TABLE {s}.labels (id int PRIMARY KEY)")
    source.run("CREATE TABLE {s}.parts (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    source.run("CREATE TABLE {s}.part PARTITION OF {s}.parts DEFAULT")
    source.run("CREATE TABLE {s}.events (id int)")
    source.set_up("issues", "labels", "parts")
    source.set_up("events", insert_only=("events",))
    assert alarms(source) == []
    if "WHERE" in edit or "(id)" in edit:
        ((version,),) = source.rows("SELECT current_setting('server_version_num')::int")
        if version < 150_000:
            pytest.skip("Postgres 14 has no such publications")
    source.run(edit)
    assert len(alarms(source)) == (3 if "SET (" in edit or "DROP PUB" in edit else 1)
    assert alarms(source)[0].startswith(f"{source.schema}.issues: somebody took the table out of the publication")


def alarms(source: Source) -> list[str]:
    return [each for each in read_status(source.connection, source.name).alarms if "publication" in each]
