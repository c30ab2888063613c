"""What a FORWARD_QUERY does to the values that are there: counted before it is run for good.

In: the text of the query, the old columns and the new. Out: for each conversion a `Probe`, Spark SQL that says
which rows fail in it or take a default. Called by plan and deploy.
Invariant: no SQL of a probe raises; what no probe tells makes its column `unsure`.

For which values a conversion fails or takes a default.

In: a value, a type and a mode. Out: conditions in Spark SQL. Called by probes and probe_expressions.
Invariant: the conditions are true for those rows and no others, never for NULL, and none of them raises.

What one column's expression was found to hold: conversions, and for which rows they are bad.

In: filled in by probe_expressions. Out: `Probe` values. Called by probes and probe_expressions. Invariant:
no SQL of a probe raises.

The expression of a column, translated with an eye on its conversions.

In: the translator of a FORWARD_QUERY. Out: one that notes each conversion, and the rows for which it is
evaluated, in a `Found`. Called by probes. Invariant: where that cannot be said the column is `unsure`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias

from sqlglot import exp

from penstock.model import types as t
from penstock.model.datasource import Column, Text
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.analysis.may_raise import may_raise, suppress_errors
from penstock.sql.calls.dispatch import HANDLERS, translate_call
from penstock.sql.calls.special_forms import SPECIAL_FORMS, translate_cast
from penstock.sql.compiler.translator import NodeHandler, Translator
from penstock.sql.conversions.explicit import CAST_MODE, ConversionMode, convert
from penstock.sql.conversions.implicit import cast_column, implicit_cast
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import Typed, as_condition, is_null, typed
from penstock.sql.functions import conversions
from penstock.sql.functions.dates import parse_best_effort
from penstock.sql.functions.table import find_function
from penstock.sql.operators import arithmetic, comparisons, logic
from penstock.sql.outputs.forward_query import compile_forward, read_select_list
from penstock.sql.syntax.problems import Report
from penstock.sql.syntax.tokens import CALL_MARK
from penstock.sql.syntax.tree import call_name, call_parts


@dataclass(frozen=True, slots=True)
class ForwardProbes:
    """`unsure`: columns in which something may raise, or take a default, that no probe covers."""

    probes: tuple[Probe, ...]
    unsure: tuple[str, ...]


def forward_probes(text: Text, old: Sequence[Column], new: Sequence[Column]) -> ForwardProbes:
    """Raises InvalidQuery as compile_forward does."""
    compile_forward(text, old, new)
    selected = read_select_list(Report(), text, old)
    probes: list[Probe] = []
    unsure: list[str] = []
    for column in new:
        found = ColumnConversions()
        value = selected.value(ConversionWatcher(found).watch(selected.tr), column)
        _probe_storing(found, value, column, source_text(selected.node(column)))
        probes += found.probes(column.name)
        if found.unsure:
            unsure.append(column.name)
    return ForwardProbes(tuple(probes), tuple(unsure))


def _probe_storing(found: ColumnConversions, value: Typed, column: Column, shown: str) -> None:
    """The last conversion, to the column's own type, and the NULLs that take its default."""
    want = column.type
    if may_raise(value.sql):
        found.unsure = True
        return
    if isinstance(want, t.AggregateFunction):
        return
    conversion = f"{shown} stored as {want}"
    exact = implicit_cast(value, want) is not None and value.spark == value_type(value.bare)
    faults = () if exact or is_null(value) else conversion_faults(value, want, CAST_MODE)
    found.unsure |= faults is None
    found.add_faults(value, faults or (), conversion)
    if value.nullable and not is_nullable(want):
        found.add_fault("default", value, null_condition(value, [each.bad for each in found.entries]), conversion)


FaultKind: TypeAlias = Literal["fails", "default"]
Faults: TypeAlias = tuple[tuple[FaultKind, str], ...]
"""What a conversion does to values, and for which of them."""


def conversion_mode(name: str) -> ConversionMode:
    """The mode of a conversion function."""
    failure = {"OrNull": "null", "OrZero": "zero"}.get(name[-6:], "zero" if name.endswith("OrDefault") else "error")
    accurate = name.startswith("accurate") or name.endswith("OrDefault")
    return ConversionMode(failure, "refused" if accurate else "wraps")  # type: ignore[arg-type]


