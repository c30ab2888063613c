"""Probes of a FORWARD_QUERY: Spark SQL that counts, before the query runs, the rows whose conversions go wrong.

`forward_probes` translates each column's expression with a `_ConversionWatcher`, which notes every conversion in a
`_ColumnConversions`: the value, for which values the conversion fails or takes a default, and under which conditions
(guards) the row gets there at all. Invariant: no SQL of a probe raises; a column in which something may raise or take
a default that no probe covers is `unsure`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Literal, TypeAlias

from sqlglot import exp

from penstock.model import types as t
from penstock.model.datasource import Column, Text
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.analysis.may_raise import may_raise, suppress_errors
from penstock.sql.calls.special_forms import SPECIAL_FORMS
from penstock.sql.compiler.translator import NodeHandler, Translator
from penstock.sql.conversions.explicit import STRICT_MODE, ConversionMode, convert
from penstock.sql.conversions.implicit import cast_column, implicit_cast
from penstock.sql.conversions.parse_best_effort import lacks_year
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_condition, is_null, typed_sql
from penstock.sql.functions import conversions
from penstock.sql.functions.dates import best_effort_times
from penstock.sql.functions.table import find_function
from penstock.sql.operators import arithmetic, comparisons, logic
from penstock.sql.outputs.forward_conversions import STRICT_HANDLERS, call_strictly, cast_strictly
from penstock.sql.outputs.forward_query import compile_forward, read_select_list
from penstock.sql.spark_text import quote_identifier, replace_columns
from penstock.sql.syntax.problems import Report
from penstock.sql.syntax.tokens import CALL_MARK
from penstock.sql.syntax.tree import call_name, call_parts

FaultKind: TypeAlias = Literal["fails", "default"]
"""What a conversion does to a value that it cannot convert: it fails, or gives a default."""
_Faults: TypeAlias = tuple[tuple[FaultKind, str], ...]
"""For each fault of a conversion, the Spark condition that is true for the values that have it."""
_CONVERSION_FUNCTIONS = frozenset(row.name for row in (*conversions.FUNCTIONS, *best_effort_times.FUNCTIONS)) - {
    "toLowCardinality",
    "toNullable",
    "materialize",
    "identity",
} | {"accurateCast", "accurateCastOrNull", "accurateCastOrDefault"}
_BINARY_OPERATORS: tuple[type[exp.Expr], ...] = (*arithmetic.ARITHMETIC_OPERATORS, *comparisons.COMPARISON_OPERATORS)
_EAGER_NODES = (
    exp.Paren,
    exp.Alias,
    exp.Column,
    exp.Identifier,
    exp.Dot,
    exp.Neg,
    exp.Not,
    exp.Is,
    exp.Array,
    exp.Tuple,
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A conversion in the expression of a column, and how to find the rows in which it goes wrong."""

    column: str
    kind: FaultKind
    value: str
    """Spark SQL of what is converted."""
    bad: str
    """Spark SQL, true for the rows with the fault and never NULL."""
    conversion: str
    """The conversion as text for the user."""


@dataclass(frozen=True, slots=True)
class ForwardProbes:
    """The probes of a FORWARD_QUERY."""

    probes: tuple[Probe, ...]
    unsure: tuple[str, ...]
    """Columns in which something may raise or give a default that no probe covers."""


def forward_probes(text: Text, old: Sequence[Column], new: Sequence[Column]) -> ForwardProbes:
    """The probes of a FORWARD_QUERY over the old columns. Raises InvalidQuery if it does not compile."""
    compile_forward(text, old, new)
    selected = read_select_list(Report(), text, old)
    probes: list[Probe] = []
    unsure: list[str] = []
    for column in new:
        found = _ColumnConversions()
        value = selected.value(_ConversionWatcher(found).watching(selected.tr), column)
        _probe_storing(found, value, column, _source_text(selected.node(column)))
        probes += found.probes(column.name)
        if found.unsure:
            unsure.append(column.name)
    return ForwardProbes(tuple(probes), tuple(unsure))


