"""Why a DataFrame of a view has no method of some name.

In: the name of an attribute. Out: `RefusedInView`, raised. Invariant: nothing is ever returned for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from penstock.api.dataframes.refusal import RefusedInView
from penstock.errors import did_you_mean

_ACTIONS = (
    "collect count show first head take tail toPandas toArrow toLocalIterator foreach foreachPartition isEmpty "
    "write writeTo writeStream explain describe summary approxQuantile checkpoint localCheckpoint mergeInto to_pandas "
    "createTempView createOrReplaceTempView createGlobalTempView createOrReplaceGlobalTempView registerTempTable"
)
_REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        _ACTIONS.split(),
        ("is an action, and a view only says what its rows are", "return the DataFrame; the target is where they go"),
    ),
    **dict.fromkeys(
        ("limit", "offset", "sample", "randomSplit", "sampleBy"),
        ("would choose other rows of each step", "choose rows by filter"),
    ),
    **dict.fromkeys(
        ("orderBy", "sort", "sortWithinPartitions"),
        (
            "has no effect: rows of a table have no order",
            "order rows where they are queried; a table has a sorting key",
        ),
    ),
    **dict.fromkeys(
        ("union", "unionAll", "unionByName", "intersect", "intersectAll", "exceptAll", "subtract"),
        ("has rows of two tables, and one of them triggers a view", "write a view for each into the same target"),
    ),
    **dict.fromkeys(
        ("rdd", "mapInPandas", "mapInArrow", "pandas_api", "applyInPandas"),
        ("runs Python for rows", "write it with functions of pyspark.sql.functions"),
    ),
    **dict.fromkeys(
        ("schema", "dtypes", "printSchema"),
        ("is known when Spark plans the view, and not here", "the types of a source are those of its model"),
    ),
    **dict.fromkeys(
        ("rollup", "cube", "groupingSets", "pivot"),
        ("makes several rows of one for which no target merges", "write a view for each set of keys"),
    ),
    **dict.fromkeys(
        ("cache", "persist", "unpersist", "repartition", "coalesce", "hint", "repartitionByRange"),
        ("is about how Spark works, which Penstock decides", "leave it out"),
    ),
}
METHODS = """
agg alias columns crossJoin distinct drop dropDuplicates filter groupBy join select selectExpr toDF transform where
withColumn withColumnRenamed withColumns withColumnsRenamed
""".split()  # noqa: SIM905 a list of names reads as one


def refuse_method(name: str, columns: Sequence[str]) -> NoReturn:
    """Raises RefusedInView for an attribute that is no column and no method of a view's DataFrame."""
    if name in _REASONS:
        reason, hint = _REASONS[name]
        raise RefusedInView(f"`{name}` {reason}", hint)
    near = did_you_mean(name, [*columns, *METHODS])
    raise RefusedInView(f"a DataFrame of a view has no column and no method `{name}`", near or "see .columns")
