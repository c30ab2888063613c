"""Whether both versions of a data source fill a column from an ingested row in the same way.

In: the live data source, its next version and their columns, paired. Out: yes or no for each pair. Invariant: two
columns are filled alike only if they take the same JSON path, and their DEFAULTs are the same Spark SQL over columns
that are themselves filled alike and have the same type: a DEFAULT such as `toDate(ts)` is another one when `ts` is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from penstock.errors import InvalidQuery
from penstock.model.datasource import Column, DataSource
from penstock.model.quick_dataclass import dataclass
from penstock.plan.compiled_project import compile_default_of
from penstock.plan.diff.query_equality import is_same_text
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.spark_text import quote_identifier, replace_columns


@dataclass(frozen=True, slots=True)
class IngestionEquality:
    """Compares how two versions of one data source fill their columns."""

    old: DataSource
    new: DataSource
    origins: Mapping[str, Column]
    """The live column that each column of the new version continues, by its name."""
    is_ingested: bool
    """Whether rows can be ingested into one of the versions."""
    _known: dict[str, bool] = field(default_factory=dict)

    def is_filled_alike(self, column: Column) -> bool:
        """Whether a column of the new version is filled as the live column that it continues; True if rows are not
        ingested."""
        return not self.is_ingested or self._is_filled_alike(column)

    def _is_filled_alike(self, column: Column) -> bool:
        if column.name not in self._known:
            self._known[column.name] = False  # while it is looked for: a circle of DEFAULTs is refused elsewhere
            self._known[column.name] = self._compare(column)
        return self._known[column.name]

    def _compare(self, column: Column) -> bool:
        origin = self.origins.get(column.name)
        if origin is None or self.old.path_of(origin) != self.new.path_of(column):
            return False
        if origin.default is None or column.default is None:
            return origin.default is column.default
        try:
            # In the type of the live column: that the new type is wider makes it no other DEFAULT.
            before = compile_default_of(self.old, origin)
            after = compile_default_of(self.new, replace(column, type=origin.type))
        except InvalidQuery:
            return is_same_text(origin.default, column.default)
        return self._with_live_names(after) == before

    def _with_live_names(self, default: str) -> str | None:
        """The DEFAULT over the names of the live version; None if it reads a column that is not the same."""
        names = {}
        for name in expression_facts(default).column_names:
            read, origin = self.new.column(name), self.origins.get(name)
            if read is None or origin is None or read.type != origin.type or not self._is_filled_alike(read):
                return None
            names[name] = quote_identifier(origin.name)
        return replace_columns(default, names)
