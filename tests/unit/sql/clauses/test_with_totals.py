"""WITH TOTALS: where the totals are asked for with the rows, where nothing changes, and what is refused.

That the totals are ClickHouse's is tested in tests/differential/test_totals.py.
"""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import PROJECT, datasource, pipe, problems, query, view

from penstock.lake.read.query_execution import QueryResult, split_totals
from penstock.model.project import Project
from penstock.model.types import Int
from penstock.sql.compile import compile_pipe, compile_view

GROUPED = "SELECT carrier, count() AS c FROM flights GROUP BY carrier WITH TOTALS"
REFUSED = {
    "SELECT carrier, any(day) FROM flights GROUP BY carrier WITH TOTALS": (
        "1:17: WITH TOTALS does not support `any`: its total depends on the order in which groups are merged "
        "(UNION ALL a SELECT without GROUP BY)"
    ),
    "WITH groupArray(day) AS d SELECT carrier, d FROM flights GROUP BY carrier WITH TOTALS": "`groupArray`: its total",
    "SELECT carrier, argMaxIf(day, month, day > 2) FROM flights GROUP BY carrier WITH TOTALS": "`argMaxIf`: its total",
    "SELECT carrier, countArgMin(month) FROM flights GROUP BY carrier WITH TOTALS": "`countArgMin`: its total",
    "SELECT carrier, groupArrayArray([day]) FROM flights GROUP BY carrier WITH TOTALS": "`groupArrayArray`: its total",
    "SELECT carrier, grouping(carrier) FROM flights GROUP BY carrier WITH TOTALS": "window functions and `grouping`",
    "SELECT carrier, sum(count()) OVER () FROM flights GROUP BY carrier WITH TOTALS": "window functions and",
    "SELECT carrier, arrayJoin([1, 2]) FROM flights GROUP BY carrier WITH TOTALS": "`arrayJoin` beside these",
    "SELECT carrier FROM flights GROUP BY carrier, day WITH ROLLUP WITH TOTALS HAVING day > 1": "HAVING of ROLLUP",
    "SELECT carrier FROM flights GROUP BY GROUPING SETS ((carrier), (day)) WITH TOTALS": "support GROUPING SETS",
    "SELECT now() AS n, count() FROM flights GROUP BY n WITH TOTALS": "a key without columns",
    "SELECT carrier, count() FROM flights GROUP BY carrier WITH TOTALS LIMIT 0": "does not support LIMIT 0",
    "SELECT day, count() FROM (SELECT day FROM flights LIMIT 9) GROUP BY day WITH TOTALS": (
        "rows that may differ when they are read again (`LIMIT`)"
    ),
    "SELECT day, count() FROM flights WHERE rand() % 2 = 0 GROUP BY day WITH TOTALS": "when they are read again",
    f"SELECT * FROM ({GROUPED}) WHERE c > 1": (
        "1:8: a subquery WITH TOTALS is read here with more than a select list, ORDER BY and LIMIT (WITH TOTALS in "
        "the outer SELECT only)"
    ),
    f"SELECT * FROM ({GROUPED}) AS a JOIN flights AS b ON a.carrier = b.carrier": "is read here with more than",
    f"SELECT * FROM flights AS b JOIN ({GROUPED}) AS a ON a.carrier = b.carrier": "is read here with more than",
    f"SELECT c, x FROM ({GROUPED}) ARRAY JOIN [1, 2] AS x": "is read here with more than",
    f"SELECT c, arrayJoin([1, 2]) FROM ({GROUPED})": "is read here with more than",
    f"SELECT row_number() OVER (ORDER BY c) FROM ({GROUPED})": "is read here with more than",
    f"SELECT c FROM ({GROUPED}) LIMIT 0": "does not support LIMIT 0",
    f"{GROUPED} UNION ALL SELECT 'x', 1": "WITH TOTALS in a part of UNION is not supported (leave WITH TOTALS out)",
    f"SELECT 'x', 1 UNION ALL {GROUPED}": "WITH TOTALS in a part of UNION is not supported",
    f"{GROUPED} INTERSECT SELECT 'x', 1": "WITH TOTALS in a part of INTERSECT is not supported",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_refused(sql: str) -> None:
    found = problems(sql)
    assert len(found) == 1
    assert REFUSED[sql] in found[0]


def test_the_rows_and_then_the_totals_are_one_statement() -> None:
    found = query(f"{GROUPED} HAVING carrier = 'AA' ORDER BY c DESC LIMIT 3")
    rows = (
        "SELECT `flights`.`carrier` AS `carrier`, count(1) AS `c` FROM __all_flights__ AS `flights` "
        "GROUP BY `flights`.`carrier` HAVING (`flights`.`carrier` = 'AA')"
    )
    assert found.sql == f"{rows} ORDER BY `c` DESC LIMIT 3"
    assert found.with_totals == (
        f"SELECT *, monotonically_increasing_id() AS ` at` FROM ({found.sql}) UNION ALL SELECT *, CAST(NULL AS BIGINT) "
        "AS ` at` FROM (SELECT CAST('' AS STRING) AS `carrier`, count(1) AS `c` FROM __all_flights__ AS `flights` "
        "WHERE EXISTS (SELECT 1 FROM (SELECT `flights`.`carrier` AS `__k0` FROM __all_flights__ AS `flights` "
        "GROUP BY `flights`.`carrier` HAVING (`flights`.`carrier` = 'AA')) AS `__kept` WHERE `__kept`.`__k0` <=> "
        "`flights`.`carrier`)) ORDER BY ` at` ASC NULLS LAST"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT carrier, count() AS c FROM flights GROUP BY carrier",
        f"SELECT sum(c) FROM ({GROUPED})",
        f"SELECT c, count() FROM ({GROUPED}) WHERE c > 1 GROUP BY c",
        f"SELECT day FROM flights WHERE (carrier, 1) IN ({GROUPED})",
        "SELECT day FROM flights WHERE carrier IN (SELECT carrier FROM flights GROUP BY carrier WITH TOTALS LIMIT 0)",
        f"SELECT 1 WHERE EXISTS ({GROUPED})",
        f"SELECT sum(c) FROM ({GROUPED} UNION ALL SELECT 'x', 1)",
    ],
)
def test_totals_that_nobody_sees_change_nothing(sql: str) -> None:
    plain = query(sql.replace(" WITH TOTALS", ""))
    assert (query(sql).sql, query(sql).with_totals) == (plain.sql, "")


