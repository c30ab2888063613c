"""What a FORWARD_QUERY does to the values that are there: counted before it is run for good.

In: the text of the query, the old columns and the new. Out: for each conversion a `Probe`, Spark SQL that says
which rows fail in it or take a default; `may_raise` for any compiled SQL. Called by plan and deploy.
Invariant: no SQL of a probe raises; what no probe tells makes its column `unsure`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from penstock.model import types as t
from penstock.model.datasource import Column, Text
from penstock.model.types import Type, bare, nullable
from penstock.sql import arithmetic, comparisons
from penstock.sql.calls import call
from penstock.sql.conversions import CAST, Mode, convert
from penstock.sql.forward import compile_forward, read_select_list
from penstock.sql.functions import conversions
from penstock.sql.functions.table import function_named
from penstock.sql.handlers import HANDLERS
from penstock.sql.problems import Report
from penstock.sql.special_forms import SPECIAL_FORMS, cast
from penstock.sql.tokens import CALL_MARK, closing
from penstock.sql.translator import Handler, Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, condition, is_null, typed
from penstock.sql.value_types import value_type
from penstock.sql.widening import cast_sql, widened

Kind: TypeAlias = Literal["fails", "default"]
Faults: TypeAlias = tuple[tuple[Kind, str, str], ...]
"""What a conversion does to values, for which of them (never for NULL), and the condition, if there is one,
under which it does so to NULL."""


@dataclass(frozen=True, slots=True)
class Probe:
    """`value` is what is converted, `bad` a boolean that is never NULL; `conversion` is shown to the user."""

    column: str
    kind: Kind
    value: str
    bad: str
    conversion: str


@dataclass(frozen=True, slots=True)
class Probed:
    """`unsure`: columns in which something may raise, or take a default, that no probe covers."""

    probes: tuple[Probe, ...]
    unsure: tuple[str, ...]


def forward_probes(text: Text, old: Sequence[Column], new: Sequence[Column]) -> Probed:
    """Raises InvalidQuery as compile_forward does."""
    compile_forward(text, old, new)
    selected = read_select_list(Report(), text, old)
    probes: list[Probe] = []
    unsure: list[str] = []
    for column in new:
        found = _Found()
        value = selected.value(_Watch(found).on(selected.tr), column)
        _store(found, value, column, _written(selected.node(column)))
        probes += found.probes(column.name)
        if found.unsure:
            unsure.append(column.name)
    return Probed(tuple(probes), tuple(unsure))


@dataclass(frozen=True, slots=True)
class _Entry:
    probe: Probe
    guards: tuple[str, ...]

    @property
    def bad(self) -> str:
        return " AND ".join((*self.guards, f"({self.probe.bad})"))


@dataclass(slots=True)
class _Found:
    """What one column's expression holds. A conversion that was looked at stands in the SQL around it as a
    column of its own, whose SQL (one that never raises) is put back at the end."""

    entries: list[_Entry] = field(default_factory=list)
    safe: list[str] = field(default_factory=list)
    unsure: bool = False

    def stand_in(self, sql: str) -> str:
        if sql not in self.safe:
            self.safe.append(sql)
        return f"`\ue000{self.safe.index(sql)}`"

    def whole(self, sql: str) -> str:
        return re.sub("`\ue000([0-9]+)`", lambda found: self.whole(self.safe[int(found[1])]), sql)

    def add(self, kind: Kind, value: Typed, bad: str, conversion: str, guards: tuple[str, ...] = ()) -> None:
        self.entries.append(_Entry(Probe("", kind, value.sql, bad, conversion), guards))

    def convicts(
        self, value: Typed, faults: Faults, conversion: str, counted: list[str], guards: tuple[str, ...] = ()
    ) -> None:
        """Notes the faults of a conversion; a NULL is one only where no conversion inside has made it."""
        for kind, bad, null in faults:
            of_null = f" OR {_null_of(value, counted)} AND {null}" if null else ""
            self.add(kind, value, f"{bad}{of_null}", conversion, guards)

    def probes(self, column: str) -> list[Probe]:
        """One for each conversion, though its alias may be used under several conditions."""
        conditions: dict[Probe, list[str]] = {}
        for each in self.entries:
            conditions.setdefault(each.probe, []).append(each.bad)
        return [
            replace(each, column=column, value=self.whole(each.value), bad=self.whole(" OR ".join(dict.fromkeys(bads))))
            for each, bads in conditions.items()
        ]


def _written(node: exp.Expr) -> str:
    return node.sql(dialect="clickhouse").replace(f"{CALL_MARK}(", "(")


def _store(found: _Found, value: Typed, column: Column, written: str) -> None:
    """The last conversion, to the column's own type, and the NULLs that take its default."""
    want = column.type
    if may_raise(value.sql):
        found.unsure = True
        return
    if isinstance(want, t.AggregateFunction):
        return
    conversion = f"{written} stored as {want}"
    exact = widened(value, want) is not None and value.spark == value_type(value.bare)
    faults = () if exact or is_null(value) else _faults(value, want, CAST)
    found.unsure |= faults is None
    found.convicts(value, faults or (), conversion, [each.bad for each in found.entries])
    if value.nullable and not nullable(want):
        found.add("default", value, _null_of(value, [each.bad for each in found.entries]), conversion)


