"""Iceberg's connections to a catalog in Postgres: asked again only where nothing can have been done.

In: a Spark session. Out: nothing. Called by `session`. Invariant: a commit whose answer was lost is never
sent a second time. Iceberg's own pool does so; the catalog then says (rightly) that the table has moved on,
Iceberg takes its commit for refused, and deletes the files of the rows that are in the table.
"""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from penstock.lake.names import CATALOG

ANSWER_LOST = ("08000", "08006", "08007")
"""SQLSTATEs of a connection that broke in the middle: the statement may have been carried out. What stays is
08003, a connection known to be closed; the next who gets one that broke makes a new one."""


def never_commit_again_blindly(session: SparkSession) -> None:
    """Each session has a catalog, and each catalog a pool, of its own. Source: JdbcClientPool of Iceberg 1.12."""
    manager = session._jsparkSession.sessionState().catalogManager()
    catalog = manager.catalog(CATALOG).icebergCatalog()
    retried = _private(_private(catalog, "connections"), "retryableStatusCodes")
    for code in ANSWER_LOST:
        retried.remove(code)


def _private(owner: JavaObject, name: str) -> JavaObject:
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)
