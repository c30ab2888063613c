"""The rows of a query from Spark, one after the other.

In: a DataFrame that was not run yet. Out: its rows as Python values. Invariant: all rows come, or an error; no more
of them are unpacked at once than a batch, and the packed rows of one partition are in Spark's memory.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from contextlib import closing

from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.sql import DataFrame
from pyspark.util import local_connect_and_auth

Row = tuple[object, ...]


def answer_rows(answer: DataFrame) -> Generator[Row, None, None]:
    """Run the query and give its rows. Closing the iterator early ends the reading. Raises what Spark raises.

    `DataFrame.toLocalIterator` takes a job more, for the order of the rows, and `collect` has all of them at once."""
    jvm = answer.sparkSession._jvm
    assert jvm is not None, "the session was opened here"
    address, secret, server = jvm.penstock.AnswerRows.serve(answer._jdf)
    stream, connection = local_connect_and_auth(address, secret)
    with closing(connection), closing(stream):
        connection.settimeout(None)  # the first row may take as long as the query
        try:
            yield from map(tuple, BatchedSerializer(CPickleSerializer()).load_stream(stream))
        except (OSError, struct.error):  # the second: in the length of a batch
            server.getResult()  # why the connection was lost
            raise
    server.getResult()  # the stream also ends where Spark failed
