"""Spark's Java process: its configuration, and its launch, if need be ahead of the time when it is used.

In: settings and the folder of the embedded state. Out: py4j's gateway to a process that runs and has opened nothing.
Invariant: output of the process goes to a log file, never to the terminal.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from penstock.errors import PenstockError
from penstock.lake.spark.class_archive import CLASS_PATH, JAVA_OPTIONS, archive_options, class_archive
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.packages import LOCAL_FILES, fetch_command, package_configuration, packages_to_fetch
from penstock.model.settings import Settings

NICE = 3
"""What Java and its Python workers add to the nice value of the process that launches them: half the share of the
processor where both want it. Whoever posts rows is answered by that process; a step that ends a little later makes the
next step a little larger."""
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
    # It takes lower(upper(x)) for lower(x), which is another text for some letters ('ß', 'İ').
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.SimplifyCaseConversionExpressions",
    "spark.log.level": "ERROR",
}
# A local Spark listens only to its own processes.
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# Java goes on after a thread had no memory, whichever it was. Tests have seen, each of them for good: no new connection
# from Python is accepted, Spark's context is stopped, a class is unusable. So the process ends, and is started again.
JAVA_DEFAULTS = "-XX:+UseG1GC -XX:+ExitOnOutOfMemoryError"
# Iceberg reads several manifests in threads, for which a query waits in pauses of 10 ms: 50 ms for twenty small files
# that this thread reads from a disk in 15. Source: ParallelIterable and SystemConfigs of Iceberg 1.12.
PLAN_IN_ONE_THREAD = "-Diceberg.scan.plan-in-worker-pool=false"

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


class StartingJava:
    """A process that is launched in the background while its caller does other things. It belongs to whoever takes the
    gateway; until then, to the launch, which can end it. Thread-safe."""

    def __init__(self, settings: Settings, home: Path):
        self._settings = settings
        self._home = home
        self._guard = threading.Lock()
        self._gateway: JavaGateway | None = None
        self._failure: Exception | None = None
        self._is_wanted = True
        self._thread = threading.Thread(target=self._run, name="launch java", daemon=True)
        self._thread.start()

    def take_gateway(self) -> JavaGateway:
        """The gateway, once the process runs; of a new process if the first one was ended. Raises JavaMissing,
        SparkStartFailure."""
        self._thread.join()
        with self._guard:
            if self._failure is not None and self._is_wanted:
                raise self._failure
            gateway, self._gateway = self._gateway, None
        return launch_java(self._settings, self._home) if gateway is None else gateway

    def end(self) -> None:
        """End the process, unless its gateway was taken: at once, or when its launch is over, which is not waited for.
        A process that is launched when this one exits ends by itself."""
        with self._guard:
            self._is_wanted = False
            gateway, self._gateway = self._gateway, None
        if gateway is not None:
            _end_process(gateway)

    def _run(self) -> None:
        try:
            gateway = launch_java(self._settings, self._home)
        except Exception as failure:  # whatever it is, it belongs to whoever asks for the gateway
            self._failure = failure
            return
        with self._guard:
            if self._is_wanted:
                self._gateway = gateway
                return
        _end_process(gateway)


def _end_process(gateway: JavaGateway) -> None:
    gateway.shutdown()
    gateway.proc.stdin.close()  # by that the process ends
    gateway.proc.wait()


def launch_java(settings: Settings, home: Path) -> JavaGateway:
    """Launch Java with the archive of classes if there is one, and without where it does not start with it. Raises
    JavaMissing, SparkStartFailure."""
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _fetch_missing_jars(settings, home / SPARK_LOG)
    conf = java_configuration(settings, home)
    archive = class_archive(settings.spark, Path(os.environ["JAVA_HOME"]), conf.get(CLASS_PATH, ""))
    options = archive_options(archive) if archive is not None else ()
    if archive is None or not options:
        return _launch(settings.spark.master, conf, home)
    quoted = " ".join(f'"{each}"' for each in (*archive.heap_options, *options))
    try:
        return _launch(settings.spark.master, conf | {JAVA_OPTIONS: f"{conf[JAVA_OPTIONS]} {quoted}"}, home)
    except SparkStartFailure:
        gateway = _launch(settings.spark.master, conf, home)
        archive.file.unlink(missing_ok=True)  # it was the archive
        return gateway


def java_configuration(settings: Settings, home: Path) -> dict[str, str]:
    """Spark's configuration without that of the Iceberg catalog, which the settings may name as well."""
    options = f"{JAVA_DEFAULTS} {PLAN_IN_ONE_THREAD}" if _has_tables_on_disk(settings) else JAVA_DEFAULTS
    conf = SPARK_CONF | {
        "spark.driver.memory": settings.spark.driver_memory,
        # The results of a query's tasks wait in the heap until they are fetched.
        "spark.driver.maxResultSize": f"{settings.spark.driver_memory_bytes // 4}b",
        "spark.local.dir": str(home / "tmp"),
        "spark.sql.warehouse.dir": str(home / "spark-warehouse"),
        JAVA_OPTIONS: f'-Dderby.system.home="{home / "tmp"}" {options}',
    }
    if settings.spark.master.startswith("local"):
        conf |= LOOPBACK | LOCAL_FILES
    packages = package_configuration(settings.spark, settings.catalog.get("uri", ""))
    return conf | dict(settings.spark.conf) | packages


def _has_tables_on_disk(settings: Settings) -> bool:
    """Whether the warehouse is a folder of this machine, as it is unless the settings name another."""
    warehouse = settings.catalog.get("warehouse")
    if warehouse is None:
        return settings.catalog.get("type", "jdbc") == "jdbc"
    return warehouse.startswith(("/", "file:"))


def _fetch_missing_jars(settings: Settings, log: Path) -> None:
    """Have the jars in the package cache before the first start. Raises SparkStartFailure."""
    missing = packages_to_fetch(settings.spark, settings.catalog.get("uri", ""))
    if not missing:
        return
    written = _size_of(log)
    with open(_open_log(log), "ab") as said:
        fetched = subprocess.run(fetch_command(missing, settings.spark.conf), stdout=said, stderr=said, check=False)
    if fetched.returncode:
        raise SparkStartFailure(log, written)


def _launch(master: str, conf: Mapping[str, str], home: Path) -> JavaGateway:
    """Raises SparkStartFailure."""
    submitted = SparkConf(loadDefaults=False).setMaster(master).setAll(list(conf.items()))
    written = _size_of(home / SPARK_LOG)
    with (
        open(_open_log(home / SPARK_LOG), "ab") as log,
        ThreadPoolExecutor(1, "java launch", initializer=_leave_the_processor) as launch,
    ):
        try:
            return launch.submit(launch_gateway, submitted, {"stdout": log, "stderr": log}).result()
        except PySparkRuntimeError as error:
            raise SparkStartFailure(home / SPARK_LOG, written) from error


def _leave_the_processor() -> None:
    """Let what this thread launches stand back behind this process. Linux has a nice value for each thread, of which a
    new process takes its own; other systems have one for all threads, which must not change. Where the call is not
    allowed, as in some containers, Java runs as this process does."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.nice(NICE)


def _open_log(log: Path) -> int:
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _size_of(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
