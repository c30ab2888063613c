"""Reports of comparisons, as values."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

from penstock.plan.parity.report import (
    ColumnChecksums,
    DifferingRow,
    EndpointReport,
    ParityReport,
    RowDifference,
    TablePairReport,
    TableReport,
    VersionName,
)

ROWS = RowDifference(
    1, 2, 0, (DifferingRow("left", 1, '{"id": 7, "amount": 70}'), DifferingRow("right", 2, '{"id": 7, "amount": 71}'))
)
SALES = TableReport(
    "sales",
    "differs",
    None,
    10,
    11,
    ROWS,
    (ColumnChecksums("id", "a", "a"), ColumnChecksums("amount", "b", "c")),
    {"note": "only deployment 2 has it"},
)
TOP = EndpointReport("top", {"country": "DE"}, "not_compared", "it reads a clock or random numbers")
DIFFERENT = ParityReport(
    VersionName(1, "", "live"),
    VersionName(2, "next", "ready"),
    datetime(2026, 1, 2, tzinfo=timezone.utc),
    {"sales": 4},
    (SALES, TableReport("gone", "only_left")),
    (TOP,),
)
PAIR = TablePairReport(
    DIFFERENT.left, "sales_1", "sales_2", DIFFERENT.at, DIFFERENT.batches, replace(SALES, name="sales_2")
)
SAME = replace(DIFFERENT, tables=(replace(SALES, declared=True),))
