"""What is said to be unable to fail is computed by Spark for the values at the edges of each type."""

from __future__ import annotations

from tests.differential.engines import Spark
from tests.differential.sure_expressions import COLUMNS, EDGES, SURE

from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type

ROWS = 84
"""Each two values of two columns meet in one of them."""


def test_no_sure_expression_fails(quick: Spark) -> None:
    schema = ", ".join(f"{quote_identifier(name)} {spark_type(COLUMNS[name])}" for name in EDGES)
    rows = [tuple(values[row % len(values)] for values in EDGES.values()) for row in range(ROWS)]
    quick.session.createDataFrame(rows, schema).createOrReplaceTempView("sure_rows")
    items = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(SURE))
    found = quick.session.sql(f"SELECT {items} FROM sure_rows").collect()
    assert len(found) == ROWS
    assert not [SURE[place] for place in range(len(SURE)) if all(row[place] is None for row in found)]
