"""The types of values in a compiled query, and whether they may be NULL.

In: the columns that a view reads, and an expression over them in marked SQL. Out: the type as Spark writes it, None
where it is not known; whether the value is never NULL. Invariant: a form that is not named here is one of which neither
is known.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.model.manifest import BoundColumn, View
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import is_nullable
from penstock.sql.analysis.constant_folding import Unknown, known_value
from penstock.sql.analysis.opaque_calls import call_name
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import spark_type

WHOLE_TYPES = ("INT", "BIGINT", "DECIMAL(20,0)", "DECIMAL(38,0)")
"""Types of whole numbers, each of which holds those before it, but for their sign."""
_TEXTS = ("btrim", "concat", "lower", "ltrim", "replace", "rtrim", "trim", "upper")
_PARTS = ("char_length", "dayofmonth", "hour", "minute", "month", "octet_length", "quarter", "second", "size", "year")
_OF_ONE_TYPE = ("abs", "greatest", "least", "try_subtract")
"""Functions that give a value of the type that all their arguments have."""
_KEEP_NULL = ("abs", "greatest", "least", "substring")
"""Functions besides that give NULL only where an argument is NULL."""
_FUNCTIONS = {
    **dict.fromkeys(_TEXTS, "STRING"),
    **dict.fromkeys(("penstock_lower", "penstock_upper"), "BINARY"),
    **dict.fromkeys(_PARTS, "INT"),
    "date_trunc": "TIMESTAMP",
    "unix_seconds": "BIGINT",
}
"""The types of what functions give: NULL only where an argument is NULL."""
_KEPT = (
    *(("FLOAT", "DOUBLE"), ("TIMESTAMP", "DATE"), ("DATE", "TIMESTAMP")),
    *(("STRING", "BINARY"), ("BINARY", "STRING"), ("BOOLEAN", "INT"), ("BOOLEAN", "BIGINT")),
)
"""Types whose values are no NULL in another one."""
_TRUTHS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not)
_OPERATORS = (*_TRUTHS, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Neg)


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """The columns of the one table that a view reads."""

    by_name: Mapping[str, BoundColumn]

    @classmethod
    def of(cls, view: View) -> ReadColumns:
        return cls({each.name: each for each in view.trigger.binding.columns})

    def is_never_null(self, value: exp.Expr) -> bool:
        match value:
            case exp.Column():
                column = self.by_name.get(value.name)
                return column is not None and not is_nullable(column.type)
            case exp.Coalesce():
                return any(map(self.is_never_null, (value.this, *value.expressions)))
            case exp.If() | exp.Case():
                return all(each is not None and self.is_never_null(each) for each in _branches(value))
            case exp.Cast():
                # What a type does not hold may become NULL.
                return _keeps_values(self.type_of(value.this), type_text(value)) and self.is_never_null(value.this)
            case _ if isinstance(value, (exp.Paren, *_OPERATORS)):  # a division by zero is an error
                return all(map(self.is_never_null, _operands(value)))
            case _ if call_name(value) in (*_FUNCTIONS, *_KEEP_NULL):
                return all(map(self.is_never_null, value.expressions))
            case _:
                return not isinstance(found := known_value(value), Unknown) and found is not None

    def type_of(self, value: exp.Expr) -> str | None:
        """The type of a value as Spark writes it; None where it is not known. Of whole numbers that are computed with
        it is one that is wide enough."""
        value = value.unnest()
        match value:
            case exp.Column():
                column = self.by_name.get(value.name)
                return spark_type(column.type) if column is not None else None
            case exp.Cast():
                return type_text(value)
            case exp.Coalesce():
                return self._common((value.this, *value.expressions))
            case exp.If() | exp.Case():
                return self._common(tuple(each or exp.Null() for each in _branches(value)))
            case exp.Literal():
                return "STRING" if value.is_string else ("INT" if value.is_int else None)
            case exp.Anonymous():
                return self._type_of_call(value)
            case _:
                return self._type_of_operator(value)

    def _type_of_call(self, call: exp.Anonymous) -> str | None:
        name = call_name(call)
        if name == "substring":
            return self.type_of(call.expressions[0])
        return self._common(tuple(call.expressions)) if name in _OF_ONE_TYPE else _FUNCTIONS.get(name)

    def _type_of_operator(self, node: exp.Expr) -> str | None:
        match node:
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Neg():
                found = self._common(_operands(node))
                return "BIGINT" if found == "INT" else found
            case exp.Div():
                return "DOUBLE" if self._common(_operands(node)) == "DOUBLE" else None
            case exp.IntDiv():
                return "BIGINT"
            case _:
                return "BOOLEAN" if isinstance(node, _TRUTHS) else None

    def _common(self, values: tuple[exp.Expr, ...]) -> str | None:
        found = {self.type_of(each) for each in values if not isinstance(each, exp.Null)}
        if found <= set(WHOLE_TYPES):
            return max(found, key=WHOLE_TYPES.index, default=None)
        return found.pop() if len(found) == 1 else None


def type_text(cast: exp.Cast) -> str:
    return str(cast.to.sql(dialect=DIALECT)).replace(" ", "")


def _keeps_values(have: str | None, to: str) -> bool:
    """Whether each value of a type is one of another type."""
    if have in WHOLE_TYPES:
        return to == "DOUBLE" or (to in WHOLE_TYPES and WHOLE_TYPES.index(have) <= WHOLE_TYPES.index(to))
    return have == to or (have, to) in _KEPT


def _branches(choice: exp.If | exp.Case) -> tuple[exp.Expr | None, ...]:
    """The values of which one is chosen; None for the one that is NULL since nothing is written."""
    if isinstance(choice, exp.Case):
        return *(each.args.get("true") for each in choice.args["ifs"]), choice.args.get("default")
    return choice.args.get("true"), choice.args.get("false")


def _operands(node: exp.Expr) -> tuple[exp.Expr, ...]:
    found = (node.args.get(each) for each in ("this", "expression"))
    return tuple(each for each in found if isinstance(each, exp.Expr))
