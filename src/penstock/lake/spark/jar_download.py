"""Fetch packages into Spark's package cache: `python -m penstock.lake.spark.jar_download`.

In: `--with-postgres`, which adds the driver of a catalog in Postgres, or packages by name, and Spark's settings of
where to fetch from. Out: a filled package cache, or an exit code other than 0. Invariant: Spark opens local files while
it fetches, so it is not told to use `DurableFiles`, which is made of a class in one of these packages.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.packages import PACKAGES, POSTGRES, fetch_configuration

LOCAL = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def main(arguments: Sequence[str]) -> int:
    """Start Spark, which fetches what it is given, and stop it. Returns the exit code."""
    options = _parse_arguments(arguments)
    packages = options.packages or (*PACKAGES, *((POSTGRES,) if options.with_postgres else ()))
    given = dict(each.partition("=")[::2] for each in options.conf)
    try:
        os.environ["JAVA_HOME"] = str(find_java_home())
        _start_and_stop(LOCAL | fetch_configuration(packages, given))
    except PenstockError as error:
        print(f"{error.message}\n{error.hint or ''}", file=sys.stderr)
        return 1
    except PySparkRuntimeError:  # Java has said why
        return 1
    return 0


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fetch the jars of Spark's packages ahead of the first start.")
    parser.add_argument("packages", nargs="*", help="group:name:version; without any, those that Penstock needs")
    parser.add_argument("--with-postgres", action="store_true", help="the driver of a catalog in Postgres too")
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark, as NAME=VALUE")
    return parser.parse_args(arguments)


def _start_and_stop(conf: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[1]").config("spark.local.dir", folder)
        for key, value in conf.items():
            builder = builder.config(key, value)
        builder.getOrCreate().stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
