"""SQL that is run as of one given moment.

In: compiled Spark SQL, and a moment. Out: the SQL with its calls of the clock replaced. Invariant: what still calls a
clock or a random number afterwards is known by `is_repeatable`.
"""

from __future__ import annotations

from datetime import datetime, timezone

from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.spark_text import replace_calls


def at_time(sql: str, now: datetime) -> str:
    """The SQL, in which it is always `now`; sessions of Spark run in UTC."""
    utc = now.astimezone(timezone.utc)
    moment = f"TIMESTAMP'{utc:%Y-%m-%d %H:%M:%S.%f}'"
    day = f"DATE'{utc:%Y-%m-%d}'"
    return replace_calls(sql, {"current_timestamp": moment, "now": moment, "current_date": day, "curdate": day})


def is_repeatable(sql: str) -> bool:
    """Whether SQL gives the same each time it is run over the same rows."""
    return expression_facts(sql).is_repeatable
