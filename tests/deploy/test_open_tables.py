"""Other Iceberg readers get what SQL answers, whatever is deployed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import RESTError
from pyiceberg.expressions import EqualTo
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from deploy.conftest import Running
from deploy.test_copies import ONE, TYPES
from duckdb_reader import duckdb_connection
from penstock.deploy.maintenance.maintained_tables import maintained_tables
from penstock.deploy.maintenance.retention import RetainedData
from penstock.deploy.maintenance.snapshot_cleanup import SnapshotExpiry
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.file_layouts import file_layout
from penstock.lake.maintenance.data_files import list_data_files
from penstock.lake.maintenance.rewrite import compact_files
from penstock.lake.tables.physical_tables import load_table
from penstock.serve.http.pipeline_host import PipelineHost
from unit.serve.web_server import web_server
from waiting import wait_until

HITS = """SCHEMA >
    at DateTime `json:$.at`,
    path String `json:$.path`,
    n Int32 `json:$.n`
ENGINE MergeTree
ENGINE_PARTITION_KEY toYYYYMM(at)
ENGINE_SORTING_KEY path, at
"""
CHANGED = """SCHEMA >
    at DateTime `json:$.at`,
    url String `json:$.path` RENAMED_FROM path,
    n Int32 `json:$.n`,
    country String `json:$.country` DEFAULT 'none',
    score Nullable(Float64) `json:$.score`,
    seen DateTime `json:$.seen` DEFAULT '2020-01-02 03:04:05'
ENGINE MergeTree
ENGINE_PARTITION_KEY toYYYYMM(at)
ENGINE_SORTING_KEY url, at
"""

SPARKS_OWN = ("files", "snapshots", "history", "partitions", "refs", "manifests", "metadata_log_entries")
"""Spark's metadata tables."""


@dataclass(frozen=True)
class Readers:
    """Readers of a running pipeline, each as it gives the rows of a table."""

    running: Running
    uri: str
    token: str
    spark: SparkSession

    def pyiceberg(self, table: str) -> list[dict[str, object]]:
        return self.catalog().load_table(table).scan().to_arrow().to_pylist()

    def catalog(self) -> Catalog:
        return load_catalog("p", type="rest", uri=self.uri, token=self.token)

    def in_spark(self, table: str) -> list[dict[str, object]]:
        return [row.asDict() for row in self.spark.sql(f"SELECT * FROM p.{table}").collect()]

    def in_duckdb(self, table: str) -> list[dict[str, object]]:
        with duckdb_connection(self.uri, self.token) as connection:
            return connection.execute(f"SELECT * FROM p.{table}").to_arrow_table().to_pylist()

    def by_sql(self, table: str) -> list[dict[str, object]]:
        namespace, _, name = table.partition(".")
        result = self.running.pipeline.reader.sql(f"SELECT * FROM {name}", namespace.strip("`"))
        return [dict(zip([name for name, _ in result.columns], row, strict=True)) for row in result.rows]


@pytest.fixture(scope="module")
def readers(running: Running) -> Iterator[Readers]:
    host = PipelineHost()
    host.opened(running.pipeline)
    token = running.pipeline.tokens.create("readers", ["read"])
    with web_server(host) as (address, port):
        uri = f"http://{address}:{port}/iceberg"
        spark = running.pipeline.core.warehouse.lake.bulk.newSession()
        spark.conf.set("spark.sql.catalog.p", "org.apache.iceberg.spark.SparkCatalog")
        for key, value in {"type": "rest", "uri": uri, "token": token, "cache-enabled": "false"}.items():
            spark.conf.set(f"spark.sql.catalog.p.{key}", value)
        yield Readers(running, uri, token, spark)


def in_order(rows: list[dict[str, object]]) -> list[tuple[tuple[str, object], ...]]:
    """Rows in an order of their own, with moments without zones."""
    plain = [{k: v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for k, v in row.items()} for row in rows]
    return sorted((tuple(sorted(row.items())) for row in plain), key=repr)


