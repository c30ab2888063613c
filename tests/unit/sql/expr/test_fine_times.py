"""Times with nanoseconds: every function keeps them, does not depend on them, or is refused."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import PROJECT, datasource, problems, query

from penstock.model.project import Project
from penstock.sql.calls.special_forms import SPECIAL_FORMS
from penstock.sql.functions.table import FUNCTIONS, fine_time_use

TICKS = datasource("ticks", {"at": "DateTime64(9)", "n": "UInt8", "t3": "DateTime64(3)"})
FINE = Project((*PROJECT.datasources, TICKS))
REFUSED = (
    "intHash64(at)",
    "toStartOfInterval(at, INTERVAL 5 MILLISECOND)",
    "formatDateTime(at, '%S.%f')",
    "avg(at)",
    "quantileExact(at)",
    "windowFunnel(10)(at, n = 1)",
    "timeSlot(at) + at",
)
KEPT = {
    "at": "DateTime64(9)",
    "max(at)": "DateTime64(9)",
    "if(n > 1, at, t3)": "DateTime64(9)",
    "at + INTERVAL 1 DAY": "DateTime64(9)",
    "toTimeZone(at, 'Asia/Tokyo')": "DateTime64(9, 'Asia/Tokyo')",
    "at - t3": "Decimal(18, 9)",
    "toDateTime64(at, 3)": "DateTime64(3)",
    "toDateTime64(t3, 8)": "DateTime64(8)",
    "[at]": "Array(DateTime64(9))",
    "toStartOfSecond(at)": "DateTime64(9)",
    "cityHash64(at)": "UInt64",
}


@pytest.mark.parametrize("written", REFUSED)
def test_what_would_lose_nanoseconds_is_refused(written: str) -> None:
    assert problems(f"SELECT {written} FROM ticks", FINE)


@pytest.mark.parametrize("written", KEPT)
def test_what_keeps_them_has_their_type(written: str) -> None:
    ((_, of),) = query(f"SELECT {written} AS x FROM ticks", FINE).columns
    assert str(of) == KEPT[written]


@pytest.mark.parametrize("written", ["toHour(at)", "toStartOfDay(at)", "dateDiff('hour', at, t3)", "toDate(at)"])
def test_what_does_not_depend_on_them_reads_microseconds(written: str) -> None:
    assert "timestamp_micros(" in query(f"SELECT {written} AS x FROM ticks", FINE).sql


def test_nothing_goes_through_a_double() -> None:
    sql = query("SELECT at = t3, coalesce(t3, at), toDateTime64(t3, 9) FROM ticks", FINE).sql
    assert "CAST(`ticks`.`t3` AS DECIMAL" not in sql


def test_only_known_functions_take_them() -> None:
    known = [name for name in FUNCTIONS if fine_time_use(name) is not None]
    assert {"toYear", "coalesce"} <= set(known)
    assert "intHash64" not in known
    assert not set(known) & set(SPECIAL_FORMS)
