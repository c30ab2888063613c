"""grouping(key, …): which keys of a grouping set a row lacks.

In: a call. Out: `Typed`. Called through SPECIAL_FORMS and by passes.grouping_sets. Invariant: the bits of Spark's
grouping_id() are the keys in `Translator.absent`, the first one the highest.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.translator import Translator
from penstock.sql.tree import call_parts
from penstock.sql.typed import Typed


def lacks(bit: int) -> str:
    return f"(grouping_id() & {2**bit}) <> 0"


def grouping(tr: Translator, node: exp.Anonymous) -> Typed:
    """grouping(key, …): a bit for each key, set where the row's set lacks it."""
    _, arguments = call_parts(node)
    if tr.place != "select" or not arguments:
        raise tr.refused(node, "misplaced-aggregate", "`grouping` takes keys of GROUP BY, outside of aggregates")
    plain = replace(tr, absent={})
    bits = []
    for place, argument in enumerate(reversed(arguments)):
        sql = plain.tracing().translate(argument).sql
        if sql not in tr.keys:
            raise tr.refused(argument, "not-grouped", "`grouping` takes keys of GROUP BY only")
        if sql in tr.absent:
            bit = len(tr.absent) - 1 - list(tr.absent).index(sql)
            bits.append(f"if({lacks(bit)}, {2**place}L, 0L)")
    return Typed(f"({' + '.join(bits)})" if bits else "CAST(0 AS BIGINT)", t.Int(64, signed=False), "BIGINT")
