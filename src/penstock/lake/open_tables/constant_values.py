"""The values of constants as Iceberg writes them in metadata.

In: the columns whose older rows have one constant value, and their types in Iceberg's metadata. Out: `Constant` values.
Invariant: Spark computes the value, as it does for queries; what Iceberg cannot write as a default has no value.
Source: Iceberg spec, "JSON single-value serialization" and "Default values".
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from pyspark.errors import PySparkException

from penstock.lake.open_tables.shown_columns import Constant, Json
from penstock.lake.spark.session import Lake
from penstock.model.manifest import BoundColumn
from penstock.sql.stored_types import spark_type

STORED, OPAQUE = Constant(None, "stored"), Constant(None, "opaque")
NESTED = "nested"
"""Stands for the type of lists, maps and tuples."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
log = logging.getLogger("penstock.lake")


class ConstantValues:
    """Computes constants, and remembers those that were used last."""

    def __init__(self, lake: Lake):
        self._lake = lake
        self._known = lru_cache(maxsize=4096)(self._compute)

    def of(self, column: BoundColumn, stored: str) -> Constant:
        """The value of the column in older rows; `stored` is its type in the table's metadata, or NESTED."""
        assert column.before is not None, "the caller has looked"
        try:
            return self._known(column.before.expression, spark_type(column.type), stored)
        except (PySparkException, OverflowError, ValueError) as error:
            # It is not remembered: Spark may have had no memory, or been busy ending.
            log.info("the default of %s cannot be computed: %s", column.name, error)
            return OPAQUE

    def _compute(self, expression: str, of: str, kind: str) -> Constant:
        """The value of Spark SQL as Spark's type `of`, which Iceberg's type `kind` stores."""
        value = f"CAST({expression} AS {of})"
        shown = f"unix_micros({value})" if kind.startswith("timestamp") else value
        nested = kind == NESTED
        row = self._lake.spark.sql(f"SELECT {'NULL' if nested else shown}, {value} IS NULL").collect()[0]
        if row[1]:
            return Constant(None)
        return OPAQUE if nested else _written(kind, row[0])


def _written(kind: str, value: object) -> Constant:
    writer = _WRITERS.get(kind.split("(")[0])
    if writer is None or (isinstance(value, float) and not math.isfinite(value)):
        return STORED
    return Constant(writer(value))


def _micros(value: object) -> str:
    moment = _EPOCH + timedelta(microseconds=int(str(value)))
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds")


_WRITERS: Mapping[str, Callable[[object], Json]] = {
    "boolean": bool,
    "int": lambda value: int(str(value)),
    "long": lambda value: int(str(value)),
    "float": lambda value: float(str(value)),
    "double": lambda value: float(str(value)),
    "decimal": lambda value: format(value, "f"),
    "date": str,
    "timestamp": _micros,
    "timestamptz": lambda value: f"{_micros(value)}+00:00",
    "string": str,
    "binary": lambda value: bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value),
}
