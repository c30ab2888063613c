"""Registers the functions on JSON documents with a Spark session.

In: a session. Out: nothing. Invariant: a session that runs compiled SQL knows them; they belong to the session, not to
the application.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from penstock.model.json_documents.spark_functions import SPARK_FUNCTIONS


def register_json_functions(session: SparkSession) -> None:
    """Make the functions known under their names."""
    for name, function in SPARK_FUNCTIONS.items():
        session.udf.register(name, udf(function.call, function.returns, useArrow=False))
