"""Sinks: the rows of a query, written outside each time the sink runs.

In: SQL as text, and where its rows go. Out: a declared sink. Invariant: it goes to files or to a topic, never to both;
where and with which login they are is said by a `.connection` file, so that no secret is in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.api.objects.declarations import Declared
from penstock.api.objects.option_values import require_items
from penstock.api.objects.sql_template import require_query
from penstock.api.objects.tables import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """Where a sink writes, and when it runs: to files, with `bucket_uri` and `file_template`, or to `kafka_topic`. What
    the options may say is what datafiles may say; anything else is a problem where the project is loaded.

    >>> hourly_messages = SinkOptions(connection="broker", kafka_topic="visits", schedule="0 * * * *")
    """

    connection: str
    """The name of a `.connection` file."""
    bucket_uri: str | None = None
    file_template: str | None = None
    format: Literal["csv", "ndjson", "parquet"] | None = None
    """None: csv."""
    compression: Literal["none", "gzip", "zstd", "snappy"] | None = None
    """None: the usual one of the format."""
    strategy: Literal["new", "truncate", "@new", "@truncate"] | None = None
    """What a run does where a file of its name is: it writes another one (None, too), or takes its place."""
    kafka_topic: str | None = None
    schedule: str | None = None
    """Cron, in UTC; None: only on demand."""
    select_tables: Sequence[Declared] = ()
    tokens: Sequence[Token] = ()
    description: str | None = None

    def __post_init__(self) -> None:
        require_items("select_tables", self.select_tables, Declared)
        require_items("tokens", self.tokens, Token)


class SinkPipe(Declared):
    """Writes the rows of a query to files or to a topic each time it runs: on demand, or at the times of a schedule.

    Raises TypeError for options that are no SinkOptions, ValueError for options that name no place, or two.

    >>> pages = SinkPipe(
    ...     "write_pages",
    ...     f"SELECT page, count() AS visits FROM {events} GROUP BY page",
    ...     SinkOptions(connection="lake", bucket_uri="s3://exports/pages", file_template="{page}", format="parquet"),
    ... )
    """

    def __init__(self, name: str, select_statement: str, options: SinkOptions):
        if not isinstance(options, SinkOptions):
            raise TypeError(f"the options of SinkPipe {name!r} must be SinkOptions, not {type(options).__name__}")
        if (options.bucket_uri is None) == (options.kafka_topic is None):
            raise ValueError(
                f"SinkPipe {name!r} goes to files (bucket_uri) or to a topic (kafka_topic): name one of them"
            )
        require_query(f"select_statement of SinkPipe {name!r}", select_statement)
        super().__init__(name)
        self.select_statement = select_statement
        self.options = options