def assert_all_agree(readers: Readers, table: str) -> None:
    expected = in_order(readers.by_sql(table))
    assert in_order(readers.pyiceberg(table)) == expected, f"PyIceberg, {table}"
    assert in_order(readers.in_spark(table)) == expected, f"Spark, {table}"
    assert in_order(readers.in_duckdb(table)) == expected, f"DuckDB, {table}"


def hits(first: int, count: int = 20) -> list[Mapping[str, object]]:
    return [
        {
            "at": f"2024-0{1 + n % 3}-01 00:00:{n % 60:02}",
            "path": f"/{n % 4}",
            "n": n,
            "country": f"c{n}",
            "score": n / 2,
        }
        for n in range(first, first + count)
    ]


def test_a_version_with_new_and_renamed_columns(running: Running, readers: Readers) -> None:
    running.deploy({"datasources/hits.datasource": HITS})
    running.post("hits", hits(0))
    staged = running.deploy({"datasources/hits.datasource": CHANGED}, promote=False)
    running.post("hits", hits(20))
    assert staged.state == "ready"
    assert_all_agree(readers, "live.hits")
    assert_all_agree(readers, "staging.hits")


def assert_a_beginning(rows: list[dict[str, object]], expected: Callable[[int], Mapping[str, object]]) -> None:
    """The rows are the first of those that were posted, each once, with the values that they have in the version."""
    found = sorted(rows, key=lambda row: int(str(row["n"])))
    assert [row["n"] for row in found] == list(range(len(found)))
    for row in found:
        n = int(str(row["n"]))
        assert {name: row[name] for name in expected(n)} == expected(n), row


def test_rows_arrive_while_versions_change(running: Running, readers: Readers) -> None:
    """The rows that came while the columns were being added have the default too."""
    running.deploy({"datasources/live_hits.datasource": HITS})
    with running.posting("live_hits", lambda n: hits(n, 1)[0]) as posting:
        posting.wait_for(100)
        staged = running.deploy({"datasources/live_hits.datasource": CHANGED}, promote=False)
        posting.wait_for(100)

        def before(n: int) -> Mapping[str, object]:
            return {"path": f"/{n % 4}"}

        assert_a_beginning(readers.pyiceberg("live.live_hits"), before)
        assert_a_beginning(readers.in_spark("live.live_hits"), before)
        assert_a_beginning(readers.in_duckdb("live.live_hits"), before)
        assert set(readers.in_spark("staging.live_hits")[0]) == {"at", "url", "n", "country", "score", "seen"}
        running.promote()
        assert set(readers.pyiceberg("live.live_hits")[0]) == {"at", "url", "n", "country", "score", "seen"}
        running.rollback()
        assert_a_beginning(readers.in_spark("live.live_hits"), before)
        running.promote(str(staged.id))
    running.catch_up()
    assert_all_agree(readers, "live.live_hits")
    assert_all_agree(readers, "previous.live_hits")


def test_a_reader_keeps_its_files(running: Running, readers: Readers) -> None:
    """A table that was handed out stays although its version is retired."""
    running.deploy({"datasources/kept.datasource": HITS})
    running.post("kept", hits(0))
    table = readers.catalog().load_table("live.kept")
    running.deploy({"datasources/kept.datasource": None}, destructive=True)
    running.pipeline.deployer.retire(None)
    assert table.scan().to_arrow().num_rows == 20


def test_a_column_that_a_reader_holds_is_not_taken_for_another_one(running: Running, readers: Readers) -> None:
    """It is dropped once the lease of its version has ended. Till then, a column of its name would have its values,
    or could not be written."""
    name, key = "datasources/again.datasource", "SCHEMA >\n    k Int32 `json:$.k`"
    running.deploy({name: f"{key},\n    a String `json:$.a`,\n    b String `json:$.b`\n"})
    running.post("again", [{"k": 1, "a": "old", "b": "old"}])
    readers.catalog().load_table("live.again")
    running.deploy({name: f"{key}\n"}, destructive=True)
    running.pipeline.deployer.retire(None)
    running.deploy({name: f"{key},\n    a String `json:$.a` DEFAULT 'new',\n    b Int64 `json:$.b` DEFAULT 7\n"})
    running.post("again", [{"k": 2}])
    assert sorted(running.ask("SELECT k, a, b FROM again")) == [(1, "new", 7), (2, "new", 7)]
    assert_all_agree(readers, "live.again")


