"""USING an alias of the select list: ClickHouse takes it by a setting, which public projects rely on."""

from __future__ import annotations

import pytest
from tests.differential.compare import by_text, without_hint
from tests.differential.engines import ClickHouse, Spark, same

SETTING = ", analyzer_compatibility_join_using_top_level_identifier=1"
DAYS = "(SELECT d AS date, count() AS c FROM t WHERE id > 1 GROUP BY d)"
QUERIES = (
    f"SELECT toDate(t) AS date, y.c FROM t AS x LEFT JOIN {DAYS} AS y USING date",
    f"SELECT toDate(t) AS date, c, id FROM t INNER JOIN {DAYS} AS y USING (date)",
    f"SELECT toDate(t) AS date, c, y.date, id FROM t RIGHT JOIN {DAYS} AS y USING (date)",
    f"SELECT toDate(t) date, if(n == 0, 0, count()) AS c, sum(id) AS n FROM t FULL OUTER JOIN {DAYS} y "
    "USING date GROUP BY date",
    "SELECT id + 1 AS k, count() AS c FROM t ANY LEFT JOIN (SELECT u8 AS k, i8 AS v FROM t WHERE u8 < 8) AS y "
    "USING k GROUP BY k",
    f"SELECT x.id, toDate(x.t) AS date, y.* FROM t AS x LEFT JOIN {DAYS} AS y USING date WHERE date > '2000-01-01'",
)

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("sql", QUERIES)
def test_same_rows(sql: str, clickhouse: ClickHouse, quick: Spark) -> None:
    names, types, theirs = clickhouse.rows(sql, SETTING)
    query = quick.compile(sql)
    ours = quick.rows(query)
    assert [name for name, _ in query.columns] == names
    assert [without_hint(str(of)) for _, of in query.columns] == list(map(without_hint, types))
    assert len(ours) == len(theirs)
    assert all(map(same, by_text(ours), by_text(theirs)))
