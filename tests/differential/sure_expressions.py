"""Expressions of Spark SQL over columns of known types that cannot fail, and some that may.

In: nothing. Out: the types of the columns, with their values at the edges, and the expressions. The planner must know
the first ones by the types alone, and Spark must compute them for each of the values.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

from penstock.model import types as t

COLUMNS: dict[str, t.Type] = {
    "small": t.Int(8),
    "n": t.Int(32),
    "u": t.Int(32, False),
    "long": t.Int(64),
    "most": t.Int(64, False),
    "f": t.Float(64),
    "d": t.Decimal(10, 2),
    "s": t.String(),
    "day": t.Date(),
    "at": t.DateTime(),
    "some": t.Nullable(t.Int(32)),
    "words": t.Array(t.String()),
    "fine": t.DateTime64(9),
    "is_x": t.Bool(),
}
SURE = (
    "CAST(`u` AS DECIMAL(20,0)) * CAST(2 AS DECIMAL(20,0))",
    "`u` + CAST(1 AS BIGINT)",
    "CAST(`u` % CAST(10 AS BIGINT) AS INT)",
    "CAST(`u` DIV CAST(10 AS BIGINT) AS INT) / 7",
    "CAST(`u` AS DOUBLE) / CAST(100 AS DOUBLE)",
    "CAST(`small` AS INT) * 1000000",
    "-CAST(`n` AS BIGINT)",
    "abs(CAST(`n` AS BIGINT))",
    "CAST(coalesce(try_subtract(0, `n`), `n`) AS BIGINT)",
    "`some` + CAST(1 AS BIGINT)",
    "CAST(`d` AS DECIMAL(12,4))",
    "CAST(`d` AS BIGINT)",
    "`d` * CAST(1.5 AS DECIMAL(3,1))",
    "rint(`f` * CAST(100.0 AS DOUBLE)) / CAST(100.0 AS DOUBLE)",
    "CAST(octet_length(`s`) AS DECIMAL(20,0))",
    "CAST(char_length(lower(`s`)) AS INT)",
    "CAST(hour(`at`) AS INT)",
    "CAST(weekday(`day`) + 1 AS INT)",
    "year(`at`) * 100 + month(`at`)",
    "timestamp_seconds(floor(unix_seconds(`at`) / 900) * 900)",
    "date_format(`at`, 'yyyy-MM-dd HH:mm:ss')",
    "CAST((`s` LIKE '%a%') AS INT)",
    "CAST((`s` RLIKE '(?s)^[^/]*://[a-z0-9.-]+') AS INT)",
    "regexp_extract(`s`, '^(?:([a-z]+)://)?+([^/]*)', 2)",
    "coalesce(try_element_at(split(`s`, '\\\\Q/\\\\E', -1), 1), '')",
    "IF(`u` > 5 AND `s` = 'x', CAST(`n` AS BIGINT), 0L)",
    "CASE WHEN `u` > 1 THEN 'a' WHEN `s` = 'b' THEN 'b' ELSE `s` END",
    "penstock_unsigned(penstock_city_hash(`s`))",
    "CAST(`is_x` AS INT)",
)
UNSURE = (
    "`u` + CAST(9223372036854775807 AS BIGINT)",
    "CAST(`u` AS INT)",
    "`n` + 1",
    "`n` * `n`",
    "`long` + CAST(1 AS BIGINT)",
    "-`n`",
    "abs(`n`)",
    "`u` % `n`",
    "CAST(`u` AS BIGINT) DIV CAST(`small` AS BIGINT)",
    "CAST(1 AS DOUBLE) / CAST(`u` AS DOUBLE)",
    "`f` / `f`",
    "CAST(`f` AS INT)",
    "floor(`f`)",
    "CAST(`d` AS DECIMAL(9,2))",
    "CAST(`d` AS DECIMAL(12,1))",
    "CAST(`d` AS INT) * 100",
    "`most` * `most`",
    "CAST(`most` AS BIGINT)",
    "CAST(`s` AS INT)",
    "hour(`s`)",
    "CAST(`s` AS DATE)",
    "date_format(`at`, 'yyyy-MM-dd[')",
    "date_format(`at`, `s`)",
    "regexp_extract(`s`, '^(a|b)*$', 1)",
    "regexp_extract(`s`, '^[a-z]+', 1)",
    "regexp_extract(`s`, `s`, 1)",
    "split(`s`, '[', -1)",
    "try_element_at(split(`s`, ',', -1), 0)",
    "CAST((`s` RLIKE '^(ab)+$') AS INT)",
    "IF(`f`, 1, 2)",
    "CAST((`s` = 1) AS INT)",
    "CAST((`day` < `s`) AS INT)",
    "IF(`u` > 1, 'a', `u`)",
    "timestamp_seconds(`long`)",
    "raise_error('x')",
    "uuid()",
    "`other`",
    "`s`.`n` + 1",
)

_ZONE = dt.timezone.utc
EDGES: dict[str, tuple[object, ...]] = {
    "small": (-128, 127, 0),
    "n": (-(2**31), 2**31 - 1, 0, -1),
    "u": (0, 2**32 - 1, 1, 6),
    "long": (-(2**63), 2**63 - 1, 0),
    "most": (Decimal(0), Decimal(2**64 - 1)),
    "f": (0.0, -0.0, math.nan, math.inf, -math.inf, 1.7e308, -2.5),
    "d": (Decimal("99999999.99"), Decimal("-99999999.99"), Decimal(0)),
    "s": ("", "a", "http://a.b/c", "\u00e9\U0001f600" * 3000, "://" * 2000, "x", "/a/b"),
    "day": (dt.date(1970, 1, 1), dt.date(2149, 6, 6), dt.date(2024, 2, 29)),
    "at": (dt.datetime(1970, 1, 1, tzinfo=_ZONE), dt.datetime(2106, 2, 7, 6, 28, 15, tzinfo=_ZONE)),
    "some": (None, -(2**31), 2**31 - 1),
    "is_x": (True, False),
}
"""Values of those columns that the sure expressions read."""
