"""The table engine of a data source: how its rows are sorted, partitioned and merged.

In: the ENGINE directives of a .datasource file, as text. Out: `Engine`. Invariant: keys are tuples of ClickHouse
expressions; a key is empty where the file has `tuple()` or no such directive.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import Location

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
    """ENGINE and its options. `ttl` is the expression as written; `settings` are pairs of name and value.

    `ver`, `is_deleted` (Replacing), `sign`, `version` (Collapsing) and `summed` (Summing's
    ENGINE_COLUMNS) are column names.
    """

    name: str = "MergeTree"
    partition_key: tuple[str, ...] = ()
    sorting_key: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    sampling_key: str | None = None
    ttl: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    ver: str | None = None
    is_deleted: str | None = None
    sign: str | None = None
    version: str | None = None
    summed: tuple[str, ...] = ()
    locations: tuple[tuple[str, Location], ...] = field(default=(), compare=False)

    def location(self, directive: str) -> Location | None:
        """Where the directive (`ENGINE_SORTING_KEY` …) stands in the file."""
        return dict(self.locations).get(directive)
