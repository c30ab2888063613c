"""The jars of Java classes of our own are what their sources say, and Iceberg writes local files through one."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

from penstock.lake.spark.session import Lake

SCRIPT = Path(__file__).parents[2] / "scripts/java_jars.py"


def test_the_jars_are_made_of_their_sources(lake: Lake) -> None:
    spec = importlib.util.spec_from_file_location("java_jars", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for path in script.SOURCES:
        with zipfile.ZipFile(path) as jar:
            found = {name: jar.read(name) for name in jar.namelist()}
        assert found == script.compile_classes(lake.spark._jvm, path)


def test_iceberg_writes_through_it(lake: Lake) -> None:
    jvm = lake.spark._jvm
    assert jvm is not None
    conf = lake.spark.sparkContext._jsc.hadoopConfiguration()
    used = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), conf)
    assert used.getClass().getName() == "penstock.DurableFiles"
