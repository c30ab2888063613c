"""The arguments of a function that takes a lambda: the lambda, and the arrays whose elements it is applied to.

`ArrayLambda` holds the translated body and the array to traverse: the only array, or all of them zipped as one array
of structs with the fields `0`, `1` … Invariant: the arrays have one size, or the query fails, as in ClickHouse; a
lambda that tests elements gives UInt8 or Bool.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.bind_once import fresh_name
from penstock.sql.expr.typed import TypedSql, as_condition, is_null, typed_sql
from penstock.sql.functions.arguments import zip_arrays
from penstock.sql.functions.function import UINT8, BadArguments
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.tree import call_name, call_parts


def array_arguments(tr: Translator, node: exp.Anonymous, nodes: list[exp.Expr]) -> list[TypedSql]:
    """The translated arguments, each of them an array. Raises Refused for any other type, or for no argument."""
    values = tr.translate_all(nodes)
    for value, each in zip(values, nodes, strict=True):
        if not isinstance(value.bare, t.Array):
            message = f"`{call_name(node)}` needs an Array, this is {value.type}"
            raise tr.refusal(each, "wrong-argument-type", message, hint_for_array(value))
    if not values:
        raise tr.refusal(node, "wrong-argument-count", f"`{call_name(node)}` needs an Array")
    return values


def hint_for_array(value: TypedSql) -> str | None:
    """What to write instead of a value that is no array, where its type is only known for each row."""
    return "write `::Array(String)` after it, or another type" if isinstance(value.bare, t.Dynamic) else None


def single_array(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """The only argument of a call without a lambda. Raises Refused for several."""
    _, arguments = call_parts(node)
    if len(arguments) > 1:
        message = f"`{call_name(node)}` of several arrays needs a lambda"
        raise tr.refusal(node, "wrong-argument-count", message)
    return array_arguments(tr, node, arguments)[0]


def element_type(array: TypedSql) -> Type:
    """The type of an array's elements."""
    assert isinstance(array.bare, t.Array)
    return array.bare.of


def lambda_argument(tr: Translator, node: exp.Anonymous) -> exp.Lambda:
    """The lambda that is the first argument of a call. Raises Refused if it is none."""
    _, arguments = call_parts(node)
    function = arguments[0] if arguments else None
    if not isinstance(function, exp.Lambda):
        raise tr.refusal(node, "wrong-argument-type", f"the first argument of `{call_name(node)}` must be a lambda")
    return function


def has_lambda(node: exp.Anonymous) -> bool:
    """Whether the first argument of a call is a lambda."""
    _, arguments = call_parts(node)
    return bool(arguments) and isinstance(arguments[0], exp.Lambda)


def build_or_refuse(tr: Translator, node: exp.Expr, build: Callable[[], TypedSql]) -> TypedSql:
    """The result of `build`. Its BadArguments is raised as a refusal at the node."""
    try:
        return build()
    except BadArguments as error:
        raise tr.refusal(node, "wrong-argument-type", error.message, error.hint) from error


class ArrayLambda:
    """A lambda over arrays: the Spark name of its parameter, the array to traverse (`zipped`) and its body."""

    def __init__(self, tr: Translator, node: exp.Anonymous):
        function = lambda_argument(tr, node)
        self.arrays = array_arguments(tr, node, call_parts(node)[1][1:])
        names = [each.name for each in function.expressions]
        self.parameter = fresh_name("x", " ".join(each.sql for each in tr.locals.values()))
        self.body = tr.with_locals(self._locals(tr, function, names)).translate(function.this)
        self.zipped = self.arrays[0].sql
        if len(self.arrays) > 1:
            self.zipped = zip_arrays([array.sql for array in self.arrays])
        self._blame = (tr, function)

    def _locals(self, tr: Translator, function: exp.Lambda, names: list[str]) -> dict[str, TypedSql]:
        """The lambda's parameters as values: elements of the arrays, or the fields of an array of tuples."""
        of = element_type(self.arrays[0])
        if len(names) == len(self.arrays) == 1:
            return {names[0]: typed_sql(self.parameter, of)}
        if len(self.arrays) == 1 and isinstance(of, t.Tuple) and len(of.fields) == len(names):
            fields = ((name or f"_{place}", inner) for place, (name, inner) in enumerate(of.fields, 1))
            parts = [typed_sql(f"{self.parameter}.{quote_identifier(field)}", inner) for field, inner in fields]
            return dict(zip(names, parts, strict=True))
        if len(names) != len(self.arrays):
            message = f"the lambda takes {len(names)} values, {len(self.arrays)} arrays are given"
            raise tr.refusal(function, "wrong-argument-count", message)
        return {
            name: typed_sql(f"{self.parameter}.{quote_identifier(str(place))}", element_type(array))
            for place, (name, array) in enumerate(zip(names, self.arrays, strict=True))
        }

    @property
    def body_condition(self) -> str:
        """The body as a Spark boolean that is never NULL. Raises Refused unless it is UInt8 or Bool."""
        if not is_null(self.body) and self.body.bare not in (UINT8, t.Bool()):
            tr, function = self._blame
            message = f"the lambda must give UInt8, this is {self.body.type}"
            raise tr.refusal(function, "wrong-argument-type", message, "compare it: x -> x != 0")
        return f"coalesce({as_condition(self.body)}, false)"

    @property
    def predicate(self) -> str:
        """The Spark lambda that tests an element."""
        return f"{self.parameter} -> {self.body_condition}"

    @property
    def first_element(self) -> str:
        """Inside of the Spark lambda: the element of the first array."""
        return self.parameter if len(self.arrays) == 1 else f"{self.parameter}.`0`"

    def first_elements(self, rows: str) -> str:
        """The elements of the first array in an array of traversed rows."""
        return rows if len(self.arrays) == 1 else f"transform({rows}, ` r` -> ` r`.`0`)"
