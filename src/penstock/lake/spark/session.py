"""Open the lake: one Spark application and one Iceberg catalog.

In: settings and the folder of the embedded state. Out: `Lake`. Invariant: output of Spark and its JVM goes to a log
file, never to the terminal.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.lake.spark.cancellation import REAPER
from penstock.lake.spark.catalog import (
    disable_blind_commit_retry,
    is_postgres_catalog,
    open_pyiceberg_catalog,
    spark_catalog_properties,
)
from penstock.lake.spark.class_archive import CLASS_PATH, JAVA_OPTIONS, archive_options, class_archive
from penstock.lake.spark.jar_download import fetch_command
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.json_functions import register_json_functions
from penstock.lake.spark.names import CATALOG, MADE_BY, NAMESPACE
from penstock.lake.spark.packages import LOCAL_FILES, package_configuration, packages_to_fetch
from penstock.model.settings import Settings

SPARK_CONF = {
    "spark.app.name": "penstock",
    "spark.ui.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    # Columns whose names differ only in case are different columns, as in ClickHouse.
    "spark.sql.caseSensitive": "true",
    # Otherwise Spark replaces `${env:…}` and `${spark.…}` in SQL text, also inside quotes, before parsing it.
    "spark.sql.variable.substitute": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    # Iceberg would set this itself when files are rewritten, but in one session only.
    "spark.sql.catalog.default_rewrite_catalog": "org.apache.iceberg.spark.SparkRewriteTableCatalog",
    # Sketches of many groups at once; the default of 128 falls back to sorting.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # Live flows and backfills share the cores by scheduler pool, not in order of arrival.
    "spark.scheduler.mode": "FAIR",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.cleaner.periodicGC.interval": "5min",
    # Spark keeps the plans of past queries as text for its UI, which is off; some plans here are megabytes.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.maxPlanStringLength": "16384",
    # Otherwise JSON in which an object has a key twice is invalid; ClickHouse accepts it.
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.log.level": "ERROR",
}
# A local Spark listens only to its own processes.
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# Java goes on after a thread had no memory, whichever it was. Tests have seen, each of them for good: no new connection
# from Python is accepted, Spark's context is stopped, a class is unusable. So the process ends, and is started again.
JAVA_DEFAULTS = "-XX:+UseG1GC -XX:+ExitOnOutOfMemoryError"
# A small step takes less time than compiling the code for it.
SMALL_CONF = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# Iceberg puts this into the summary of each INSERT and UPDATE of a session; a snapshot without it was made from
# outside. (A DELETE that only drops whole files does not get it; Penstock runs none.)
MADE_BY_CONF = {f"spark.sql.iceberg.snapshot-property.{MADE_BY}": "penstock"}
BULK_CONF = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "8"}


SPARK_LOG = "spark.log"
_RAISED = re.compile(r"^(?:Exception in thread|Error: |Caused by: )|^[\w.$]+(?:Exception|Error): ")


class SparkStartFailure(PenstockError):
    """Java ran, and its process for Spark ended at once. `log` is what it wrote, the last time from `start` on."""

    status, code = 503, "spark-not-started"

    def __init__(self, log: Path, start: int):
        lines = [line.strip() for line in log.read_bytes()[start:].decode(errors="replace").splitlines()]
        # Java and Ivy say much that is no reason, before they say it.
        told = [line for line in lines if line and not line.startswith("WARNING:")]
        raised = (line for line in told if _RAISED.search(line))
        reason = next(raised, None) or next(iter(told), "it said nothing")
        hint = f"{log.name} in .penstock has all of it; `[spark] driver_memory` may be more than this machine has"
        super().__init__(f"Spark's Java process ended while it started: {reason}", hint=hint)


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


def open_lake(settings: Settings, home: Path) -> Lake:
    """Start Spark and open the catalog; embedded defaults live in `home` (made if missing).

    Raises JavaMissing, SparkStartFailure.
    """
    home.mkdir(parents=True, exist_ok=True)
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _fetch_missing_jars(settings, home / SPARK_LOG)
    spark = _start_spark(settings, home)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}")
    bulk = spark.newSession()
    for session, tuning in ((spark, SMALL_CONF), (bulk, BULK_CONF)):
        for key, value in (tuning | MADE_BY_CONF).items():
            session.conf.set(key, value)
        register_json_functions(session)
        if is_postgres_catalog(settings):
            disable_blind_commit_retry(session)
    return Lake(spark, bulk, open_pyiceberg_catalog(settings, home))


def _fetch_missing_jars(settings: Settings, log: Path) -> None:
    """Have the jars in the package cache before the first start. Raises SparkStartFailure."""
    missing = packages_to_fetch(settings.spark, settings.catalog.get("uri", ""))
    if not missing:
        return
    written = _size_of(log)
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as said:
        fetched = subprocess.run(fetch_command(missing, settings.spark.conf), stdout=said, stderr=said, check=False)
    if fetched.returncode:
        raise SparkStartFailure(log, written)


def _start_spark(settings: Settings, home: Path) -> SparkSession:
    """Start Spark's Java with the archive of classes if there is one, and without where it does not start with it."""
    conf = _configuration(settings, home)
    archive = class_archive(settings.spark, Path(os.environ["JAVA_HOME"]), conf.get(CLASS_PATH, ""))
    options = archive_options(archive) if archive is not None else ()
    if archive is None or not options:
        return _start_java(settings.spark.master, conf, home)
    quoted = " ".join(f'"{each}"' for each in (*archive.heap_options, *options))
    try:
        return _start_java(settings.spark.master, conf | {JAVA_OPTIONS: f"{conf[JAVA_OPTIONS]} {quoted}"}, home)
    except SparkStartFailure:
        started = _start_java(settings.spark.master, conf, home)
        archive.file.unlink(missing_ok=True)  # it was the archive
        return started


def _configuration(settings: Settings, home: Path) -> dict[str, str]:
    conf = SPARK_CONF | {
        "spark.driver.memory": settings.spark.driver_memory,
        # The results of a query's tasks wait in the heap until they are fetched.
        "spark.driver.maxResultSize": f"{settings.spark.driver_memory_bytes // 4}b",
        "spark.local.dir": str(home / "tmp"),
        "spark.sql.warehouse.dir": str(home / "spark-warehouse"),
        JAVA_OPTIONS: f'-Dderby.system.home="{home / "tmp"}" {JAVA_DEFAULTS}',
        f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
    }
    if settings.spark.master.startswith("local"):
        conf |= LOOPBACK | LOCAL_FILES
    else:
        conf |= REAPER
    conf |= {
        f"spark.sql.catalog.{CATALOG}.{key}": value for key, value in spark_catalog_properties(settings, home).items()
    }
    packages = package_configuration(settings.spark, settings.catalog.get("uri", ""))
    return conf | dict(settings.spark.conf) | packages


def _start_java(master: str, conf: Mapping[str, str], home: Path) -> SparkSession:
    """Raises SparkStartFailure."""
    builder = SparkSession.builder.master(master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    written = _size_of(home / SPARK_LOG)
    try:
        with _redirect_output(home / SPARK_LOG):
            return builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise SparkStartFailure(home / SPARK_LOG, written) from error


def _size_of(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


@contextmanager
def _redirect_output(log: Path) -> Iterator[None]:
    """File descriptors 1 and 2 point to `log` while the JVM starts, so that it inherits them."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        for number, original in enumerate(kept, start=1):
            os.dup2(original, number)
            os.close(original)
        os.close(target)
