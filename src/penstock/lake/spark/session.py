"""Open the lake: one Spark application and one Iceberg catalog.

In: settings and the folder of the embedded state. Out: `Lake`. Invariant: a process has one Java at a time, which stays
when a session is closed and serves the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from py4j.java_gateway import JavaGateway
from pyiceberg.catalog import Catalog
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from penstock.lake.spark.cancellation import REAPER
from penstock.lake.spark.catalog import (
    disable_blind_commit_retry,
    is_postgres_catalog,
    open_pyiceberg_catalog,
    spark_catalog_properties,
)
from penstock.lake.spark.java_process import StartingJava, java_configuration, launch_java
from penstock.lake.spark.names import CATALOG, MADE_BY, NAMESPACE
from penstock.model.json_documents.spark_functions import (
    EVENT_SEQUENCE,
    FLOAT_TEXT,
    LOWER_BYTES,
    SPARK_FUNCTIONS,
    UPPER_BYTES,
)
from penstock.model.settings import Settings

# A small step takes less time than compiling the code for it.
SMALL_CONF = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# Iceberg puts this into the summary of each INSERT and UPDATE of a session; a snapshot without it was made from
# outside. (A DELETE that only drops whole files does not get it; Penstock runs none.)
MADE_BY_CONF = {f"spark.sql.iceberg.snapshot-property.{MADE_BY}": "penstock"}
BULK_CONF = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "8"}


@dataclass(frozen=True, slots=True)
class Lake:
    """`spark` is tuned for small steps, `bulk` for backfills and queries; both are sessions of one
    Spark application. `catalog` is PyIceberg's view of the same tables, for metadata reads."""

    spark: SparkSession
    bulk: SparkSession
    catalog: Catalog

    @property
    def jvm(self) -> int:
        """The process id of the JVM that Spark runs in."""
        gateway = self.spark.sparkContext._gateway
        assert gateway is not None, "the session was opened here"
        return int(gateway.proc.pid)

    @property
    def has_ended(self) -> bool:
        """Whether that process has ended."""
        gateway = self.spark.sparkContext._gateway
        assert gateway is not None, "the session was opened here"
        return gateway.proc.poll() is not None

    def close(self) -> None:
        self.spark.stop()


def open_lake(settings: Settings, home: Path, java: StartingJava | None = None) -> Lake:
    """Start Spark and open the catalog; embedded defaults live in `home` (made if missing). `java` is a process that
    was launched ahead for this.

    Raises JavaMissing, SparkStartFailure.
    """
    home.mkdir(parents=True, exist_ok=True)
    spark = _start_spark(settings, home, java)
    # This also loads the session's catalog by the session's own configuration, whichever thread uses it first.
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}")
    bulk = spark.newSession()
    for session, tuning in ((spark, SMALL_CONF), (bulk, BULK_CONF)):
        for key, value in (tuning | MADE_BY_CONF).items():
            session.conf.set(key, value)
        register_functions(session)
        if is_postgres_catalog(settings):
            disable_blind_commit_retry(session)
    return Lake(spark, bulk, open_pyiceberg_catalog(settings, home))


def register_functions(session: SparkSession) -> None:
    """Make the functions that compiled SQL calls and Spark does not have known to the session: those on JSON documents,
    which run in Python, and some on texts and events, which are Java classes of ours."""
    for name, function in SPARK_FUNCTIONS.items():
        session.udf.register(name, udf(function.call, function.returns, useArrow=False))
    jvm = session._jvm
    assert jvm is not None, "the session was opened here"
    types, registry = jvm.org.apache.spark.sql.types.DataTypes, session._jsparkSession.udf()
    registry.register(FLOAT_TEXT, jvm.penstock.FloatText(), types.StringType)
    registry.register(EVENT_SEQUENCE, jvm.penstock.EventSequence(), types.LongType)
    registry.register(LOWER_BYTES, jvm.penstock.AsciiCase.lower(), types.BinaryType)
    registry.register(UPPER_BYTES, jvm.penstock.AsciiCase.upper(), types.BinaryType)
    jvm.penstock.StaticFunctions.register(session._jsparkSession)


def _start_spark(settings: Settings, home: Path, java: StartingJava | None) -> SparkSession:
    """Raises JavaMissing, SparkStartFailure."""
    conf = {f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog"}
    properties = spark_catalog_properties(settings, home)
    conf |= {f"spark.sql.catalog.{CATALOG}.{key}": value for key, value in properties.items()}
    if not settings.spark.master.startswith("local"):
        conf |= REAPER
    conf |= java_configuration(settings, home)
    gateway = _gateway(settings, home, java)
    if gateway is not None:
        given = SparkConf(loadDefaults=False).setMaster(settings.spark.master).setAll(list(conf.items()))
        SparkContext(conf=given, gateway=gateway)
    builder = SparkSession.builder.master(settings.spark.master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()  # on that context, or on the one that this process has


def _gateway(settings: Settings, home: Path, java: StartingJava | None) -> JavaGateway | None:
    """The way to Java; None if this process has one from a session before."""
    if SparkContext._gateway is not None:
        return None
    return launch_java(settings, home) if java is None else java.take_gateway()
