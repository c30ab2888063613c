"""What constants decide, in three-valued logic, and what they do not."""

from __future__ import annotations

import pytest

from penstock.sql.analysis.constant_folding import fold_constants
from penstock.sql.spark_text import parse_tree

FOLDED = {
    "1 = CAST(1 AS BIGINT)": "TRUE",
    "'a' < 'b'": "TRUE",
    "'Ä' < 'b'": "FALSE",  # by bytes
    "CAST(300 AS TINYINT) = 300": "CAST(300 AS TINYINT) = 300",
    "CAST(5 AS DECIMAL(20,0)) > 4": "TRUE",
    "CAST(5 AS DECIMAL(3,2)) > 4": "CAST(5 AS DECIMAL(3, 2)) > 4",
    "CAST(1.5 AS DOUBLE) >= 0D": "TRUE",
    "0D > CAST(CAST(-2 AS INT) AS DOUBLE)": "TRUE",
    "CAST(0.5 AS FLOAT) < 0.5D": "FALSE",
    "-0D = 0D": "TRUE",
    "CAST(0.1 AS FLOAT) < 0.1D": "CAST(0.1 AS FLOAT) < CAST(0.1 AS DOUBLE)",  # the nearest FLOAT is another number
    "CAST('nan' AS DOUBLE) > 0D": "CAST('nan' AS DOUBLE) > CAST(0 AS DOUBLE)",
    "CAST(9007199254740993 AS DOUBLE) = CAST(CAST(9007199254740993 AS BIGINT) AS DOUBLE)": (
        "CAST(9007199254740993 AS DOUBLE) = CAST(CAST(9007199254740993 AS BIGINT) AS DOUBLE)"
    ),
    "1 = '1'": "1 = '1'",
    "1.5 > 1": "1.5 > 1",
    "NULL = 1": "CAST(NULL AS BOOLEAN)",
    "NULL <=> NULL": "TRUE",
    "NULL <=> 1": "FALSE",
    "NOT (1 = 2)": "TRUE",
    "NOT (NULL = 2)": "CAST(NULL AS BOOLEAN)",
    "1 IN (2, 1)": "TRUE",
    "1 IN (2, NULL)": "CAST(NULL AS BOOLEAN)",
    "1 IN (2, `a`)": "1 IN (2, `a`)",
    "1 IN (1, `a`)": "TRUE",
    "`a` AND 1 = 1": "`a`",
    "`a` AND 1 = 2": "FALSE",
    "`a` AND NULL = 2": "`a` AND CAST(NULL AS BOOLEAN)",
    "NULL = 1 AND NULL = 2": "CAST(NULL AS BOOLEAN)",
    "`a` OR 1 = 1": "TRUE",
    "`a` OR 1 = 2": "`a`",
    "if(1 = 2, `a`, `b`)": "`b`",
    "if(NULL = 2, `a`, `b`)": "`b`",
    "if(`c`, `a`, if(1 = 1, 'x', 'y'))": "IF(`c`, `a`, 'x')",
    "CASE WHEN 1 = 2 THEN `a` WHEN `b` THEN 1 WHEN 1 = 1 THEN 2 ELSE 3 END": "CASE WHEN `b` THEN 1 ELSE 2 END",
    "CASE WHEN 1 = 2 THEN `a` END": "NULL",
    "CASE `a` WHEN 1 THEN 2 END": "CASE `a` WHEN 1 THEN 2 END",
    "coalesce(NULL, 'x', `a`)": "'x'",
    "coalesce(`a`, CAST(NULL AS STRING), 'x', 'y')": "COALESCE(`a`, 'x')",
    "'x' IS NULL": "FALSE",
    "CAST(NULL AS INT) IS NULL": "TRUE",
    "`a` IS NULL": "`a` IS NULL",
    "-1 < 0": "TRUE",
}


@pytest.mark.parametrize("sql", FOLDED)
def test_folding(sql: str) -> None:
    tree = parse_tree(sql)
    assert tree is not None
    assert fold_constants(tree).sql(dialect="spark") == FOLDED[sql]
