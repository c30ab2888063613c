"""Store the default of a new column in the few files that have NULL in its place.

In: the columns that another reader cannot be given for that reason. Out: rewritten files. Invariants: no answer
changes, since SQL reads the constant in those rows whatever is stored; only small files are rewritten here, and rows
that were written before the column was added are not: Iceberg reads its default there.

Such files hold the rows that arrived between the moment a column was added and the one its version began to fill it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from functools import partial

from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.file_layouts import file_layout
from penstock.lake.maintenance.data_files import list_data_files
from penstock.lake.maintenance.rewrite import ColumnValues, FileLayout, rewrite_files, select_stored_values
from penstock.lake.open_tables.shown_columns import OmittedColumn, older_rows
from penstock.lake.spark.cancellation import SparkTimeout, time_limit
from penstock.lake.tables.java_table import RewriteConflict
from penstock.model.manifest import Binding, Manifest
from penstock.sql.stored_types import spark_type

MOST_BYTES = 2**28
"""More than this is not rewritten while somebody waits."""
log = logging.getLogger("penstock.deploy")


def fill_defaults(core: Core, manifest: Manifest, binding: Binding, omitted: Sequence[OmittedColumn]) -> bool:
    """Fill the columns that can be shown then. Returns whether files were rewritten; another commit may come first."""
    values: dict[tuple[int, int], dict[str, str]] = {}
    paths: set[str] = set()
    for each in omitted:
        column = binding.column(each.name)
        before = older_rows(column) if column is not None and each.unfilled else None
        if column is not None and before is not None and before.cut is not None:
            value = f"CAST({before.expression} AS {spark_type(column.type)})"
            values.setdefault((before.settled, before.cut), {})[column.physical] = value
            paths.update(each.unfilled)
    described = manifest.table(binding.table)
    layout = file_layout(described.sort if described is not None else (), manifest.bindings_of(binding.table))
    filled = [ColumnValues(stored, *rows) for rows, stored in sorted(values.items())]
    done = [_fill(core, binding.table, paths, each, layout) for each in filled]
    return any(done)


def _fill(core: Core, table: str, paths: Collection[str], values: ColumnValues, layout: FileLayout) -> bool:
    lake, registry = core.warehouse.lake, core.warehouse.registry
    current = registry.refresh(table).current
    if current is None:
        return False
    with registry.pinned(table, current.id):
        files = [file for file in list_data_files(lake, table, current.id) if file.path in paths]
        if not files or sum(file.bytes for file in files) > MOST_BYTES:
            return False
        try:
            with time_limit(lake.bulk, float(core.settings.server.max_query_seconds)):
                rewrite_files(lake, table, current.id, files, partial(select_stored_values, values), layout)
        except (RewriteConflict, SparkTimeout) as error:
            log.info("defaults of %s are filled later: %s", table, error)
            return False
    registry.refresh(table)
    return True
