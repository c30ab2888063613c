"""Every function with NULL and with the result of a comparison as each of its arguments, on both engines.

Random queries (test_generated) draw from the same functions but rarely meet such a call. A call that one of the engines
refuses, or that fails for a row, is skipped: other tests cover those.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from pyspark.errors import PySparkException
from tests.differential.compare import without_hint
from tests.differential.engines import ClickHouse, Rows, Spark, same
from tests.differential.generator_leaves import UNSTABLE

from penstock.errors import InvalidQuery
from penstock.sql.functions.function import Function
from penstock.sql.functions.table import FAMILIES

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NULLABLE = {
    "any": "ni",
    "number": "ni",
    "integer": "ni",
    "float": "nf",
    "string": "ns",
    "time": "nt",
    "array": "arr",
    "map": "m",
    "text": "ns",
    "bytes": "ns",
    "json": "ns",
    "bitmap": "bitmapBuild(arr)",
}
PLAIN = NULLABLE | {
    "json": "js",
    "number": "i32",
    "integer": "i32",
    "float": "f",
    "string": "s",
    "text": "s",
    "time": "t",
}
MORE = {"constant": ("1", "'UTC'", "'day'"), "step": ("1", "ns"), "any": ("ns", "nt", "nf")}
MOST = 24
AT_ONCE = 12


def calls(row: Function) -> Iterator[str]:
    """Calls with columns of each kind it takes; one of them at least can be NULL."""
    kinds = [row.takes[min(place, len(row.takes) - 1)] for place in range(max(row.arity[0], 1))]
    for columns in itertools.islice(itertools.product(*map(_columns, kinds)), MOST):
        if any(each in ("ni", "ns", "nt", "nf", "(ni = 1)") for each in columns):
            yield f"{row.name}({', '.join(columns)})"


def _columns(kind: str) -> tuple[str, ...]:
    plain = (PLAIN[kind],) if kind in PLAIN and PLAIN[kind] != NULLABLE[kind] else ()
    tests = ("(ni = 1)",) if kind in ("number", "integer") else ()
    return (*((NULLABLE[kind],) if kind in NULLABLE else ()), *MORE.get(kind, ()), *plain, *tests)


def query(some: Sequence[str]) -> str:
    selected = ", ".join(f"{call} AS r{place}" for place, call in enumerate(some))
    return f"SELECT {selected} FROM t WHERE ni IS NULL OR nf IS NULL OR ns IS NULL OR nt IS NULL OR id < 12 ORDER BY id"


def answered(spark: Spark, some: Sequence[str]) -> Iterator[tuple[str, str, Rows]]:
    """Each call with its type and its values; of several that fail together each is tried by itself."""
    try:
        compiled = spark.compile(query(some))
        rows = spark.rows(compiled)
    except (PySparkException, ValueError):
        half = len(some) // 2
        for part in (some[:half], some[half:]) if half else ():
            yield from answered(spark, part)
        return
    for place, call in enumerate(some):
        yield call, str(compiled.columns[place][1]), [(row[place],) for row in rows]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_nulls(family: object, clickhouse: ClickHouse, quick: Spark) -> None:
    theirs: dict[str, tuple[str, Rows]] = {}
    for row in family.FUNCTIONS:  # type: ignore[attr-defined]
        if row.name in UNSTABLE or row.arity[1] == 0:
            continue
        for call in calls(row):
            try:
                quick.compile(query([call]))
                _, types, rows = clickhouse.rows(query([call]))
            except (InvalidQuery, RuntimeError):
                continue
            theirs[call] = types[0], rows
    known, wrong = list(theirs), []
    for start in range(0, len(known), AT_ONCE):
        for call, of, rows in answered(quick, known[start : start + AT_ONCE]):
            if without_hint(of) != without_hint(theirs[call][0]) or not all(map(same, rows, theirs[call][1])):
                wrong.append((call, of, rows, theirs[call]))
    assert not wrong
