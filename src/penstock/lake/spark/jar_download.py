"""Fetch the jars of Spark's packages ahead of the first session: `python -m penstock.lake.spark.jar_download`.

In: `--with-postgres`, which adds the driver of a catalog in Postgres. Out: a filled package cache, or an exit code
other than 0. Invariant: leaves nothing but the package cache.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import PenstockError
from penstock.lake.spark.packages import PACKAGES, POSTGRES
from penstock.lake.spark.session import open_lake
from penstock.model.settings import Settings, SparkSettings


def main(arguments: Sequence[str]) -> int:
    """Start and stop a session in a temporary folder. Returns the exit code."""
    wanted = SparkSettings(packages=(*PACKAGES, POSTGRES)) if "--with-postgres" in arguments else SparkSettings()
    with tempfile.TemporaryDirectory() as folder:
        try:
            open_lake(Settings(spark=wanted), Path(folder)).close()
        except PenstockError as error:
            print(f"{error.message}\n{error.hint or ''}", file=sys.stderr)
            return 1
        except Exception:  # the JVM reports a failed start in its log only
            log = Path(folder, "spark.log")
            print(log.read_text()[-4000:] if log.exists() else "Spark did not start", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
