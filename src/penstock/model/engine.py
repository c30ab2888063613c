"""The table engine of a data source: how its rows are sorted, partitioned and merged.

In: the ENGINE directives of a .datasource file, as text. Out: `Engine`. Invariant: keys are tuples of ClickHouse
expressions; a key is empty where the file has `tuple()` or no such directive.
"""

from __future__ import annotations

from dataclasses import field

from penstock.errors import Location
from penstock.model.quick_dataclass import dataclass

ENGINES = (
    "MergeTree",
    "ReplacingMergeTree",
    "SummingMergeTree",
    "AggregatingMergeTree",
    "CollapsingMergeTree",
    "VersionedCollapsingMergeTree",
    "Null",
)


@dataclass(frozen=True, slots=True)
class Engine:
    """ENGINE and its options."""

    name: str = "MergeTree"
    partition_key: tuple[str, ...] = ()
    sorting_key: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    sampling_key: str | None = None
    ttl: str | None = None
    """The expression as written."""
    settings: tuple[tuple[str, str], ...] = ()
    """Pairs of name and value."""
    ver: str | None = None
    """ReplacingMergeTree: the version column."""
    is_deleted: str | None = None
    """ReplacingMergeTree: the column that marks deleted rows."""
    sign: str | None = None
    """CollapsingMergeTree and VersionedCollapsingMergeTree: the sign column."""
    version: str | None = None
    """VersionedCollapsingMergeTree: the version column."""
    summed: tuple[str, ...] = ()
    """SummingMergeTree: the columns named by ENGINE_COLUMNS."""
    locations: tuple[tuple[str, Location], ...] = field(default=(), compare=False)
    """The place of each directive in the file."""

    def location(self, directive: str) -> Location | None:
        """Where the directive (`ENGINE_SORTING_KEY` …) stands in the file."""
        return dict(self.locations).get(directive)