def conversion_faults(value: Typed, to: Type, mode: ConversionMode) -> Faults | None:
    """The rows whose value fails or takes a default; nothing where every value converts, None where that
    cannot be said."""
    want = unwrap_type(to)
    if _never_fails(value, want, mode):
        return ()
    if isinstance(value.bare, t.Array) and isinstance(want, t.Array) and value.spark == value_type(value.bare):
        return _element_faults(value, value.bare.of, want.of, mode)
    checked = convert(value, want, replace(mode, failure="null", default=None))
    if checked is None:
        return None
    bad = f"{value.sql} IS NOT NULL AND {suppress_errors(checked.sql)} IS NULL"
    if isinstance(value.bare, t.Float) and isinstance(want, t.Int) and mode.overflow == "wraps" and want.high > 2**63:
        bad = f"{bad} AND abs({value.sql}) < double('Infinity')"
    return (("fails" if mode.failure == "error" else "default", bad),)


def parsing_faults(value: Typed, parsed: Typed, mode: ConversionMode) -> Faults:
    """Of parseDateTimeBestEffort and its kin: `parsed` is what the function OrNull makes of the value."""
    bad = f"{value.sql} IS NOT NULL AND {suppress_errors(parsed.sql)} IS NULL"
    return (("fails" if mode.failure == "error" else "default", bad),)


def _element_faults(array: Typed, old: Type, new: Type, mode: ConversionMode) -> Faults | None:
    """An array fails with one of its elements."""
    inner = conversion_faults(typed("` e`", old), new, mode)
    if inner is None:
        return None
    bads = [bad for _, bad in inner] + (["` e` IS NULL"] if is_nullable(old) and not is_nullable(new) else [])
    return tuple(("fails", f"coalesce(exists({array.sql}, ` e` -> {bad}), false)") for bad in bads)


def _never_fails(value: Typed, want: Type, mode: ConversionMode) -> bool:
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


@dataclass(frozen=True, slots=True)
class Probe:
    """`value` is what is converted, `bad` a boolean that is never NULL; `conversion` is shown to the user."""

    column: str
    kind: FaultKind
    value: str
    bad: str
    conversion: str


@dataclass(frozen=True, slots=True)
class _Entry:
    probe: Probe
    guards: tuple[str, ...]

    @property
    def bad(self) -> str:
        return " AND ".join((*self.guards, f"({self.probe.bad})"))


@dataclass(slots=True)
class ColumnConversions:
    """What one column's expression holds. A conversion that was looked at stands in the SQL around it as a
    column of its own, whose SQL (one that never raises) is put back at the end."""

    entries: list[_Entry] = field(default_factory=list)
    safe: list[str] = field(default_factory=list)
    unsure: bool = False

    def stand_in(self, sql: str) -> str:
        if sql not in self.safe:
            self.safe.append(sql)
        return f"`\ue000{self.safe.index(sql)}`"

    def restore(self, sql: str) -> str:
        """What stands in holds only what stood in before it."""
        for place in reversed(range(len(self.safe))):
            name = f"`\ue000{place}`"
            if name in sql:
                sql = bind_if_long(self.safe[place], partial(sql.replace, name))
        return sql

    def add_fault(self, kind: FaultKind, value: Typed, bad: str, conversion: str, guards: tuple[str, ...] = ()) -> None:
        self.entries.append(_Entry(Probe("", kind, value.sql, bad, conversion), guards))

    def add_faults(self, value: Typed, faults: Faults, conversion: str, guards: tuple[str, ...] = ()) -> None:
        """Notes the faults of a conversion."""
        for kind, bad in faults:
            self.add_fault(kind, value, bad, conversion, guards)

    def probes(self, column: str) -> list[Probe]:
        """One for each conversion, though its alias may be used under several conditions."""
        conditions: dict[Probe, list[str]] = {}
        for each in self.entries:
            conditions.setdefault(each.probe, []).append(each.bad)
        return [
            replace(
                each, column=column, value=self.restore(each.value), bad=self.restore(" OR ".join(dict.fromkeys(bads)))
            )
            for each, bads in conditions.items()
        ]


def null_condition(value: Typed, counted: list[str]) -> str:
    """A value is NULL, and not because of something that is counted already."""
    others = f" AND NOT ({' OR '.join(counted)})" if counted else ""
    return f"{value.sql} IS NULL{others}"


_CONVERSIONS = frozenset(row.name for row in (*conversions.FUNCTIONS, *parse_best_effort.FUNCTIONS)) - {
    "toLowCardinality",
    "toNullable",
    "materialize",
    "identity",
} | {"accurateCast", "accurateCastOrNull", "accurateCastOrDefault"}
_BINARY: tuple[type[exp.Expr], ...] = (*arithmetic.ARITHMETIC_OPERATORS, *comparisons.COMPARISON_OPERATORS)
_UNARY = (exp.Paren, exp.Alias, exp.Column, exp.Identifier, exp.Dot, exp.Neg, exp.Not, exp.Is, exp.Array, exp.Tuple)


