"""The jars that Spark needs besides its own, and how a session finds them.

In: settings. Out: Spark configuration. Invariant: jars that are in the package cache are put on the class
path: nothing is looked up at start, and Spark does not hand them to its Python workers, which would read each jar's
list of files before every task (0.2 s for Iceberg's); on one machine, Iceberg writes through `DurableFiles`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.model.settings import SparkSettings

LOCAL_FILES_PACKAGE = "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"
PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    LOCAL_FILES_PACKAGE,
)
POSTGRES = "org.postgresql:postgresql:42.7.8"
CACHE = Path("~/.ivy2.5.2")
"""Where Spark 4 keeps packages unless `spark.jars.ivy` says otherwise."""
DURABLE_FILES_JAR = Path(__file__).parent / "jars" / "durable-files.jar"
TEXT_FUNCTIONS_JAR = Path(__file__).parent / "jars" / "text-functions.jar"
"""Functions of compiled SQL on texts, the shortest text of a float, how the rows of an answer come to Python, and which
manifests are merged."""
OUR_JARS = (DURABLE_FILES_JAR, TEXT_FUNCTIONS_JAR)
LOCAL_FILES = {"spark.hadoop.fs.file.impl": "penstock.DurableFiles"}
"""Hadoop's own file system for local files starts a process (`chmod`) for each file it makes, and leaves it to the
operating system when a file reaches the disk. Ours does neither: a file survives a power cut once it is closed."""


def required_packages(catalog: str) -> tuple[str, ...]:
    """The packages of a session whose Iceberg catalog is at this address."""
    return (*PACKAGES, POSTGRES) if catalog.startswith("jdbc:postgresql:") else PACKAGES


def package_configuration(settings: SparkSettings, catalog: str = "") -> dict[str, str]:
    """Spark configuration that gives a session its jars and the driver of its catalog, besides those that the settings
    name. A local session uses the package cache; if others are configured, or on a cluster, Spark resolves them. What
    `DurableFiles` is made of is on the class path in any case: Spark opens files with it while it resolves."""
    packages = settings.packages or required_packages(catalog)
    named = settings.conf.get("spark.jars.packages")
    if not settings.master.startswith("local"):
        sent = _join(",", str(TEXT_FUNCTIONS_JAR), settings.conf.get("spark.jars"))
        return {"spark.jars": sent, "spark.jars.packages": _join(",", *packages, named)}
    cached = _cached_jars(packages, settings.conf)
    resolves = settings.packages is not None or not all(jar.exists() for jar in cached)
    jars = _cached_jars((LOCAL_FILES_PACKAGE,), settings.conf) if resolves else cached
    own = settings.conf.get("spark.driver.extraClassPath")
    path = {"spark.driver.extraClassPath": _join(":", *map(str, (*jars, *OUR_JARS)), own)}
    return path | fetch_configuration((*packages, named), settings.conf) if resolves else path


def packages_to_fetch(settings: SparkSettings, catalog: str = "") -> tuple[str, ...]:
    """The packages that have to be in the cache before a session starts, and are not."""
    if not settings.master.startswith("local"):
        return ()
    needed = (LOCAL_FILES_PACKAGE,) if settings.packages is not None else required_packages(catalog)
    jars = _cached_jars(needed, settings.conf)
    return tuple(package for package, jar in zip(needed, jars, strict=True) if not jar.exists())


def fetch_configuration(packages: Sequence[str | None], conf: Mapping[str, str]) -> dict[str, str]:
    """Spark configuration that resolves packages into the cache, which Java would look for in the home of the user's
    account instead of in that of the environment."""
    fetched = {name: value for name, value in conf.items() if name.startswith("spark.jars.")}
    cache = {"spark.jars.ivy": str(CACHE.expanduser())}
    return cache | fetched | {"spark.jars.packages": _join(",", *packages)}


def fetch_command(packages: Sequence[str], conf: Mapping[str, str]) -> list[str]:
    """The command that fetches packages by a process of its own; `conf` are settings of Spark."""
    given = [f"--conf={name}={value}" for name, value in conf.items() if name.startswith("spark.jars.")]
    return [sys.executable, "-m", "penstock.lake.spark.jar_download", *given, *packages]


def _join(separator: str, *parts: str | None) -> str:
    return separator.join(part for part in parts if part)


def _cached_jars(packages: Sequence[str], conf: Mapping[str, str]) -> list[Path]:
    folder = Path(conf.get("spark.jars.ivy", str(CACHE))).expanduser() / "jars"
    parts = (package.split(":") for package in packages)
    return [folder / f"{group}_{name}-{version}.jar" for group, name, version in parts]
