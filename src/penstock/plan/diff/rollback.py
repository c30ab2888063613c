"""What a rollback would keep of the rows that arrive while the next version is live.

In: a data source in the live and in the next version. Out: `Rollback`. Invariant: both versions are fed until one
is retired, each from the raw rows by its own schema; so a rollback loses only rows that the previous version rejects.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.datasource import Column, DataSource
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Bool, Decimal, Float, Int, String, Type, is_nullable, unwrap_type
from penstock.plan.diff.column_compatibility import can_ingest, strip_nullable
from penstock.plan.diff.column_matching import match_columns
from penstock.plan.diff.forward_columns import read_forward_query
from penstock.sql.conversions.implicit import cast_column

FLOAT64 = 64
_NEW = "it is new: its rows stay with this version until that is discarded"
REMOVED_REASON = "it gets no rows while this version is live: posts to it are refused, not lost"
_KEPT = "the previous version accepts every row that this one accepts"


@dataclass(frozen=True, slots=True)
class Rollback:
    """What a rollback keeps of one data source."""

    lossless: bool
    """The previous version has every row that this version accepted."""
    reason: str
    """Why it is lossless, or which rows the previous version will not have."""


FED_BY_VIEWS = Rollback(True, "its views feed both versions")


def assess_rollback(old: DataSource | None, new: DataSource) -> Rollback:
    """The effect of a rollback on a data source of the next version."""
    if old is None:
        return Rollback(True, _NEW)
    if not can_ingest(old):
        return FED_BY_VIEWS
    lost = list(_find_lost_rows(old, new))
    if not lost:
        return Rollback(True, _KEPT)
    rows = "; ".join(lost)
    return Rollback(False, f"rows that only this version accepts go to the quarantine of the previous version: {rows}")


def _find_lost_rows(old: DataSource, new: DataSource) -> Iterator[str]:
    """Why the previous version rejects a row that the next one accepts, as short texts."""
    pairs = {before.name: now for now, before in match_columns(old, new, read_forward_query(old, new)).pairs if before}
    for before in old.columns:
        path, now = old.path_of(before), pairs.get(before.name)
        if path is None:
            continue
        if now is None or new.path_of(now) != path:
            if not _may_be_absent(before):
                yield f"`{before.name}` is no longer filled from JSON, but the previous version requires it"
        elif _may_be_absent(now) and not _may_be_absent(before):
            yield f"rows without `{now.name}`"
        elif not _takes_every_value(strip_nullable(now.type), strip_nullable(before.type)):
            yield f"values of `{now.name}` that are {strip_nullable(now.type)} and not {strip_nullable(before.type)}"


def _may_be_absent(column: Column) -> bool:
    return is_nullable(column.type) or column.default is not None


def _takes_every_value(now: Type, before: Type) -> bool:
    """Whether type `before` accepts every JSON value that type `now` accepts (as flow/landing/value_parser does)."""
    match unwrap_type(now), unwrap_type(before):
        case _, String():
            return True  # whatever is no text is kept as its JSON
        case ((Int() | Bool()), Decimal()):
            return False  # true and false are taken as whole numbers and not as decimals
        case Int() | Decimal() | Float(), Float(bits):
            return bits == FLOAT64 or unwrap_type(now) == unwrap_type(before)
        case _:
            return cast_column("x", now, before) is not None