@dataclass(frozen=True, slots=True)
class ConversionWatcher:
    """The translator's handlers, with an eye on conversions. `guards` hold for the rows for which the node is
    evaluated; `blind` where that cannot be said."""

    found: ColumnConversions
    guards: tuple[str, ...] = ()
    blind: bool = False

    def watch(self, tr: Translator) -> Translator:
        plain: dict[type[exp.Expr], NodeHandler] = {
            kind: partial(self._translate_node, of) for kind, of in HANDLERS.items()
        }
        own: Mapping[type[exp.Expr], NodeHandler] = {
            exp.Cast: self._translate_cast,
            exp.CastToStrType: self._translate_cast,
            exp.Anonymous: self._translate_call,
            exp.If: self._translate_ternary,
            exp.Case: self._translate_case,
        }
        return replace(tr, handlers={**plain, **own})

    def _translate_node(self, handler: NodeHandler, tr: Translator, node: exp.Expr) -> Typed:
        """Any other node. A NULL on the left of an operator leaves its right side alone."""
        inner = self if _evaluates_all(node) else replace(self, blind=True)
        mark = len(self.found.entries)
        value = handler(inner.watch(tr), node)
        if len(self.found.entries) > mark and (is_null(value) or (isinstance(node, _BINARY) and value.nullable)):
            del self.found.entries[mark:]
            self.found.unsure |= not is_null(value)
        return value

    def _under_condition(self, sql: str, word: str = "") -> ConversionWatcher:
        """Where a condition is true, or (NOT) is not."""
        if may_raise(sql):
            return replace(self, blind=True)
        return replace(self, guards=(*self.guards, f"{word}coalesce({sql}, false)"))

    def _translate_call(self, tr: Translator, node: exp.Expr) -> Typed:
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
            case known if known in _CONVERSIONS:
                return self._translate_conversion(tr, node, known, arguments)
            case _:
                return self._translate_node(translate_call, tr, node)

    def _translate_ternary(self, tr: Translator, node: exp.Expr) -> Typed:
        return self._translate_choice(tr, node, [node.this], [node.args["true"], node.args["false"]])

    def _translate_case(self, tr: Translator, node: exp.Expr) -> Typed:
        ifs = node.args["ifs"]
        tests = [exp.EQ(this=node.this.copy(), expression=each.this) if node.this else each.this for each in ifs]
        return self._translate_choice(
            tr, node, tests, [*(each.args["true"] for each in ifs), node.args.get("default") or exp.null()]
        )

    def _translate_choice(self, tr: Translator, node: exp.Expr, tests: list[exp.Expr], values: list[exp.Expr]) -> Typed:
        watch, conditions, chosen = self, [], []
        for test, value in zip(tests, values, strict=False):
            mark = len(self.found.entries)
            conditions.append(watch.watch(tr).translate(test))
            sql = as_condition(conditions[-1])
            passed = watch._after_success(mark)
            chosen.append(passed._under_condition(sql).watch(tr).translate(value))
            watch = passed._under_condition(sql, "NOT ")
        chosen.append(watch.watch(tr).translate(values[-1]))
        return self._settle_choice(logic.choose_value(tr, node, conditions, chosen), [*conditions, *chosen])

    def _translate_coalesce(self, tr: Translator, node: exp.Expr, arguments: list[exp.Expr]) -> Typed:
        watch, values = self, []
        for argument in arguments:
            mark = len(self.found.entries)
            values.append(watch.watch(tr).translate(argument))
            watch = watch._after_success(mark)._under_condition(f"{values[-1].sql} IS NULL")
        return self._settle_choice(translate_call(*_call_of_values(tr, node, values, [])), values)

    def _after_success(self, mark: int) -> ConversionWatcher:
        """Where what was met since `mark` did not fail: after a failure nothing is evaluated."""
        failed = [each.bad for each in self.found.entries[mark:] if each.probe.kind == "fails"]
        return replace(self, guards=(*self.guards, *(f"NOT ({bad})" for bad in failed)))

    def _translate_cast(self, tr: Translator, node: exp.Expr) -> Typed:
        mark = len(self.found.entries)
        value = self.watch(tr).translate(node.this)
        inner = [each.bad for each in self.found.entries[mark:]]
        known = replace(tr, handlers={**HANDLERS, exp.Placeholder: lambda *_: value})
        strict = translate_cast(known, type(node)(this=exp.Placeholder(), to=node.args["to"].copy()))
        result = self._record_conversion(tr, node, value, (strict, CAST_MODE))
        if _fails_for_null(value, strict, CAST_MODE) and result is not strict:
            self.found.add_fault("fails", value, null_condition(value, inner), source_text(node), self.guards)
        return result

    def _translate_conversion(self, tr: Translator, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> Typed:
        mark = len(self.found.entries)
        value = self.watch(tr).translate(arguments[0])
        inner = [each.bad for each in self.found.entries[mark:]]
        strict = translate_call(*_call_of_values(tr, node, [value], arguments[1:]))
        given = arguments[1 + name.startswith("accurate") :] if name.endswith("OrDefault") else []
        for argument in given:
            default = convert(replace(tr, handlers=HANDLERS).translate(argument), unwrap_type(strict.type), CAST_MODE)
            self.found.unsure |= default is None or may_raise(default.sql)
        result = self._record_conversion(tr, node, value, (strict, conversion_mode(name)))
        fails = _fails_for_null(value, strict, conversion_mode(name))
        defaults = name.endswith("OrDefault") and value.nullable and not strict.nullable
        if (fails or defaults) and result is not strict:
            self.found.add_fault(
                "fails" if fails else "default", value, null_condition(value, inner), source_text(node), self.guards
            )
        return result

    def _record_conversion(
        self, tr: Translator, node: exp.Expr, value: Typed, converted: tuple[Typed, ConversionMode]
    ) -> Typed:
        """What stands for a conversion: never raising where it is covered, itself where not."""
        strict, mode = converted
        found = self._find_faults(tr, node, value, converted)
        faults = () if is_null(value) else found
        certain = faults == () and not _fails_for_null(value, strict, mode)
        hidden = not certain and (self.blind or bool(tr.locals))
        if faults is None or hidden or may_raise(value.sql):
            self.found.unsure = True
            return strict
        self.found.add_faults(value, faults, source_text(node), self.guards)
        raises = bool(faults) or _fails_for_null(value, strict, mode)
        return replace(strict, sql=self.found.stand_in(suppress_errors(strict.sql) if raises else strict.sql))

    def _find_faults(
        self, tr: Translator, node: exp.Expr, value: Typed, converted: tuple[Typed, ConversionMode]
    ) -> Faults | None:
        name = call_name(node) or ""
        if not name.startswith("parseDateTime"):
            return conversion_faults(value, converted[0].type, converted[1])
        quiet = exp.Anonymous(this=f"{name.removesuffix('OrNull').removesuffix('OrZero')}OrNull")
        parsed = translate_call(*_call_of_values(tr, quiet, [value], call_parts(node)[1][1:]))
        return parsing_faults(value, parsed, converted[1])

    def _settle_choice(self, result: Typed, parts: list[Typed]) -> Typed:
        """A choice between values that do not raise: a cast to their common type does not either."""
        if isinstance(result.bare, t.Decimal) or any(may_raise(as_condition(each)) for each in parts):
            return result
        return replace(result, sql=self.found.stand_in(result.sql))


def _fails_for_null(value: Typed, strict: Typed, mode: ConversionMode) -> bool:
    """Whether the type that is asked for has no NULL, and nothing stands for one."""
    return mode.failure == "error" and value.nullable and not strict.nullable


def _evaluates_all(node: exp.Expr) -> bool:
    """Whether all that a node holds is evaluated for each row (for an operator: if nothing is NULL)."""
    if not isinstance(node, exp.Anonymous):
        return isinstance(node, (*_UNARY, *_BINARY))
    if call_name(node) in ("and", "or", "in", "notIn"):
        return False
    return sum(each.find(exp.Column, exp.Identifier) is not None for each in call_parts(node)[1]) <= 1


def _call_of_values(
    tr: Translator, node: exp.Expr, values: list[Typed], rest: list[exp.Expr]
) -> tuple[Translator, exp.Expr]:
    """A call whose first arguments are translated already, and who translates it."""
    known = replace(tr, handlers={**HANDLERS, exp.Placeholder: lambda _, each: values[int(each.name)]})
    first = [exp.Placeholder(this=str(place)) for place in range(len(values))]
    return known, exp.Anonymous(this=node.this, expressions=[*first, *(each.copy() for each in rest)])


def source_text(node: exp.Expr) -> str:
    """A node as the user may have written it."""
    return node.sql(dialect="clickhouse").replace(f"{CALL_MARK}(", "(")