def test_compacted_files_have_the_default(running: Running, readers: Readers) -> None:
    running.deploy({"datasources/packed.datasource": HITS})
    for n in range(3):
        running.post("packed", hits(n * 20))
    live = running.deploy({"datasources/packed.datasource": CHANGED})
    running.post("packed", hits(60))
    binding = live.manifest.binding("packed")
    assert binding is not None
    core, table = running.pipeline.core, binding.table
    current = core.warehouse.registry.refresh(table).current
    assert current is not None
    cut = max(column.before.cut or 0 for column in binding.columns if column.before is not None)
    found = [each for each in list_data_files(core.warehouse.lake, table, current.id) if each.high <= cut]
    assert len(found) > 3
    layout = file_layout((), core.store.deployments.get(live.id).manifest.bindings_of(table))
    compact_files(core.warehouse.lake, table, current.id, found, layout)
    core.warehouse.registry.refresh(table)
    assert_all_agree(readers, "live.packed")
    assert "penstock.left-out-columns" not in readers.catalog().load_table("live.packed").properties


def test_rows_that_a_version_rejects_are_never_given_to_it(running: Running, readers: Readers) -> None:
    narrow = "SCHEMA >\n    n Int8 `json:$.n`\n"
    running.deploy({"datasources/narrow.datasource": narrow})
    running.post("narrow", [{"n": 1}])
    staged = running.deploy({"datasources/narrow.datasource": narrow.replace("Int8", "Int32")}, promote=False)
    running.post("narrow", [{"n": 2}])
    assert_all_agree(readers, "live.narrow")
    running.post("narrow", [{"n": 1000}])
    with pytest.raises(RESTError, match="another version"):
        readers.pyiceberg("live.narrow")
    assert_all_agree(readers, "staging.narrow")
    running.pipeline.deployer.discard(str(staged.id))


def test_computed_columns_are_left_out_until_they_are_stored(running: Running, readers: Readers) -> None:
    first = "SCHEMA >\n    n Int32 `json:$.n`,\n    t String `json:$.t`\n"
    running.deploy({"datasources/computed.datasource": first})
    running.post("computed", [{"n": n, "t": f"t{n}"} for n in range(5)])
    longer = first.replace("t String `json:$.t`", "t String `json:$.t`,\n    u String `json:$.u`")
    query = longer + "FORWARD_QUERY >\n    SELECT n, t, upper(t) AS u\n"
    later = "[deploy]\nmaterialize_bytes = 0\n"
    staged = running.deploy({"datasources/computed.datasource": query, "penstock.toml": later}, promote=False)
    running.post("computed", [{"n": 5, "t": "t5", "u": "own"}])
    table = readers.catalog().load_table("staging.computed")
    assert table.properties["penstock.left-out-columns"].startswith("u: ")
    assert set(table.scan().to_arrow().column_names) == {"n", "t"}
    running.promote(str(staged.id))
    wait_until(lambda: "penstock.left-out-columns" not in readers.catalog().load_table("live.computed").properties, 120)
    assert_all_agree(readers, "live.computed")
    running.deploy({"penstock.toml": None})


def test_what_properties_say(running: Running, readers: Readers) -> None:
    columns = "SCHEMA >\n    at DateTime `json:$.at`,\n    n Int32 `json:$.n`\n"
    running.deploy(
        {
            "datasources/nothing.datasource": columns + "ENGINE Null\n",
            "datasources/latest.datasource": columns + "ENGINE ReplacingMergeTree\nENGINE_SORTING_KEY n\n",
            "datasources/young.datasource": columns + "ENGINE MergeTree\nENGINE_TTL at + INTERVAL 1 DAY\n",
        }
    )
    for name in ("nothing", "latest", "young"):
        running.post(name, [{"at": "2040-01-01 00:00:00", "n": 1}] * 2)
    found = {name: readers.catalog().load_table(f"live.{name}") for name in ("nothing", "latest", "young")}
    assert found["nothing"].scan().to_arrow().num_rows == 0
    assert "engine is Null" in found["nothing"].properties["penstock.rows"]
    assert "without FINAL" in found["latest"].properties["penstock.unmerged"]
    assert "penstock.expired-rows" in found["young"].properties
    assert_all_agree(readers, "live.latest")
    assert_all_agree(readers, "live.young")
    assert readers.in_spark("live.nothing") == []
    for name in SPARKS_OWN:
        assert len(readers.in_spark(f"live.latest.{name}")) == 1, name
    assert len(readers.catalog().load_table("live.latest").inspect.history()) == 1


