"""Compile the Java class through which Iceberg writes local files, after a change of it.

In: DurableFiles.java. Out: the jar beside it, the same bytes for the same source. Invariant: the compiler is the one
that Spark brings (Janino), so a JRE is enough; a test holds the jar against the source.
"""

from __future__ import annotations

import sys
import zipfile

from py4j.java_gateway import JavaObject
from pyspark.conf import SparkConf
from pyspark.java_gateway import launch_gateway

from penstock.lake.spark.packages import DURABLE_FILES_JAR, package_configuration
from penstock.model.settings import SparkSettings

SOURCE = DURABLE_FILES_JAR.with_name("DurableFiles.java")
MADE = (1980, 1, 1, 0, 0, 0)
"""The time of each entry of the jar: the earliest that a ZIP file can hold."""


def main() -> int:
    conf = SparkConf().set("spark.log.level", "ERROR")
    for key, value in package_configuration(SparkSettings(master="local[1]")).items():
        conf = conf.set(key, value)
    gateway = launch_gateway(conf)
    try:
        write_jar(compile_classes(gateway.jvm))
    finally:
        gateway.shutdown()
    print(DURABLE_FILES_JAR.name)
    return 0


def compile_classes(jvm: JavaObject) -> dict[str, bytes]:
    """By path in the jar, each class of the source."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(SOURCE.read_text(encoding="utf-8"))
    classes = compiler.getBytecodes()
    return {f"{str(name).replace('.', '/')}.class": bytes(classes[name]) for name in sorted(classes)}


def write_jar(classes: dict[str, bytes]) -> None:
    with zipfile.ZipFile(DURABLE_FILES_JAR, "w", zipfile.ZIP_STORED) as jar:
        for path, code in classes.items():
            jar.writestr(zipfile.ZipInfo(path, MADE), code)


if __name__ == "__main__":
    sys.exit(main())