def _null_of(value: Typed, counted: list[str]) -> str:
    """A value is NULL, and not because of something that is counted already."""
    others = f" AND NOT ({' OR '.join(counted)})" if counted else ""
    return f"{value.sql} IS NULL{others}"


# ------------------------------------------------------------------------------------------ expressions

_CONVERSIONS = frozenset(row.name for row in conversions.FUNCTIONS) - {
    "toLowCardinality", "toNullable", "materialize", "identity",
} | {"accurateCast", "accurateCastOrNull", "accurateCastOrDefault"}  # fmt: skip
_BINARY: tuple[type[exp.Expr], ...] = (*arithmetic.OPERATORS, *comparisons.OPERATORS)
_ONE = (exp.Paren, exp.Alias, exp.Column, exp.Identifier, exp.Dot, exp.Neg, exp.Not, exp.Is, exp.Array, exp.Tuple)


@dataclass(frozen=True, slots=True)
class _Watch:
    """The translator's handlers, with an eye on conversions. `guards` hold for the rows for which the node is
    evaluated; `blind` where that cannot be said."""

    found: _Found
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

    def _under(self, sql: str, word: str = "") -> _Watch:
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
        return self._settled(comparisons.choose(tr, node, conditions, chosen), [*conditions, *chosen])

    def _coalesce(self, tr: Translator, node: exp.Expr, arguments: list[exp.Expr]) -> Typed:
        watch, values = self, []
        for argument in arguments:
            mark = len(self.found.entries)
            values.append(watch.on(tr).translate(argument))
            watch = watch._past(mark)._under(f"{values[-1].sql} IS NULL")
        return self._settled(call(*_given(tr, node, values, [])), values)

    def _past(self, mark: int) -> _Watch:
        """Where what was met since `mark` did not fail: after a failure nothing is evaluated."""
        failed = [each.bad for each in self.found.entries[mark:] if each.probe.kind == "fails"]
        return replace(self, guards=(*self.guards, *(f"NOT ({bad})" for bad in failed)))

    def _cast(self, tr: Translator, node: exp.Expr) -> Typed:
        mark = len(self.found.entries)
        value = self.on(tr).translate(node.this)
        inner = [each.bad for each in self.found.entries[mark:]]
        known = replace(tr, handlers={**HANDLERS, exp.Placeholder: lambda *_: value})
        strict = cast(known, type(node)(this=exp.Placeholder(), to=node.args["to"].copy()))
        return self._converted(tr, node, (value, inner), strict, CAST)

    def _conversion(self, tr: Translator, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> Typed:
        mark = len(self.found.entries)
        value = self.on(tr).translate(arguments[0])
        inner = [each.bad for each in self.found.entries[mark:]]
        strict = call(*_given(tr, node, [value], arguments[1:]))
        given = arguments[1 + name.startswith("accurate") :] if name.endswith("OrDefault") else []
        for argument in given:
            default = convert(replace(tr, handlers=HANDLERS).translate(argument), bare(strict.type), CAST)
            self.found.unsure |= default is None or may_raise(default.sql)
        result = self._converted(tr, node, (value, inner), strict, _mode(name))
        if given and value.nullable and not strict.nullable and result is not strict:
            self.found.add("default", value, _null_of(value, inner), _written(node), self.guards)
        return result

    def _converted(
        self, tr: Translator, node: exp.Expr, converted: tuple[Typed, list[str]], strict: Typed, mode: Mode
    ) -> Typed:
        """What stands for a conversion: never raising where it is covered, itself where not."""
        value, inner = converted
        faults = () if is_null(value) else _faults(value, strict.type, mode)
        hidden = faults != () and (self.blind or bool(tr.locals))
        if faults is None or hidden or may_raise(value.sql):
            self.found.unsure = True
            return strict
        self.found.convicts(value, faults, _written(node), inner, self.guards)
        return replace(strict, sql=self.found.stand_in(_tolerant(strict.sql) if faults else strict.sql))

    def _settled(self, result: Typed, parts: list[Typed]) -> Typed:
        """A choice between values that do not raise: a cast to their common type does not either."""
        if isinstance(result.bare, t.Decimal) or any(may_raise(condition(each)) for each in parts):
            return result
        return replace(result, sql=self.found.stand_in(result.sql))


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


# ------------------------------------------------------------------------------------------- conversions


def _mode(name: str) -> Mode:
    failure = {"OrNull": "null", "OrZero": "zero"}.get(name[-6:], "zero" if name.endswith("OrDefault") else "error")
    accurate = name.startswith("accurate") or name.endswith("OrDefault")
    return Mode(failure, "refused" if accurate else "wraps")  # type: ignore[arg-type]


def _faults(value: Typed, to: Type, mode: Mode) -> Faults | None:
    """The rows whose value fails or takes a default; nothing where every value converts, None where that
    cannot be said. Whatever its mode, a conversion has a default only for what it checks itself."""
    want = bare(to)
    if _never_fails(value, want, mode):
        return ()
    if isinstance(value.bare, t.Array) and isinstance(want, t.Array) and value.spark == value_type(value.bare):
        return _element_faults(value, typed("e", value.bare.of), want.of)
    forms = [convert(value, want, replace(mode, failure=each)) for each in ("null", "zero", "error")]
    checked, raw, strict = (each.sql if each is not None else "" for each in forms)
    # Microseconds of so many digits overflow in a product, which nothing here makes NULL.
    product = isinstance(value.bare, t.Decimal) and value.bare.precision > 30 and isinstance(want, t.DateTime64)
    if not checked or product or isinstance(want, (t.Array, t.Map, t.Tuple)):
        return None
    null, raises = (f"{value.sql} IS NOT NULL AND {_tolerant(each)} IS NULL" for each in (checked, raw))
    if isinstance(value.bare, t.Float) and isinstance(want, t.Int) and mode.overflow == "wraps" and want.high > 2**63:
        null = raises = f"{raises} AND abs({value.sql}) < double('Infinity')"
    if mode.failure == "error" or checked == raw:
        return (("fails", null, _null_raises(strict) if value.nullable and mode.failure == "error" else ""),)
    if isinstance(want, t.Float):
        return ("default", f"{null} AND NOT ({raises})", ""), ("fails", raises, "")
    return (("default", null, ""),)


def _element_faults(array: Typed, element: Typed, want: Type) -> Faults | None:
    """An array fails with one of its elements, in whatever mode."""
    inner = _faults(element, want, CAST)
    if not inner:
        return inner
    bads = (f"{bad} OR {element.sql} IS NULL AND {null}" if null else bad for _, bad, null in inner)
    return (("fails", " OR ".join(f"coalesce(exists({array.sql}, e -> {bad}), false)" for bad in bads), ""),)


def _null_raises(strict: str) -> str:
    """The condition under which `if(NOT (valid), raise_error(…), …)` raises, for a NULL: `valid` may be false
    where the formula says that NULL is no value, not that it is not known."""
    if not strict.startswith("if(NOT ("):
        return ""
    tokens = sqlglot.tokenize(strict, dialect="spark")
    valid = strict[tokens[3].start : tokens[closing(tokens, 3)].end + 1]
    return f"NOT coalesce({_tolerant(valid)}, true)"


def _never_fails(value: Typed, want: Type, mode: Mode) -> bool:
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
        case t.Int(bits), t.Date() | t.DateTime() | t.DateTime64() if bits <= 32:
            return True
        case _:
            return value.spark == value_type(value.bare) and cast_sql(value.sql, value.bare, want) is not None


def _tolerant(sql: str) -> str:
    """The same SQL, but NULL where it would raise. Only for SQL of conversions: it knows their forms."""
    tokens = sqlglot.tokenize(sql, dialect="spark")
    out: list[str] = []
    end = 0
    for place, token in enumerate(tokens[:-1]):
        if token.start < end or not _calls(tokens, place):
            continue
        last = tokens[closing(tokens, place + 1)]
        inside = sql[tokens[place + 1].end + 1 : last.start]
        match token.text.lower():
            case "cast":
                new, stop = "try_cast", token.end + 1
            case "raise_error":
                new, stop = "NULL", last.end + 1
            case "timestamp_seconds":
                micros = f"try_cast(try_multiply({_tolerant(inside)}, 1000000L) AS BIGINT)"
                new, stop = f"timestamp_micros({micros})", last.end + 1
            case _:
                continue
        out += [sql[end : token.start], new]
        end = stop
    return "".join(out) + sql[end:]


# --------------------------------------------------------------------------------------------- may_raise

_TEXTS = (TokenType.STRING, TokenType.IDENTIFIER)
_SIGNS = frozenset({"(", ")", ",", "=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "->", "."})
_WORDS = frozenset({"and", "or", "not", "in", "when", "then", "else", "case", "between"})
_NAMES = frozenset({
    "is", "null", "true", "false", "as", "end", "l", "d", "string", "binary", "boolean", "int", "bigint", "float",
    "double", "decimal", "date", "timestamp", "array", "map", "struct", "variant",
})  # fmt: skip
"""Keywords and types that no parenthesis follows, and the letters after numbers."""
_NEVER = frozenset({
    "array", "array_distinct", "btrim", "char_length", "coalesce", "concat", "contains", "current_date",
    "current_timestamp", "date_trunc", "dayofmonth", "dayofyear", "endswith", "exists", "filter", "forall",
    "get_json_object", "greatest", "hour", "if", "instr", "isnan", "isnotnull", "isnull", "last_day", "least",
    "left", "length", "lower", "ltrim", "minute", "month", "named_struct", "octet_length", "quarter", "rand",
    "replace", "reverse", "right", "rtrim", "second", "size", "startswith", "struct", "substring", "transform",
    "translate", "trim", "try_add", "try_cast", "try_divide", "try_element_at", "try_mod", "try_multiply",
    "try_parse_json", "try_subtract", "try_to_timestamp", "try_variant_get", "unix_date", "unix_micros",
    "unix_seconds", "upper", "uuid", "weekday", "year",
})  # fmt: skip


def may_raise(sql: str) -> bool:
    """Whether compiled Spark SQL may raise for some row: of whatever is not known never to, it may."""
    try:
        tokens = sqlglot.tokenize(sql, dialect="spark")
        return not all(_is_safe(tokens, place) for place in range(len(tokens)))
    except (SqlglotError, IndexError):
        return True


def _calls(tokens: list[Token], place: int) -> bool:
    opened = tokens[place + 1 : place + 2]
    return tokens[place].token_type not in _TEXTS and bool(opened) and opened[0].token_type == TokenType.L_PAREN


def _is_safe(tokens: list[Token], place: int) -> bool:
    token, before = tokens[place], tokens[place - 1] if place else None
    text = token.text.lower()
    if token.token_type in (*_TEXTS, TokenType.NUMBER) or text in _SIGNS:
        return True
    if token.token_type in (TokenType.DCOLON, TokenType.DASH):
        return _is_literal(tokens, place, before)
    if text in ("rlike", "like", "ilike"):
        return _is_pattern(text, tokens[place + 1])
    if not _calls(tokens, place) or text in _WORDS or text in _NEVER:
        return token.token_type == TokenType.VAR or text in _WORDS or text in _NEVER or text in _NAMES
    if text == "double":
        given = tokens[place + 2]
        return given.token_type == TokenType.STRING and given.text in ("Infinity", "-Infinity", "NaN")
    return _is_safe_cast(tokens, place) if text == "cast" else _is_type(tokens, place)


def _is_literal(tokens: list[Token], place: int, before: Token | None) -> bool:
    """`1L`, which is read as 1::L, and a sign that belongs to a number."""
    if tokens[place].token_type == TokenType.DCOLON:
        return before is not None and before.start == tokens[place].start
    starts = before is None or before.token_type not in _TEXTS
    starts = starts and (before is None or before.text.lower() in _WORDS or (before.text in _SIGNS - {")", "."}))
    return starts and tokens[place + 1].token_type == TokenType.NUMBER


def _is_pattern(word: str, token: Token) -> bool:
    """A literal that Java reads as Python does. A repeated group may take all of the stack."""
    if token.token_type != TokenType.STRING or word != "rlike":
        return token.token_type == TokenType.STRING and "\\" not in token.text
    strange = (
        r"\)[*+{]|\[\^?[\]\[]|\[[^\]]*\[|&&|\\[A-Za-ce-rt-vx-z0]|\(\?(?![si]?:|s\))|\{(?![0-9]+(,[0-9]*)?\})|[*+?}]\+"
    )
    if re.search(strange, token.text):
        return False
    try:
        re.compile(token.text)
    except re.error:
        return False
    return True


def _is_safe_cast(tokens: list[Token], place: int) -> bool:
    """To a text; of a literal that the type holds."""
    inside = tokens[place + 2 : closing(tokens, place + 1)]
    splits = [at for at, each in enumerate(inside) if each.token_type == TokenType.ALIAS]
    if not splits:
        return False
    value, to = inside[: splits[-1]], "".join(each.text.upper() for each in inside[splits[-1] + 1 :])
    if len(value) != 1 or value[0].token_type not in (TokenType.NUMBER, TokenType.NULL):
        return to in ("STRING", "BINARY") or [each.text.upper() for each in value] == ["ARRAY", "(", ")"]
    wide = (len(value[0].text) <= 9 and to in ("INT", "BIGINT", "FLOAT", "DOUBLE")) or to == "DECIMAL(20,0)"
    whole = wide and value[0].text.isdecimal()
    return to == "STRING" or value[0].token_type == TokenType.NULL or whole or value[0].text == "0"


def _is_type(tokens: list[Token], place: int) -> bool:
    """The DECIMAL(p, s) of a cast."""
    return tokens[place].text.lower() == "decimal" and tokens[place - 1].text.lower() == "as"