def run_at_once(core: Core, reader_seconds: int) -> Core:
    """The same parts with settings by which superseded snapshots and their files go at once, as far as leases let
    them."""
    now = core.settings
    soon = replace(now.maintenance, snapshot_seconds=0, max_snapshots=1, reader_seconds=reader_seconds)
    server, flow = replace(now.server, max_query_seconds=-5), replace(now.flow, max_step_seconds=-5)
    return replace(core, settings=replace(now, maintenance=soon, server=server, flow=flow))


def expire_all(core: Core, table: str) -> None:
    """Expire the snapshots of a table and delete the files that may go."""
    expiry = SnapshotExpiry(core)
    (on,) = (each for each in maintained_tables(core.store, core.warehouse) if each.table.id == table)
    for _ in range(3):
        expiry.run(on, RetainedData())


def test_files_that_were_handed_out_outlive_compaction_and_expiry(running: Running, readers: Readers) -> None:
    live = running.deploy({"datasources/old.datasource": HITS})
    for n in range(3):
        running.post("old", hits(n * 20))
    binding = live.manifest.binding("old")
    assert binding is not None
    core, table = running.pipeline.core, binding.table
    given = readers.catalog().load_table("live.old")
    current = core.warehouse.registry.refresh(table).current
    assert current is not None
    files = list_data_files(core.warehouse.lake, table, current.id)
    compact_files(core.warehouse.lake, table, current.id, files, file_layout((), live.manifest.bindings_of(table)))
    running.post("old", hits(60))
    expire_all(run_at_once(core, reader_seconds=3_600), table)
    physical = load_table(core.warehouse.lake, table)
    assert physical is not None
    assert physical.snapshot_by_id(current.id) is None, "its snapshot has expired all the same"
    assert given.scan().to_arrow().num_rows == 60
    assert_all_agree(readers, "live.old")


def test_history_is_refused(running: Running, readers: Readers) -> None:
    """A reader has one snapshot. A stream, or changes, would begin with the last rows."""
    running.deploy({"datasources/past.datasource": HITS})
    for n in range(2):
        running.post("past", hits(n * 20))
    with pytest.raises(Exception, match="none of its history"):
        readers.spark.sql("SELECT * FROM p.live.past.changes").collect()
    stream = readers.spark.readStream.table("p.live.past").writeStream.format("memory").queryName("past_stream")
    with pytest.raises(StreamingQueryException, match="overwrite"):
        stream.trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(Exception, match="Cannot find"):
        readers.spark.sql("SELECT * FROM p.live.past TIMESTAMP AS OF '2020-01-01'").collect()
    for name in SPARKS_OWN:
        assert readers.in_spark(f"live.past.{name}"), name


def test_spark_deletes_no_file_of_another_version(running: Running, readers: Readers) -> None:
    """Its procedures take what the metadata of one version does not name for orphans."""
    running.deploy({"datasources/guarded.datasource": HITS})
    for n in range(2):
        running.post("guarded", hits(n * 20))
    far = "TIMESTAMP'2100-01-01 00:00:00'"
    for call in (
        f"remove_orphan_files(table => 'live.guarded', older_than => {far})",
        "expire_snapshots('live.guarded')",
    ):
        with pytest.raises(Exception, match="GC is disabled"):
            readers.spark.sql(f"CALL p.system.{call}").collect()
    with pytest.raises(Exception, match="GC is disabled"):
        readers.spark.sql("DROP TABLE p.live.guarded PURGE")
    assert_all_agree(readers, "live.guarded")


