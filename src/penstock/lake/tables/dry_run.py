"""Make rows as a table would store them, and store them nowhere.

In: a DataFrame and a table. Out: why a row of it cannot be made, or None. Invariant: nothing is written.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from penstock.lake.spark.errors import explain_error
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.row_errors import is_row_error
from penstock.sql.spark_text import quote_identifier


def why_rows_fail(rows: DataFrame, table: str) -> str | None:
    """Why the rows cannot be made, with the types of the table; None if they can. Raises what no row causes."""
    stored = {field.name: field.dataType for field in rows.sparkSession.table(qualified_table(table)).schema.fields}
    typed = [col(quote_identifier(name)).cast(stored[name]).alias(name) for name in rows.columns]
    try:
        rows.select(*typed).write.format("noop").mode("overwrite").save()
    except Exception as error:
        if is_row_error(error):
            return explain_error(error)
        raise
    return None
