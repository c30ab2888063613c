"""CASE, the ternary, if and multiIf: the first value whose test is true.

In: nodes, or tests and values. Out: a value of the values' supertype. Called through HANDLERS and SPECIAL_FORMS.
Invariant: Spark is given one type in all branches.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.intervals import no_interval
from penstock.sql.logic import check_conditions
from penstock.sql.supertypes import supertype
from penstock.sql.translator import Translator
from penstock.sql.typed import NEVER, NULL, Typed, as_spark, condition, is_null
from penstock.sql.value_types import value_type


def case(tr: Translator, node: exp.Expr) -> Typed:
    """CASE with or without an operand."""
    from_operand = [exp.EQ(this=node.this, expression=each.this) for each in node.args["ifs"]] if node.this else []
    tests = from_operand or [each.this for each in node.args["ifs"]]
    values = [tr.translate(each.args["true"]) for each in node.args["ifs"]]
    last = tr.translate(node.args["default"]) if node.args.get("default") is not None else NULL
    return choose(tr, node, [tr.translate(test) for test in tests], [*values, last])


def ternary(tr: Translator, node: exp.Expr) -> Typed:
    values = [tr.translate(node.args["true"]), tr.translate(node.args["false"])]
    return choose(tr, node, [tr.translate(node.this)], values)


def choose(tr: Translator, node: exp.Expr, tests: list[Typed], values: list[Typed]) -> Typed:
    """The first value whose test is true, else the last; all of their supertype."""
    no_interval(tr, node, values)
    # What is never taken does not say in which zone a time is shown.
    never = [test.sql == NEVER or test.constant == 0 for test in tests] + [False]
    taken = [value.type for value, dead in zip(values, never, strict=True) if not dead]
    of = supertype([*taken, *(value.type for value, dead in zip(values, never, strict=True) if dead)])
    if of is None:
        types = ", ".join(dict.fromkeys(str(value.type) for value in values))
        raise tr.refused(node, "no-common-type", f"there is no common type of {types}", "cast one of them")
    spark = value_type(of)
    shown = [
        f"CAST(NULL AS {spark})" if is_null(value) and spark != "VOID" else as_spark(value, spark) for value in values
    ]
    check_conditions(tr, node, "if", tests)
    if len(tests) == 1:
        return Typed(f"if({condition(tests[0])}, {shown[0]}, {shown[1]})", of, spark)
    branches = " ".join(f"WHEN {condition(test)} THEN {sql}" for test, sql in zip(tests, shown, strict=False))
    return Typed(f"CASE {branches} ELSE {shown[-1]} END", of, spark)
