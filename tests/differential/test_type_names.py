"""Names of types, those of other databases too: each stands for the type for which it stands in ClickHouse."""

from __future__ import annotations

import json
import re

import pytest
from chdb.session import Session

from clickhouse_session import open_session
from penstock.parse.column_types import UNSUPPORTED, parse_type
from penstock.parse.lexer import InvalidSyntax

WITH_ARGUMENTS = """
VARCHAR(255), TEXT(5), CHARACTER VARYING(3), BINARY(4), VARBINARY(4), BINARY LARGE OBJECT, DOUBLE(3, 2), FLOAT(12),
REAL(3), INT(11), INT(11) UNSIGNED, Int UNSIGNED(3), TINYINT(1) SIGNED, TIMESTAMP(3), TIMESTAMP(0), DATETIME(6),
TIMESTAMP(), DEC(5, 2), NUMERIC(5), NUMERIC, FIXED(9, 3), BIT(3), YEAR(4), SIGNED(3), Boolean(), inet4, Array(TEXT),
Nullable(varchar(3)), Map(CHAR(2), BIGINT UNSIGNED), Tuple(a DOUBLE PRECISION, b INT), LowCardinality(NVARCHAR(9)),
int8, string, uuid, UNSIGNED INTEGER, BOOLEAN(1), INET4(3), BINARY
"""


@pytest.fixture(scope="module")
def clickhouse() -> Session:
    return open_session()


def type_in_clickhouse(clickhouse: Session, name: str) -> str | None:
    """None where ClickHouse refuses the name."""
    try:
        sql = f"SELECT toTypeName(defaultValueOfTypeName('{name}'))"
        found: str = json.loads(clickhouse.query(sql, "JSONCompact").bytes())["data"][0][0]
    except RuntimeError:
        return None
    return " ".join(found.split()).replace("( ", "(")


def type_here(name: str) -> str | None:
    try:
        return str(parse_type(name))
    except InvalidSyntax:
        return None


def test_every_alias(clickhouse: Session) -> None:
    sql = (
        "SELECT name, case_insensitive FROM system.data_type_families WHERE alias_to NOT IN ('', 'Enum', 'FixedString')"
    )
    rows = json.loads(clickhouse.query(sql, "JSONCompact").bytes())["data"]
    names = [name for name, _ in rows] + [name.swapcase() for name, any_case in rows if any_case]
    held = [name for name in names if name.casefold() not in map(str.casefold, UNSUPPORTED)]
    assert len(held) > 100
    assert {name: type_here(name) for name in held} == {name: type_in_clickhouse(clickhouse, name) for name in held}


@pytest.mark.parametrize("name", re.split(r",\s(?![^()]*\))", WITH_ARGUMENTS.strip()))
def test_a_type_with_arguments(clickhouse: Session, name: str) -> None:
    assert type_here(name.strip()) == type_in_clickhouse(clickhouse, name.strip())