def test_an_endpoint_passes_on_the_totals_of_what_it_reads() -> None:
    project = Project.of(PROJECT.datasources, [pipe("top", GROUPED, "SELECT carrier AS d FROM n0 ORDER BY d LIMIT 2")])
    found = compile_pipe(project, project.pipes[0])
    assert "SELECT `n0`.`carrier` AS `d` FROM (SELECT CAST('' AS STRING) AS `carrier`" in found.with_totals
    assert "GROUP BY" not in found.with_totals.split("UNION ALL")[1]


def test_a_materialized_node_inserts_no_totals() -> None:
    target = datasource("counts", {"carrier": "String", "c": "UInt64"})
    sqls = (GROUPED, GROUPED.replace(" WITH TOTALS", ""), f"{GROUPED} HAVING any(day) > 1")
    found = []
    for sql in sqls:
        made = view("v", "counts", sql)
        found.append(compile_view(Project.of([*PROJECT.datasources, target], [made]), made, made.nodes[0]).query)
    assert found[0] == found[1]
    assert [each.with_totals for each in found] == ["", "", ""]


def test_the_answer_is_split() -> None:
    found = split_totals(QueryResult((("c", Int(64)),), [(1, 0), (2, 8589934592), (3, None)], 0.5, 6, 7))
    assert found == QueryResult((("c", Int(64)),), [(1,), (2,)], 0.5, 6, 7, (3,))
