"""The expression of a column, translated with an eye on its conversions.

In: the translator of a FORWARD_QUERY. Out: one that notes each conversion, and the rows for which it is
evaluated, in a `Found`. Called by probes. Invariant: where that cannot be said the column is `unsure`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import bare
from penstock.sql import arithmetic, choice, comparisons
from penstock.sql.calls import call
from penstock.sql.conversions import CAST, Mode, convert
from penstock.sql.functions import conversions, parsing
from penstock.sql.functions.table import function_named
from penstock.sql.handlers import HANDLERS
from penstock.sql.may_raise import may_raise
from penstock.sql.probe_conversions import Faults, faults_of, faults_of_parsing, mode_of
from penstock.sql.probe_found import Found, null_of
from penstock.sql.special_forms import SPECIAL_FORMS, cast
from penstock.sql.tokens import CALL_MARK
from penstock.sql.tolerant import tolerant
from penstock.sql.translator import Handler, Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, condition, is_null

_CONVERSIONS = frozenset(row.name for row in (*conversions.FUNCTIONS, *parsing.FUNCTIONS)) - {
    "toLowCardinality", "toNullable", "materialize", "identity",
} | {"accurateCast", "accurateCastOrNull", "accurateCastOrDefault"}  # fmt: skip
_BINARY: tuple[type[exp.Expr], ...] = (*arithmetic.OPERATORS, *comparisons.OPERATORS)
_ONE = (exp.Paren, exp.Alias, exp.Column, exp.Identifier, exp.Dot, exp.Neg, exp.Not, exp.Is, exp.Array, exp.Tuple)


@dataclass(frozen=True, slots=True)
class Watch:
    """The translator's handlers, with an eye on conversions. `guards` hold for the rows for which the node is
    evaluated; `blind` where that cannot be said."""

    found: Found
    guards: tuple[str, ...] = ()
    blind: bool = False

    def on(self, tr: Translator) -> Translator:
        plain: dict[type[exp.Expr], Handler] = {kind: partial(self._node, of) for kind, of in HANDLERS.items()}
        own: Mapping[type[exp.Expr], Handler] = {
            exp.Cast: self._cast, exp.CastToStrType: self._cast, exp.Anonymous: self._call, exp.If: self._ternary,
            exp.Case: self._case,
        }  # fmt: skip
        return replace(tr, handlers={**plain, **own})

    def _node(self, handler: Handler, tr: Translator, node: exp.Expr) -> Typed:
        """Any other node. A NULL on the left of an operator leaves its right side alone."""
        inner = self if _is_eager(node) else replace(self, blind=True)
        mark = len(self.found.entries)
        value = handler(inner.on(tr), node)
        if len(self.found.entries) > mark and (is_null(value) or (isinstance(node, _BINARY) and value.nullable)):
            del self.found.entries[mark:]
            self.found.unsure |= not is_null(value)
        return value

    def _under(self, sql: str, word: str = "") -> Watch:
        """Where a condition is true, or (NOT) is not."""
        if may_raise(sql):
            return replace(self, blind=True)
        return replace(self, guards=(*self.guards, f"{word}coalesce({sql}, false)"))

    def _call(self, tr: Translator, node: exp.Expr) -> Typed:
        name = call_name(node) or ""
        arguments = call_parts(node)[1]
        function = function_named(name)
        match name if name in SPECIAL_FORMS else function.name if function else name.lower():
            case "if":
                return self._choice(tr, node, arguments[:1], arguments[1:])
            case "multiIf":
                return self._choice(tr, node, arguments[:-1:2], [*arguments[1::2], arguments[-1]])
            case "coalesce" | "ifNull":
                return self._coalesce(tr, node, arguments)
            case known if known in _CONVERSIONS:
                return self._conversion(tr, node, known, arguments)
            case _:
                return self._node(call, tr, node)

    def _ternary(self, tr: Translator, node: exp.Expr) -> Typed:
        return self._choice(tr, node, [node.this], [node.args["true"], node.args["false"]])

    def _case(self, tr: Translator, node: exp.Expr) -> Typed:
        ifs = node.args["ifs"]
        tests = [exp.EQ(this=node.this.copy(), expression=each.this) if node.this else each.this for each in ifs]
        return self._choice(
            tr, node, tests, [*(each.args["true"] for each in ifs), node.args.get("default") or exp.null()]
        )

    def _choice(self, tr: Translator, node: exp.Expr, tests: list[exp.Expr], values: list[exp.Expr]) -> Typed:
        watch, conditions, chosen = self, [], []
        for test, value in zip(tests, values, strict=False):
            mark = len(self.found.entries)
            conditions.append(watch.on(tr).translate(test))
            sql = condition(conditions[-1])
            passed = watch._past(mark)
            chosen.append(passed._under(sql).on(tr).translate(value))
            watch = passed._under(sql, "NOT ")
        chosen.append(watch.on(tr).translate(values[-1]))
        return self._settled(choice.choose(tr, node, conditions, chosen), [*conditions, *chosen])

    def _coalesce(self, tr: Translator, node: exp.Expr, arguments: list[exp.Expr]) -> Typed:
        watch, values = self, []
        for argument in arguments:
            mark = len(self.found.entries)
            values.append(watch.on(tr).translate(argument))
            watch = watch._past(mark)._under(f"{values[-1].sql} IS NULL")
        return self._settled(call(*_given(tr, node, values, [])), values)

    def _past(self, mark: int) -> Watch:
        """Where what was met since `mark` did not fail: after a failure nothing is evaluated."""
        failed = [each.bad for each in self.found.entries[mark:] if each.probe.kind == "fails"]
        return replace(self, guards=(*self.guards, *(f"NOT ({bad})" for bad in failed)))

    def _cast(self, tr: Translator, node: exp.Expr) -> Typed:
        mark = len(self.found.entries)
        value = self.on(tr).translate(node.this)
        inner = [each.bad for each in self.found.entries[mark:]]
        known = replace(tr, handlers={**HANDLERS, exp.Placeholder: lambda *_: value})
        strict = cast(known, type(node)(this=exp.Placeholder(), to=node.args["to"].copy()))
        result = self._converted(tr, node, value, (strict, CAST))
        if _fails_for_null(value, strict, CAST) and result is not strict:
            self.found.add("fails", value, null_of(value, inner), written(node), self.guards)
        return result

    def _conversion(self, tr: Translator, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> Typed:
        mark = len(self.found.entries)
        value = self.on(tr).translate(arguments[0])
        inner = [each.bad for each in self.found.entries[mark:]]
        strict = call(*_given(tr, node, [value], arguments[1:]))
        given = arguments[1 + name.startswith("accurate") :] if name.endswith("OrDefault") else []
        for argument in given:
            default = convert(replace(tr, handlers=HANDLERS).translate(argument), bare(strict.type), CAST)
            self.found.unsure |= default is None or may_raise(default.sql)
        result = self._converted(tr, node, value, (strict, mode_of(name)))
        fails = _fails_for_null(value, strict, mode_of(name))
        defaults = name.endswith("OrDefault") and value.nullable and not strict.nullable
        if (fails or defaults) and result is not strict:
            self.found.add("fails" if fails else "default", value, null_of(value, inner), written(node), self.guards)
        return result

    def _converted(self, tr: Translator, node: exp.Expr, value: Typed, converted: tuple[Typed, Mode]) -> Typed:
        """What stands for a conversion: never raising where it is covered, itself where not."""
        strict, mode = converted
        found = self._faults(tr, node, value, converted)
        faults = () if is_null(value) else found
        certain = faults == () and not _fails_for_null(value, strict, mode)
        hidden = not certain and (self.blind or bool(tr.locals))
        if faults is None or hidden or may_raise(value.sql):
            self.found.unsure = True
            return strict
        self.found.convicts(value, faults, written(node), self.guards)
        raises = bool(faults) or _fails_for_null(value, strict, mode)
        return replace(strict, sql=self.found.stand_in(tolerant(strict.sql) if raises else strict.sql))

    def _faults(self, tr: Translator, node: exp.Expr, value: Typed, converted: tuple[Typed, Mode]) -> Faults | None:
        name = call_name(node) or ""
        if not name.startswith("parseDateTime"):
            return faults_of(value, converted[0].type, converted[1])
        quiet = exp.Anonymous(this=f"{name.removesuffix('OrNull').removesuffix('OrZero')}OrNull")
        parsed = call(*_given(tr, quiet, [value], call_parts(node)[1][1:]))
        return faults_of_parsing(value, parsed, converted[1])

    def _settled(self, result: Typed, parts: list[Typed]) -> Typed:
        """A choice between values that do not raise: a cast to their common type does not either."""
        if isinstance(result.bare, t.Decimal) or any(may_raise(condition(each)) for each in parts):
            return result
        return replace(result, sql=self.found.stand_in(result.sql))


def _fails_for_null(value: Typed, strict: Typed, mode: Mode) -> bool:
    """Whether the type that is asked for has no NULL, and nothing stands for one."""
    return mode.failure == "error" and value.nullable and not strict.nullable


def _is_eager(node: exp.Expr) -> bool:
    """Whether all that a node holds is evaluated for each row (for an operator: if nothing is NULL)."""
    if not isinstance(node, exp.Anonymous):
        return isinstance(node, (*_ONE, *_BINARY))
    if call_name(node) in ("and", "or", "in", "notIn"):
        return False
    return sum(each.find(exp.Column, exp.Identifier) is not None for each in call_parts(node)[1]) <= 1


def _given(tr: Translator, node: exp.Expr, values: list[Typed], rest: list[exp.Expr]) -> tuple[Translator, exp.Expr]:
    """A call whose first arguments are translated already, and who translates it."""
    known = replace(tr, handlers={**HANDLERS, exp.Placeholder: lambda _, each: values[int(each.name)]})
    first = [exp.Placeholder(this=str(place)) for place in range(len(values))]
    return known, exp.Anonymous(this=node.this, expressions=[*first, *(each.copy() for each in rest)])


def written(node: exp.Expr) -> str:
    """A node as the user may have written it."""
    return node.sql(dialect="clickhouse").replace(f"{CALL_MARK}(", "(")
