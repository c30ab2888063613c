"""Spark starts where it has to resolve packages itself, and still writes local files that a power cut leaves whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OPEN = """
import sys
from pathlib import Path
from penstock.lake.spark.packages import PACKAGES
from penstock.lake.spark.session import open_lake
from penstock.model.settings import Settings, SparkSettings
spark = SparkSettings(master="local[1]", driver_memory="512m", packages=PACKAGES)
lake = open_lake(Settings(spark=spark), Path(sys.argv[1]))
context = lake.spark.sparkContext
files = context._jvm.org.apache.hadoop.fs.Path("file:/").getFileSystem(context._jsc.hadoopConfiguration())
print(files.getClass().getName())
lake.close()
"""


def test_packages_of_the_settings_are_resolved_at_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(tmp_path / "home")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "penstock.DurableFiles", ended.stderr
