"""Tables of a real MariaDB: every type exactly; what cannot be read is an error with its reason."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pymysql
import pytest

from mariadb_server import PASSWORD, USER, MariaDB, mariadb_or_skip
from penstock.deploy.external.mysql_tables import MysqlTables
from penstock.errors import Failed
from penstock.lake.spark.cancellation import WorkCancelled
from penstock.model.external_tables import DatabaseTable, UnreadableTable
from penstock.sql.query import ExternalRead
from waiting import wait_until

COLUMNS = {
    "i8": ("tinyint NOT NULL", "Int8", "-128", -128),
    "u8": ("tinyint unsigned", "Nullable(UInt8)", "255", 255),
    "yes": ("boolean NOT NULL", "Int8", "true", 1),
    "i16": ("smallint NOT NULL", "Int16", "-32768", -32768),
    "i24": ("mediumint unsigned NOT NULL", "UInt32", "16777215", 16777215),
    "i32": ("int(5) NOT NULL", "Int32", "-2147483648", -2147483648),
    "u32": ("int unsigned NOT NULL", "UInt32", "4294967295", 4294967295),
    "i64": ("bigint NOT NULL", "Int64", "-9223372036854775808", -9223372036854775808),
    "u64": ("bigint unsigned NOT NULL", "UInt64", "18446744073709551615", 18446744073709551615),
    "f32": ("float NOT NULL", "Float32", "16777217e-7", 1.6777217388153076),
    "f64": ("double NOT NULL", "Float64", "0.1234567890123456789", 0.12345678901234568),
    "price": (
        "decimal(30,10) NOT NULL",
        "Decimal(30, 10)",
        "'-12345678901234567890.0123456789'",
        "-12345678901234567890.0123456789",
    ),
    "bits": (
        "bit(64) NOT NULL",
        "UInt64",
        "b'1000000000000000000000000000000000000000000000000000000000000001'",
        2**63 + 1,
    ),
    "y": ("year NOT NULL", "UInt16", "1999", 1999),
    "day": ("date NOT NULL", "Date32", "'1931-02-03'", "1931-02-03"),
    "fine": (
        "datetime(6) NOT NULL",
        "DateTime64(6)",
        "'2024-05-06 07:08:09.123456'",
        "2024-05-06 07:08:09.123456+00:00",
    ),
    "plain": ("datetime NOT NULL", "DateTime64(0)", "'1950-05-06 07:08:09'", "1950-05-06 07:08:09+00:00"),
    "at3": ("timestamp(3) NOT NULL", "DateTime64(3)", "'2024-05-06 07:08:09.5'", "2024-05-06 05:08:09.500000+00:00"),
    "at": ("timestamp NOT NULL", "DateTime", "'2024-05-06 07:08:09'", "2024-05-06 05:08:09+00:00"),
    "t": ("varchar(100) NOT NULL", "String", "'a ''b'' \\\\ \\n é😀'", "a 'b' \\ \n é😀"),
    "latin": ("text CHARACTER SET latin1 NOT NULL", "String", "'ü'", "ü"),
    "e": ("enum('x','y') NOT NULL", "String", "'y'", "y"),
    "flags": ("set('p','q') NOT NULL", "String", "'p,q'", "p,q"),
    "j": ("json NOT NULL", "String", "'{\"a\": [1, null]}'", '{"a": [1, null]}'),
    "b": ("blob NOT NULL", "String", "'bytes é'", "bytes é"),
    "t2": ("time(2) NOT NULL", "String", "'-12:34:56.78'", "-12:34:56.78"),
    "odd `name": ("int", "Nullable(Int32)", "NULL", None),
}
"""By name: the type in MySQL and here, the value there and here."""


@pytest.fixture(scope="module")
def shop() -> Iterator[MariaDB]:
    with mariadb_or_skip() as server:
        listed = ", ".join(f"`{name.replace('`', '``')}` {of}" for name, (of, _, _, _) in COLUMNS.items())
        values = ", ".join(value for _, _, value, _ in COLUMNS.values())
        server.run(
            "USE shop",
            "SET time_zone = '+02:00'",
            f"CREATE TABLE shop.every ({listed}) CHARACTER SET utf8mb4",
            f"INSERT INTO shop.every VALUES ({values})",
            "CREATE TABLE shop.many AS SELECT seq AS id, concat('row ', seq) AS label FROM seq_1_to_30000",
            "CREATE TABLE shop.odd (id int, d date, p point, bin blob, wide decimal(50,2))",
            "SET sql_mode = ''",
            "INSERT INTO shop.odd VALUES (1, '2024-00-00', NULL, x'ff', 1)",
            "CREATE TABLE shop.wide AS SELECT seq AS id, repeat('x', 100000) AS label FROM seq_1_to_2000",
        )
        yield server


def table(server: MariaDB, name: str) -> DatabaseTable:
    return DatabaseTable("mysql", "127.0.0.1", server.port, "shop", "", name, USER, PASSWORD)


def read(folder: Path, wanted: DatabaseTable, *used: str) -> list[dict[str, object]]:
    with MysqlTables(folder / "7.ndjson", lambda: False) as tables:
        tables.columns(wanted, frozenset())
        found = tables.read(ExternalRead("x", wanted, frozenset(used)))
        rows: list[dict[str, object]] = pq.read_table(found.path).to_pylist()
        assert found.rows == len(rows)
    assert not [*folder.iterdir()], "no file of it is left"
    return rows


def test_every_type_is_read_exactly(shop: MariaDB, tmp_path: Path) -> None:
    with MysqlTables(tmp_path / "x", lambda: False) as tables:
        types = tables.columns(table(shop, "every"), frozenset()).types
    assert {name: str(of) for name, of in types.items()} == {name: of for name, (_, of, _, _) in COLUMNS.items()}
    (row,) = read(tmp_path, table(shop, "every"), *COLUMNS)
    shown = {name: str(value) if isinstance(COLUMNS[name][3], str) else value for name, value in row.items()}
    assert shown == {name: value for name, (_, _, _, value) in COLUMNS.items()}


def test_rows_are_fetched_in_parts(shop: MariaDB, tmp_path: Path) -> None:
    rows = read(tmp_path, table(shop, "many"), "id")
    assert [row["id"] for row in rows] == [*range(1, 30_001)]
    assert len(read(tmp_path, table(shop, "many"))) == 30_000, "rows are counted without a column"


def test_types_without_a_counterpart_are_told(shop: MariaDB, tmp_path: Path) -> None:
    with MysqlTables(tmp_path / "x", lambda: False) as tables:
        columns = tables.columns(table(shop, "odd"), frozenset())
    assert [*columns.types] == ["id", "d", "bin"]
    assert columns.unreadable["p"] == "is of type point, which has no counterpart here"
    assert columns.unreadable["wide"] == "is of type decimal(50,2), which has no counterpart here"


@pytest.mark.parametrize(("column", "told"), [("d", "column `d` is no Nullable(Date32)"), ("bin", "`bin` is no")])
def test_a_value_that_no_type_has_is_an_error(shop: MariaDB, tmp_path: Path, column: str, told: str) -> None:
    with pytest.raises(Failed) as refused:
        read(tmp_path, table(shop, "odd"), column)
    assert told in str(refused.value)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"name": "manny"}, "there is no table `manny` of the database `shop`"),
        ({"password": "wrong"}, "Access denied"),
        ({"database": "mysql"}, "Access denied"),
        ({"port": 1}, "Can't connect to MySQL server"),
    ],
)
def test_a_table_that_cannot_be_read_is_told(
    shop: MariaDB, tmp_path: Path, wrong: dict[str, object], told: str
) -> None:
    with pytest.raises(UnreadableTable) as refused:
        read(tmp_path, replace(table(shop, "many"), **wrong))  # type: ignore[arg-type]
    assert told in refused.value.message
    assert PASSWORD not in str(refused.value)
    if "name" in wrong:
        assert refused.value.hint == "did you mean `many`?"


@pytest.mark.parametrize("usual", ["REPEATABLE READ", "READ COMMITTED"])
def test_rows_are_of_one_snapshot(shop: MariaDB, tmp_path: Path, usual: str) -> None:
    """Whatever the isolation is that the database gives its connections."""
    shop.run(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {usual}", "CREATE OR REPLACE TABLE shop.moving AS SELECT 1 AS id")
    wanted = table(shop, "moving")
    with MysqlTables(tmp_path / "x", lambda: False) as tables:
        tables.columns(wanted, frozenset())
        shop.run("INSERT INTO shop.moving VALUES (2)")
        assert tables.read(ExternalRead("x", wanted, frozenset({"id"}))).rows == 1
    assert len(read(tmp_path, wanted, "id")) == 2


def test_a_copy_that_stops_lets_the_server_go(shop: MariaDB, tmp_path: Path) -> None:
    holder = pymysql.connect(host="127.0.0.1", port=shop.port, user="root", database="shop")
    stopped = threading.Event()
    wanted = table(shop, "many")
    count = "SELECT count(*) FROM information_schema.processlist WHERE user = 'penstock'"

    def stop_when_it_waits() -> None:
        wait_until(lambda: shop.run(f"{count} AND state LIKE 'Waiting%'") == [(1,)])
        stopped.set()

    try:
        holder.cursor().execute("LOCK TABLES many WRITE")
        waiting = threading.Thread(target=stop_when_it_waits)
        waiting.start()
        with pytest.raises(WorkCancelled), MysqlTables(tmp_path / "x", stopped.is_set) as tables:
            tables.columns(wanted, frozenset())
        waiting.join()
        wait_until(lambda: shop.run(count) == [(0,)])
    finally:
        holder.close()


def test_a_server_that_is_killed_in_the_middle_is_an_error(shop: MariaDB, tmp_path: Path) -> None:
    wanted, path = table(shop, "wide"), tmp_path / "x"
    with MysqlTables(path, lambda: False) as tables:
        tables.columns(wanted, frozenset())
        (id_of_copy,) = shop.run("SELECT id FROM information_schema.processlist WHERE user = 'penstock'")[0]

        def kill_when_it_reads() -> None:
            wait_until(lambda: any(each.stat().st_size for each in tmp_path.iterdir()))
            shop.run(f"KILL {id_of_copy}")

        killing = threading.Thread(target=kill_when_it_reads)
        killing.start()
        with pytest.raises(Failed) as refused:
            tables.read(ExternalRead("x", wanted, frozenset({"id", "label"})))
        killing.join()
    assert "cannot be read" in str(refused.value)
    assert not [*tmp_path.iterdir()]
