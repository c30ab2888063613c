"""The jar through which Iceberg writes local files is what its source says."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

from penstock.lake.spark.packages import DURABLE_FILES_JAR
from penstock.lake.spark.session import Lake

SCRIPT = Path(__file__).parents[2] / "scripts/durable_files_jar.py"


def test_the_jar_is_made_of_its_source(lake: Lake) -> None:
    spec = importlib.util.spec_from_file_location("durable_files_jar", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with zipfile.ZipFile(DURABLE_FILES_JAR) as jar:
        found = {name: jar.read(name) for name in jar.namelist()}
    assert found == script.compile_classes(lake.spark._jvm)


def test_iceberg_writes_through_it(lake: Lake) -> None:
    jvm = lake.spark._jvm
    assert jvm is not None
    conf = lake.spark.sparkContext._jsc.hadoopConfiguration()
    used = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), conf)
    assert used.getClass().getName() == "penstock.DurableFiles"
