"""A name of a versioned table is found wherever SQL reads a table, and nowhere else."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from penstock import OlapConfig, OlapTable
from penstock.api.project.versioned_names import name_versions


class Row(BaseModel):
    id: str


READ = {
    "SELECT ev.id FROM ev": "SELECT ev_1.id FROM ev_1",
    "SELECT `ev`.id FROM `ev`": "SELECT ev_1.id FROM ev_1",
    "SELECT 1 FROM a, ev": "SELECT 1 FROM a, ev_1",
    "SELECT 1 FROM a AS b, (SELECT 1, ev FROM c) d, ev e": "SELECT 1 FROM a AS b, (SELECT 1, ev FROM c) d, ev_1 e",
    "SELECT 1 FROM a JOIN b ON f(a.x, ev) = 1, ev": "SELECT 1 FROM a JOIN b ON f(a.x, ev) = 1, ev_1",
    "SELECT 1 FROM a WHERE id NOT IN ev": "SELECT 1 FROM a WHERE id NOT IN ev_1",
    "SELECT 1 FROM /* c, */ ev -- FROM ev": "SELECT 1 FROM /* c, */ ev_1 -- FROM ev",
    "SELECT 1 FROM -- c\n  ev": "SELECT 1 FROM -- c\n  ev_1",
    "SELECT 'FROM ev', ev(1) FROM ev(2)": "SELECT 'FROM ev', ev(1) FROM ev(2)",
    "SELECT 1, ev FROM a ARRAY JOIN b, ev": "SELECT 1, ev FROM a ARRAY JOIN b, ev",
    "SELECT 1 FROM a USING (x) ORDER BY b, ev": "SELECT 1 FROM a USING (x) ORDER BY b, ev",
    "SELECT 1 FROM other.ev": "SELECT 1 FROM other.ev",
}


@pytest.mark.parametrize("written", READ)
def test_a_name_is_the_version_that_is_read(written: str) -> None:
    table = OlapTable[Row]("ev", OlapConfig(version="1"))
    assert name_versions(written, [table], {"ev_1", "a", "b"}).text == READ[written]
