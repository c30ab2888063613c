"""`iceberg(…)` and `icebergS3(…)`: the table that a call means.

In: the arguments of a call, in the order in which ClickHouse takes them. Out: `IcebergTable`. Invariant: keys come from
secrets of the server.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model.external_tables import IcebergTable
from penstock.sql.compiler.environment import Environment
from penstock.sql.from_clause.call_arguments import CallArguments
from penstock.sql.from_clause.external_files import KEYS_FORM, check_positions, read_bucket
from penstock.sql.syntax.tree import call_parts

ICEBERG_FUNCTIONS = ("iceberg", "icebergS3")


def iceberg_table(environment: Environment, call: exp.Expr, function: str) -> IcebergTable:
    """The table that a call means. Raises Refused."""
    form = f"{function}('https://BUCKET.s3.REGION.amazonaws.com/PATH/OF/THE/TABLE'{KEYS_FORM})"
    read, (_, arguments) = CallArguments(environment, call, function, form), call_parts(call)
    check_positions(read, arguments)
    bucket, key, options = read_bucket(read, arguments)
    place = key.strip("/")
    if not place:
        raise read.refuse(arguments[0], f"the address of `{function}` names no folder of a table")
    if options and read.word(options[0], "format").lower() not in ("auto", "parquet"):
        raise read.unsupported(options[0], "Iceberg tables of other formats than Parquet are not read here")
    if len(options) > 1:
        message = "the structure and the compression of an Iceberg table are what the table says"
        raise read.unsupported(options[1], message)
    return IcebergTable(function, place, bucket)