def _probe_storing(found: _ColumnConversions, value: TypedSql, column: Column, shown: str) -> None:
    """Notes the last conversion, to the type of the column itself, and NULLs that become its default."""
    want = column.type
    if may_raise(value.sql):
        found.unsure = True
        return
    if isinstance(want, t.AggregateFunction):
        return
    conversion = f"{shown} stored as {want}"
    exact = implicit_cast(value, want) is not None and value.spark == value_type(value.bare)
    faults = () if exact or is_null(value) else _conversion_faults(value, want, STRICT_MODE)
    # A FixedString of zeros is 0 for a conversion that is written out; storing it may fail.
    found.unsure |= not exact and isinstance(value.bare, t.FixedString) and isinstance(unwrap_type(want), t.Int)
    found.unsure |= faults is None
    found.add_faults(value, faults or (), conversion)
    if value.nullable and not is_nullable(want):
        found.add_fault("default", value, _null_condition(value, [each.bad for each in found.entries]), conversion)


@dataclass(frozen=True, slots=True)
class _ConversionWatcher:
    """Translates like the handlers of the translator, and notes each conversion."""

    found: _ColumnConversions
    """The conversions so far."""
    guards: tuple[str, ...] = ()
    """Spark conditions that hold for the rows in which the current node is evaluated."""
    blind: bool = False
    """These conditions cannot be expressed, so that a fault here makes the column unsure."""

    def watching(self, tr: Translator) -> Translator:
        """The translator with this watcher's handlers in place of its own."""
        plain: dict[type[exp.Expr], NodeHandler] = {
            kind: partial(self._translate_node, of) for kind, of in STRICT_HANDLERS.items()
        }
        own: Mapping[type[exp.Expr], NodeHandler] = {
            exp.Cast: self._translate_cast,
            exp.CastToStrType: self._translate_cast,
            exp.Anonymous: self._translate_call,
            exp.If: self._translate_ternary,
            exp.Case: self._translate_case,
        }
        return replace(tr, handlers={**plain, **own})

    def _translate_node(self, handler: NodeHandler, tr: Translator, node: exp.Expr) -> TypedSql:
        """Any node without a handler here. If the left operand of an operator is NULL, Spark does not evaluate the
        right one."""
        inner = self if _evaluates_all(node) else replace(self, blind=True)
        mark = len(self.found.entries)
        value = handler(inner.watching(tr), node)
        if len(self.found.entries) > mark and (
            is_null(value) or (isinstance(node, _BINARY_OPERATORS) and value.nullable)
        ):
            del self.found.entries[mark:]
            self.found.unsure |= not is_null(value)
        return value

    def _under_condition(self, sql: str, word: str = "") -> _ConversionWatcher:
        """The watcher for nodes that are evaluated only if a condition is true or, with the word "NOT ", is not."""
        if may_raise(sql):
            return replace(self, blind=True)
        return replace(self, guards=(*self.guards, f"{word}coalesce({sql}, false)"))

    def _translate_call(self, tr: Translator, node: exp.Expr) -> TypedSql:
        """A call: of a conversion, of a function that evaluates its arguments under conditions, or of any other."""
        name = call_name(node) or ""
        arguments = call_parts(node)[1]
        function = find_function(name)
        match name if name in SPECIAL_FORMS else function.name if function else name.lower():
            case "if":
                return self._translate_choice(tr, node, arguments[:1], arguments[1:])
            case "multiIf":
                return self._translate_choice(tr, node, arguments[:-1:2], [*arguments[1::2], arguments[-1]])
            case "coalesce" | "ifNull":
                return self._translate_coalesce(tr, node, arguments)
            case known if known in _CONVERSION_FUNCTIONS:
                return self._translate_conversion(tr, node, known, arguments)
            case _:
                return self._translate_node(call_strictly, tr, node)

    def _translate_ternary(self, tr: Translator, node: exp.Expr) -> TypedSql:
        return self._translate_choice(tr, node, [node.this], [node.args["true"], node.args["false"]])

    def _translate_case(self, tr: Translator, node: exp.Expr) -> TypedSql:
        ifs = node.args["ifs"]
        tests = [exp.EQ(this=node.this.copy(), expression=each.this) if node.this else each.this for each in ifs]
        return self._translate_choice(
            tr, node, tests, [*(each.args["true"] for each in ifs), node.args.get("default") or exp.null()]
        )

    def _translate_choice(
        self, tr: Translator, node: exp.Expr, tests: list[exp.Expr], values: list[exp.Expr]
    ) -> TypedSql:
        watcher, conditions, chosen = self, [], []
        for test, value in zip(tests, values, strict=False):
            mark = len(self.found.entries)
            conditions.append(watcher.watching(tr).translate(test))
            sql = as_condition(conditions[-1])
            passed = watcher._after_success(mark)
            chosen.append(passed._under_condition(sql).watching(tr).translate(value))
            watcher = passed._under_condition(sql, "NOT ")
        chosen.append(watcher.watching(tr).translate(values[-1]))
        return self._settle_choice(logic.choose_value(tr, node, conditions, chosen), [*conditions, *chosen])

    def _translate_coalesce(self, tr: Translator, node: exp.Expr, arguments: list[exp.Expr]) -> TypedSql:
        watcher, values = self, []
        for argument in arguments:
            mark = len(self.found.entries)
            values.append(watcher.watching(tr).translate(argument))
            watcher = watcher._after_success(mark)._under_condition(f"{values[-1].sql} IS NULL")
        return self._settle_choice(call_strictly(*_call_of_values(tr, node, values, [])), values)

    def _after_success(self, mark: int) -> _ConversionWatcher:
        """The watcher for nodes that are evaluated only if the conversions noted since `mark` did not fail."""
        failed = [each.bad for each in self.found.entries[mark:] if each.probe.kind == "fails"]
        return replace(self, guards=(*self.guards, *(f"NOT ({bad})" for bad in failed)))

    def _translate_cast(self, tr: Translator, node: exp.Expr) -> TypedSql:
        mark = len(self.found.entries)
        value = self.watching(tr).translate(node.this)
        inner = [each.bad for each in self.found.entries[mark:]]
        known = replace(tr, handlers={**STRICT_HANDLERS, exp.Placeholder: lambda *_: value})
        strict = cast_strictly(known, type(node)(this=exp.Placeholder(), to=node.args["to"].copy()))
        result = self._record_conversion(tr, node, value, (strict, STRICT_MODE))
        if _fails_for_null(value, strict, STRICT_MODE) and result is not strict:
            self.found.add_fault("fails", value, _null_condition(value, inner), _source_text(node), self.guards)
        return result

    def _translate_conversion(self, tr: Translator, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> TypedSql:
        mark = len(self.found.entries)
        value = self.watching(tr).translate(arguments[0])
        inner = [each.bad for each in self.found.entries[mark:]]
        strict = call_strictly(*_call_of_values(tr, node, [value], arguments[1:]))
        given = arguments[1 + name.startswith("accurate") :] if name.endswith("OrDefault") else []
        for argument in given:
            default = convert(
                replace(tr, handlers=STRICT_HANDLERS).translate(argument), unwrap_type(strict.type), STRICT_MODE
            )
            self.found.unsure |= default is None or may_raise(default.sql)
        result = self._record_conversion(tr, node, value, (strict, _conversion_mode(name)))
        fails = _fails_for_null(value, strict, _conversion_mode(name))
        defaults = name.endswith("OrDefault") and value.nullable and not strict.nullable
        if (fails or defaults) and result is not strict:
            self.found.add_fault(
                "fails" if fails else "default", value, _null_condition(value, inner), _source_text(node), self.guards
            )
        return result

    def _record_conversion(
        self, tr: Translator, node: exp.Expr, value: TypedSql, converted: tuple[TypedSql, ConversionMode]
    ) -> TypedSql:
        """Notes a conversion, and gives the value that stands for it in the SQL around it.

        That value never raises if probes cover the conversion; else it is the conversion itself, and the column is
        unsure.
        """
        strict, mode = converted
        found = self._find_faults(tr, node, value, converted)
        faults = () if is_null(value) else found
        raises = faults != () or _fails_for_null(value, strict, mode)
        # Inside of a lambda the value is that of an element, which a probe of the rows cannot read.
        unreachable = raises and (self.blind or bool(tr.locals))
        if faults is None or unreachable or may_raise(value.sql):
            self.found.unsure = True
            return strict
        self.found.add_faults(value, faults, _source_text(node), self.guards)
        return replace(strict, sql=self.found.stand_in(suppress_errors(strict.sql) if raises else strict.sql))

    def _find_faults(
        self, tr: Translator, node: exp.Expr, value: TypedSql, converted: tuple[TypedSql, ConversionMode]
    ) -> _Faults | None:
        name = call_name(node) or ""
        if not name.startswith("parseDateTime"):
            return _conversion_faults(value, converted[0].type, converted[1])
        quiet = exp.Anonymous(this=f"{name.removesuffix('OrNull').removesuffix('OrZero')}OrNull")
        parsed = call_strictly(*_call_of_values(tr, quiet, [value], call_parts(node)[1][1:]))
        return _parsing_faults(value, parsed, converted[1], month_first="BestEffortUS" in name)

    def _settle_choice(self, result: TypedSql, parts: list[TypedSql]) -> TypedSql:
        """A choice between values that do not raise. The cast to their common type does not raise either, so it is
        hidden from may_raise."""
        if isinstance(result.bare, t.Decimal) or any(may_raise(as_condition(each)) for each in parts):
            return result
        return replace(result, sql=self.found.stand_in(result.sql))


def _call_of_values(
    tr: Translator, node: exp.Expr, values: list[TypedSql], rest: list[exp.Expr]
) -> tuple[Translator, exp.Expr]:
    """A call whose first arguments are translated already (as placeholders), and the translator for it."""
    known = replace(tr, handlers={**STRICT_HANDLERS, exp.Placeholder: lambda _, each: values[int(each.name)]})
    first = [exp.Placeholder(this=str(place)) for place in range(len(values))]
    return known, exp.Anonymous(this=node.this, expressions=[*first, *(each.copy() for each in rest)])


def _evaluates_all(node: exp.Expr) -> bool:
    """Whether everything in a node is evaluated for each row (in an operator: if nothing is NULL)."""
    if not isinstance(node, exp.Anonymous):
        return isinstance(node, (*_EAGER_NODES, *_BINARY_OPERATORS))
    if call_name(node) in ("and", "or", "in", "notIn"):
        return False
    return sum(each.find(exp.Column, exp.Identifier) is not None for each in call_parts(node)[1]) <= 1


def _fails_for_null(value: TypedSql, strict: TypedSql, mode: ConversionMode) -> bool:
    """Whether a conversion fails for NULL: the type it asks for has none, and no default is given."""
    return mode.failure == "error" and value.nullable and not strict.nullable


def _null_condition(value: TypedSql, counted: list[str]) -> str:
    """Spark SQL: the value is NULL, for no reason that is counted already."""
    others = f" AND NOT ({' OR '.join(counted)})" if counted else ""
    return f"{value.sql} IS NULL{others}"


def _source_text(node: exp.Expr) -> str:
    """A node as the user may have written it."""
    return node.sql(dialect="clickhouse").replace(f"{CALL_MARK}(", "(")


@dataclass(frozen=True, slots=True)
class _GuardedProbe:
    """A probe, and the guards under which its conversion is evaluated."""

    probe: Probe
    guards: tuple[str, ...]

    @property
    def bad(self) -> str:
        """The condition of the probe for the rows in which its conversion is evaluated."""
        return " AND ".join((*self.guards, f"({self.probe.bad})"))


@dataclass(slots=True)
class _ColumnConversions:
    """The conversions in the expression of one column.

    A noted conversion is replaced by a stand-in column in the SQL around it, so that nested conversions do not multiply
    the text; `restore` puts the SQL back, in a form that never raises (`safe`).
    """

    entries: list[_GuardedProbe] = field(default_factory=list)
    safe: list[str] = field(default_factory=list)
    unsure: bool = False

    def stand_in(self, sql: str) -> str:
        """The name of the stand-in for SQL that never raises."""
        if sql not in self.safe:
            self.safe.append(sql)
        return quote_identifier(f"\ue000{self.safe.index(sql)}")

    def restore(self, sql: str) -> str:
        """The SQL with its stand-ins replaced, the last first: each one contains only earlier stand-ins."""
        for place in reversed(range(len(self.safe))):
            name = f"\ue000{place}"
            if name in sql:
                sql = bind_if_long(self.safe[place], partial(_replace_column, sql, name))
        return sql

    def add_fault(
        self, kind: FaultKind, value: TypedSql, bad: str, conversion: str, guards: tuple[str, ...] = ()
    ) -> None:
        """Notes one fault of a conversion."""
        self.entries.append(_GuardedProbe(Probe("", kind, value.sql, bad, conversion), guards))

    def add_faults(self, value: TypedSql, faults: _Faults, conversion: str, guards: tuple[str, ...] = ()) -> None:
        """Notes all faults of a conversion."""
        for kind, bad in faults:
            self.add_fault(kind, value, bad, conversion, guards)

    def probes(self, column: str) -> list[Probe]:
        """One probe for each conversion. An alias may be used under several conditions: then any of them counts."""
        conditions: dict[Probe, list[str]] = {}
        for each in self.entries:
            conditions.setdefault(each.probe, []).append(each.bad)
        return [
            replace(
                each, column=column, value=self.restore(each.value), bad=self.restore(" OR ".join(dict.fromkeys(bads)))
            )
            for each, bads in conditions.items()
        ]


def _replace_column(sql: str, name: str, value: str) -> str:
    """The SQL with one column replaced."""
    return replace_columns(sql, {name: value})


def _conversion_mode(name: str) -> ConversionMode:
    """The conversion mode of a function: whether it fails, gives NULL or a default, and what it does on overflow."""
    failure = {"OrNull": "null", "OrZero": "zero"}.get(name[-6:], "zero" if name.endswith("OrDefault") else "error")
    accurate = name.startswith("accurate") or name.endswith("OrDefault")
    return ConversionMode(failure, "refused" if accurate else "wraps")  # type: ignore[arg-type]


def _conversion_faults(value: TypedSql, to: Type, mode: ConversionMode) -> _Faults | None:
    """The faults of converting a value to a type; empty if every value converts, None if that cannot be said.

    Each condition is true for the values that fail or take a default, and no others; it is never NULL and never raises.
    """
    want = unwrap_type(to)
    if _never_fails(value, want, mode):
        return ()
    if isinstance(value.bare, t.Array) and isinstance(want, t.Array) and value.spark == value_type(value.bare):
        return _element_faults(value, value.bare.of, want.of, mode)
    any_format = _is_read_in_any_format(value, want, mode)
    quiet = ConversionMode("null", "refused") if any_format else replace(mode, failure="null", default=None)
    checked = convert(value, want, quiet)
    if checked is None:
        return None
    if any_format:
        return _parsing_faults(value, checked, mode, month_first=False)
    bad = f"{value.sql} IS NOT NULL AND {suppress_errors(checked.sql)} IS NULL"
    if isinstance(value.bare, t.FixedString) and isinstance(want, t.Int):
        bad = f"{bad} AND rtrim(chr(0), {value.sql}) <> ''"  # nothing but zeros is the integer 0
    return (("fails" if mode.failure == "error" else "default", bad),)


def _parsing_faults(value: TypedSql, parsed: TypedSql, mode: ConversionMode, *, month_first: bool) -> _Faults:
    """The faults of a text that is read as a time of any format; `parsed` is the result of the variant -OrNull. A time
    without a year fails in every variant."""
    bad = f"{value.sql} IS NOT NULL AND {suppress_errors(parsed.sql)} IS NULL"
    if mode.failure == "error":
        return (("fails", bad),)
    yearless = lacks_year(value.sql, month_first=month_first)
    return ("fails", f"coalesce({yearless}, false)"), ("default", f"{bad} AND NOT {yearless}")


def _is_read_in_any_format(value: TypedSql, want: Type, mode: ConversionMode) -> bool:
    reads = isinstance(value.bare, t.String) and isinstance(want, (t.DateTime, t.DateTime64))
    return reads and (mode.failure == "error" or mode.overflow == "refused")


def _element_faults(array: TypedSql, old: Type, new: Type, mode: ConversionMode) -> _Faults | None:
    """The faults of converting an array: it fails with any of its elements."""
    inner = _conversion_faults(typed_sql("` e`", old), new, mode)
    if inner is None:
        return None
    bads = [bad for _, bad in inner] + (["` e` IS NULL"] if is_nullable(old) and not is_nullable(new) else [])
    return tuple(("fails", f"coalesce(exists({array.sql}, ` e` -> {bad}), false)") for bad in bads)


def _never_fails(value: TypedSql, want: Type, mode: ConversionMode) -> bool:
    """Whether every value converts, because of the types alone."""
    wraps = mode.overflow == "wraps"
    match value.bare, want:
        case (_, t.String() | t.AggregateFunction()) | (t.Enum(), t.Int()):
            return True
        case t.Int() | t.Bool() | t.Float() | t.Decimal(), t.Bool():
            return True
        case (t.Int() | t.Bool(), t.Int() | t.Float()) | (t.Float() | t.Decimal(), t.Float()) if wraps:
            return True
        case t.Date() | t.DateTime() | t.DateTime64(), t.Int() | t.Float():
            return wraps
        case t.Date() | t.DateTime() | t.DateTime64(), t.Date() | t.DateTime() | t.DateTime64():
            return True
        case t.Int(bits, signed), t.Date() | t.DateTime() | t.DateTime64() if bits <= 32 and (wraps or not signed):
            return True
        case _:
            return value.spark == value_type(value.bare) and cast_column(value.sql, value.bare, want) is not None
