"""Compile the Java classes that Spark is given, after a change of them.

In: each Java source of `lake/spark/jars`. Out: the jar beside it, the same bytes for the same source. Invariant: the
compiler is the one that Spark brings (Janino), so a JRE is enough; a test holds the jars against their sources.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from py4j.java_gateway import JavaObject
from pyspark.conf import SparkConf
from pyspark.java_gateway import launch_gateway

from penstock.lake.spark.packages import DURABLE_FILES_JAR, TEXT_FUNCTIONS_JAR, package_configuration
from penstock.model.settings import SparkSettings

SOURCES = {
    DURABLE_FILES_JAR: ("DurableFiles.java",),
    TEXT_FUNCTIONS_JAR: (
        "FloatText.java",
        "AsciiCase.java",
        "EventSequence.java",
        "ZoneClock.java",
        "BestEffortTime.java",
        "FixedTime.java",
        "hashes/Hashes.java",
        "hashes/CityHash.java",
        "hashes/FarmHash.java",
        "hashes/SipHash.java",
        "texts/ByteTexts.java",
        "json/JsonSource.java",
        "json/JsonLetters.java",
        "json/JsonNumbers.java",
        "json/JsonValue.java",
        "json/KeyValuePairs.java",
        "texts/LetterCases.java",
        "texts/Initials.java",
        "PublicSuffixes.java",
        "Site.java",
        "NetworkLocation.java",
        "texts/TextDistance.java",
        "texts/FixedPoint.java",
        "StaticFunctions.java",
        "AnswerRows.java",
        "ManifestMerge.java",
    ),
}
"""The sources of each jar, in its folder; a class that another one uses comes first."""
MADE = (1980, 1, 1, 0, 0, 0)
"""The time of each entry of a jar: the earliest that a ZIP file can hold."""


def main() -> int:
    conf = SparkConf().set("spark.log.level", "ERROR")
    for key, value in package_configuration(SparkSettings(master="local[1]")).items():
        conf = conf.set(key, _without_our_jars(value))
    gateway = launch_gateway(conf)
    try:
        for jar in SOURCES:
            write_jar(jar, compile_classes(gateway.jvm, jar))
            print(jar.name)
    finally:
        gateway.shutdown()
    return 0


def _without_our_jars(path: str) -> str:
    """A class path without the jars as they were: a source is compiled beside the other sources, not beside those."""
    return ":".join(part for part in path.split(":") if Path(part) not in SOURCES)


def compile_classes(jvm: JavaObject, jar: Path) -> dict[str, bytes]:
    """By path in the jar, each class of its sources."""
    found = {}
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for source in SOURCES[jar]:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(loader)
        compiler.cook((jar.parent / source).read_text(encoding="utf-8"))
        loader = compiler.getClassLoader()
        classes = compiler.getBytecodes()
        found |= {f"{str(name).replace('.', '/')}.class": bytes(classes[name]) for name in sorted(classes)}
    return found


def write_jar(path: Path, classes: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as jar:
        for name, code in classes.items():
            jar.writestr(zipfile.ZipInfo(name, MADE), code)


if __name__ == "__main__":
    sys.exit(main())
