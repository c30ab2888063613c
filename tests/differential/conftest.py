"""ClickHouse and Spark, once for all differential tests. Spark runs as Penstock runs it, but without Iceberg."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.differential.engines import ClickHouse, Spark

from penstock.lake.spark.java_process import SPARK_CONF
from penstock.lake.spark.packages import TEXT_FUNCTIONS_JAR
from penstock.lake.spark.session import register_functions

OF_ICEBERG = ("spark.sql.extensions", "spark.sql.catalog.default_rewrite_catalog")
"""Its jars are not there; no table is."""


@pytest.fixture(scope="session")
def clickhouse() -> ClickHouse:
    return ClickHouse()


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    # The functions on JSON documents run in Python workers, which need the Python that has Penstock.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]")
    ours = {key: value for key, value in SPARK_CONF.items() if key not in OF_ICEBERG}
    path = {"spark.driver.extraClassPath": str(TEXT_FUNCTIONS_JAR)}
    conf = ours | path | {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "3g", "spark.log.level": "OFF"}
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    register_functions(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(spark_session: SparkSession) -> Spark:
    return Spark(spark_session)


@pytest.fixture(scope="session")
def quick(spark: Spark) -> Spark:
    """A session that compiles no code for queries over six rows, as the one for small steps."""
    session = spark.session.newSession()
    register_functions(session)
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return Spark(session)
