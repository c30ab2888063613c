"""Merge a table's small manifests: each commit makes one, and the plan of each query reads them all.

In: a table. Out: one Iceberg snapshot with the same data files, or none. Invariant: no data file comes or goes, and the
snapshot carries the progress of the flows along. No manifest outweighs the others that it is merged with, so each entry
is rewritten only a few times, however long the stream runs (as files are by compaction).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.manifest import ManifestContent, ManifestFile

from penstock.lake.spark.session import Lake
from penstock.lake.tables.java_table import JavaTable, java_list
from penstock.lake.tables.physical_tables import load_table

FEWEST = 8
"""So many manifests are merged at least."""
SMALL_BYTES = 4 * 2**20
"""Larger manifests stay as they are: Iceberg would split what they are merged into. Source: half of its
`commit.manifest.target-size-bytes`."""
MAX_SHARE = 2
"""The largest manifest of a merge has at most half of its bytes."""


def merge_manifests(lake: Lake, table: str) -> bool:
    """Merge the small manifests of the table's current snapshot if they are many. Returns whether they were. Raises
    RewriteConflict."""
    found = load_table(lake, table)
    current = found.current_snapshot() if found is not None else None
    if found is None or current is None:
        return False
    chosen = frozenset(each.manifest_path for each in manifests_to_merge(current.manifests(found.io)))
    if not chosen:
        return False
    java = JavaTable(lake, table)
    listed = java.table.currentSnapshot().dataManifests(java.table.io())
    several = java_list(java.jvm, [each for each in listed if each.path() in chosen])
    functions = java.jvm.penstock.ManifestMerge
    java.commit(
        lambda: java.table.rewriteManifests().rewriteIf(functions.anyOf(several)).clusterBy(functions.together())
    )
    return True


def manifests_to_merge(manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
    """The manifests that are worth merging, the smallest first; none if they are few."""
    small = [each for each in manifests if each.content == ManifestContent.DATA and each.manifest_length < SMALL_BYTES]
    small.sort(key=lambda each: (each.manifest_length, each.manifest_path))
    while small and small[-1].manifest_length * MAX_SHARE > sum(each.manifest_length for each in small):
        small.pop()
    return small if len(small) >= FEWEST else []