DEFAULTS = {
    "b": "Bool DEFAULT true",
    "i": "Int64 DEFAULT -9223372036854775808",
    "u": "UInt64 DEFAULT 18446744073709551615",
    "f": "Float32 DEFAULT 0.1",
    "d": "Decimal(9, 2) DEFAULT 12.5",
    "dd": "Decimal(38, 10) DEFAULT 1.5",
    "s": "String DEFAULT 'it''s'",
    "id": "UUID DEFAULT '61F0C404-5cb3-11e7-907b-a6006ad3dba0'",
    "day": "Date DEFAULT '2020-02-03'",
    "t": "DateTime('Asia/Tokyo') DEFAULT '2020-02-03 04:05:06'",
    "t6": "DateTime64(6) DEFAULT '1969-12-31 23:59:59.999999'",
    "t9": "DateTime64(9) DEFAULT '2020-02-03 04:05:06.000000007'",
    "e": "Enum8('a' = 1, 'b' = 2) DEFAULT 2",
    "j": 'JSON DEFAULT \'{"b": 1, "a": null}\'',
}
"""Columns that are added to a table with rows, of every type that has defaults in Iceberg."""


def test_spark_finds_rows_by_a_default(running: Running, readers: Readers) -> None:
    """It reads first: for PyIceberg the defaults of times are stored in files, so Spark would find them there."""
    first = "SCHEMA >\n    k Int32 `json:$.k`"
    added = "".join(
        f",\n    {name} {of.replace(' DEFAULT', f' `json:$.{name}` DEFAULT')}" for name, of in DEFAULTS.items()
    )
    running.deploy({"datasources/defaulted.datasource": first + "\n"})
    running.post("defaulted", [{"k": n} for n in range(3)])
    running.deploy({"datasources/defaulted.datasource": f"{first}{added}\n"})
    running.post("defaulted", [{"k": n} for n in range(3, 5)])
    table = readers.spark.table("p.live.defaulted")
    assert set(table.columns) == {"k", *DEFAULTS}
    old, new = (table.where(f"k = {k}").first() for k in (0, 4))
    assert old is not None
    assert new is not None
    assert old[1:] == new[1:], "rows from before have the default, which the newer ones have by landing"
    for name in DEFAULTS:
        assert table.where(col(name) == lit(old[name]).cast(table.schema[name].dataType)).count() == 5, name
        assert table.where(col(name).isNull()).count() == 0, name
    assert in_order(readers.in_spark("live.defaulted")) == in_order(readers.by_sql("live.defaulted"))
    assert_all_agree(readers, "live.defaulted")


def test_readers_that_come_at_once_all_get_a_default(running: Running, readers: Readers) -> None:
    """PyIceberg finds no row by the default of a date, so it is stored first: by one of those who ask, and the others
    wait for it."""
    first = "SCHEMA >\n    k Int32 `json:$.k`"
    running.deploy({"datasources/crowded.datasource": f"{first}\n"})
    running.post("crowded", [{"k": n} for n in range(3)])
    running.deploy({"datasources/crowded.datasource": f"{first},\n    day Date `json:$.day` DEFAULT '2020-02-03'\n"})
    catalogs = [readers.catalog() for _ in range(4)]
    with ThreadPoolExecutor(len(catalogs)) as pool:
        tables = list(pool.map(lambda each: each.load_table("live.crowded"), catalogs))
    for table in tables:
        assert table.scan(EqualTo("day", "2020-02-03")).to_arrow().num_rows == 3


def test_values_of_every_type(running: Running, readers: Readers) -> None:
    columns = ",\n".join(f"    {name} {of} `json:$.{name}`" for name, of in TYPES.items())
    running.deploy({"datasources/kinds.datasource": f"SCHEMA >\n{columns}\n"})
    running.post("kinds", [ONE])
    found, expected = readers.in_spark("live.kinds"), readers.by_sql("live.kinds")
    assert len(expected) == 1
    assert repr(found) == repr(expected)
    assert readers.catalog().load_table("live.kinds").scan().to_arrow().column_names == list(TYPES)
