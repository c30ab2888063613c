"""Keep the manifests of every table few, so that the plan of a query is quick.

In: the core and a table. Out: a snapshot with fewer manifests, or none. Invariant: a table that nobody wrote since the
last look is not looked at again.
"""

from __future__ import annotations

from penstock.deploy.maintenance.maintained_tables import MaintainedTable
from penstock.deploy.runtime.core import Core
from penstock.lake.maintenance.manifest_merge import merge_manifests


class ManifestMerge:
    """Merges manifests, and remembers by table the snapshot that it saw last."""

    def __init__(self, core: Core):
        self._core = core
        self._seen: dict[str, int] = {}

    def run(self, on: MaintainedTable) -> bool:
        """Merge the small manifests of a table if they are many. Returns whether they were. Raises RewriteConflict."""
        table, warehouse = on.table.id, self._core.warehouse
        current = warehouse.registry.snapshots(table).current
        if current is None or self._seen.get(table) == current.id:
            return False
        merged = merge_manifests(warehouse.lake, table)
        now = warehouse.registry.refresh(table).current if merged else current
        if now is not None:
            self._seen[table] = now.id
        return merged

    def forget_except(self, tables: frozenset[str]) -> None:
        """Forget tables that are gone."""
        self._seen = {table: seen for table, seen in self._seen.items() if table in tables}
