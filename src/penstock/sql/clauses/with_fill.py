"""Pass for ORDER BY … WITH FILL FROM … TO … STEP …, and INTERPOLATE.

In: a `SelectBlock` with its sort keys. Out: the block with `fills` and `interpolated`. A `_FillScale` maps the values
of a key one to one to ascending numbers (those of a descending key are negated). Invariant: bounds and steps are
constants of the key's own type; where ClickHouse would fill in another way, the SQL is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.sql.clauses.positional_arguments import resolve_position
from penstock.sql.compiler.constants import known_constant, known_integer
from penstock.sql.compiler.fill_column import FillColumn, FillStep
from penstock.sql.compiler.select_block import OrderKey, SelectBlock
from penstock.sql.compiler.translator import Translator
from penstock.sql.conversions.explicit import convert
from penstock.sql.expr.dates import zone_of
from penstock.sql.expr.moved_times import add_interval
from penstock.sql.expr.spark_types import is_fine_time
from penstock.sql.expr.typed import TypedSql, as_spark
from penstock.sql.spark_text import replace_columns
from penstock.sql.syntax.problems import Refused, refusal

_UNIT_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_SHORTEST_UNIT = {"DAY": 82800, "WEEK": 601200, "MONTH": 2415600, "QUARTER": 7689600, "YEAR": 31532400}
"""The fewest seconds that a unit lasts, in a time zone with daylight saving as well."""
_SUBSECOND_MICROS = {"MILLISECOND": 1000, "MICROSECOND": 1}
_DATE_UNITS = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def translate_with_fill(block: SelectBlock) -> SelectBlock:
    """Pass: the sort keys with WITH FILL as columns to fill."""
    filled = [place for place, key in enumerate(block.keys) if key.node.args.get("with_fill")]
    if not filled or len(block.items) != len(block.selected):
        return block
    with block.environment.report.collecting():
        _check_items(block)
        _check_adjacent(block, filled)
        fills = tuple(_fill_column(block, place) for place in filled)
        for later, place in zip(fills[1:], filled[1:], strict=True):
            if later.start is None or later.stop is None:
                message = "WITH FILL of a second column needs FROM and TO"
                raise _refusal(block, block.keys[place].node, message)
        block = replace(block, fills=fills)
        return replace(block, interpolated=_interpolations(block, filled))
    return block


def _check_items(block: SelectBlock) -> None:
    for item, selected in zip(block.items, block.selected, strict=True):
        if isinstance(item.value.bare, (t.AggregateFunction, t.Enum)):
            raise _refusal(block, selected.node, f"WITH FILL beside a column of {item.value.type} is not supported")
        for key in block.keys:
            if item.value.sql == key.value.sql and not _is_same_expression(block, selected.node, key):
                message = f"WITH FILL: it is not certain that `{item.name}` is the sort key"
                raise _refusal(block, selected.node, message, "write both in the same way")


def _is_same_expression(block: SelectBlock, node: exp.Expr, key: OrderKey) -> bool:
    """Whether a column is the expression that is sorted by: ClickHouse fills that one, not others of equal value."""
    pair = (_resolve_alias(block, node), _resolve_alias(block, resolve_position(block, key.node.this)))
    written = [part for part in pair if not isinstance(part, exp.Column)]
    in_tuple = isinstance(pair[1], exp.Tuple) and pair[0] in pair[1].expressions
    return not written or pair[0] == pair[1] or in_tuple


def _resolve_alias(block: SelectBlock, node: exp.Expr) -> exp.Expr:
    """A node without its own alias, and with the name of an alias replaced by its expression."""
    aliases = block.translator.scope.aliases
    for _ in range(len(aliases) + 1):
        node = node.unalias()
        if isinstance(node, exp.Paren):
            node = node.this
        elif isinstance(node, exp.Column) and not node.table and node.name in aliases:
            node = aliases[node.name]
        else:
            break
    return node


def _check_adjacent(block: SelectBlock, filled: list[int]) -> None:
    """Raises Refused for a plain sort key between two that are filled: ClickHouse would not sort added rows by it."""
    for place in range(filled[0], filled[-1]):
        if place not in filled:
            message = "a key between two keys WITH FILL is not supported"
            raise _refusal(block, block.keys[place].node, message, "put it first or last")


def _refusal(block: SelectBlock, node: exp.Expr, message: str, hint: str | None = None) -> Refused:
    return refusal(block.environment.text, node, "unsupported-fill", message, hint)


def _fill_column(block: SelectBlock, place: int) -> FillColumn:
    key = block.keys[place]
    clause = key.node.args["with_fill"]
    if key.value.nullable or key.node.args.get("nulls_first"):
        message = f"WITH FILL needs a key without NULL, this is {key.value.type}"
        raise _refusal(block, key.node, message, "assumeNotNull(…)")
    scale = _FillScale(key.value, bool(key.node.args.get("desc")))
    if not scale.supported:
        message = f"WITH FILL needs an integer, Float64, Date or DateTime, this is {key.value.type}"
        raise _refusal(block, key.node, message)
    step = _read_step(block.translator.with_new_trace(), key.node, scale, clause.args.get("step") or None)
    start, stop = (_translate_bound(block, scale, clause.args.get(each) or None) for each in ("from_", "to"))
    _check_literal_bounds(block, key, clause)
    if start is not None and stop is not None:
        failed = "raise_error('WITH FILL: TO is before FROM')"
        start = (
            f"if({stop} < {start}, {failed}, {start})"
            if _literal_number(block, clause.args["from_"]) is None
            else start
        )
    name = f"`__k{sum(len(each.sqls) for each in block.keys[: place + 1]) - 1}`"
    return FillColumn(name, scale.to_number, scale.from_number, step, start, stop)


def _check_literal_bounds(block: SelectBlock, key: OrderKey, clause: exp.Expr) -> None:
    """Raises Refused if FROM and TO are literals in the wrong order."""
    pair = [_literal_number(block, clause.args[each]) for each in ("from_", "to") if clause.args.get(each)]
    if len(pair) == 2 and pair[0] is not None and pair[1] is not None:
        first, last = reversed(pair) if key.node.args.get("desc") else pair
        if first is not None and last is not None and last < first:
            raise _refusal(block, key.node, "WITH FILL: TO is before FROM")


def _literal_number(block: SelectBlock, node: exp.Expr) -> int | None:
    return known_integer(block.translator.with_new_trace(), node)


def _translate_bound(block: SelectBlock, scale: _FillScale, node: exp.Expr | None) -> str | None:
    if node is None:
        return None
    tr = block.translator.with_new_trace()
    value = tr.translate(node)
    if tr.trace.free or tr.trace.aggregates or tr.trace.windows:
        raise _refusal(block, node, "WITH FILL takes constants")
    number = _literal_number(block, node)
    found = scale.literal_bound(number) if number is not None else scale.expression_bound(value)
    if found is None:
        hint = f"cast it to {scale.key.bare}"
        raise _refusal(block, node, f"a bound of WITH FILL over {scale.key.type} must be of that type", hint)
    return found


def _interpolations(block: SelectBlock, filled: list[int]) -> dict[int, Callable[[str], str]]:
    """The columns of INTERPOLATE by position, each with how a value is made of the one before it (as Spark SQL)."""
    found: dict[int, Callable[[str], str]] = {}
    given = block.keys[filled[-1]].node.args["with_fill"].args.get("interpolate")
    for node in given or []:
        first = block.fills[0]
        if len(block.fills) > 1 or (filled[0] > 0 and first.start is not None):
            raise _refusal(block, node, "INTERPOLATE with several columns or groups to fill is not supported")
        place = _interpolated_place(block, node)
        found[place] = _interpolation_formula(block, node, place)
    return found


def _interpolated_place(block: SelectBlock, node: exp.Expr) -> int:
    name = node.alias if isinstance(node, exp.Alias) else node.name
    places = [place for place, item in enumerate(block.items) if item.name == name]
    keys = {key.value.sql for key in block.keys}
    if len(places) != 1 or block.items[places[0]].value.sql in keys:
        message = f"INTERPOLATE needs a column of the select list that is not sorted by, not `{name}`"
        raise _refusal(block, node, message)
    return places[0]


def _interpolation_formula(block: SelectBlock, node: exp.Expr, place: int) -> Callable[[str], str]:
    """The value before as it is, or an expression of nothing but it."""
    if not isinstance(node, exp.Alias):
        return lambda before: before
    item = block.items[place]
    number = item.value.spark == "BOOLEAN" and not isinstance(item.value.bare, t.Bool)
    spark = "INT" if number else item.value.spark
    held = TypedSql("` filled`", item.value.type, spark)
    tr = block.translator.at("row").with_new_trace().with_locals({item.name: held})
    value = tr.translate(node.this)
    if tr.trace.free:
        message = f"INTERPOLATE of `{item.name}` may use `{item.name}` only"
        raise _refusal(block, node, message)
    result = value if value.type == item.value.type else convert(value, item.value.type)
    if result is None or (result.nullable and not item.value.nullable):
        raise _refusal(block, node, f"INTERPOLATE gives {value.type} for {item.value.type}", "cast it")
    cast = as_spark(result, spark)
    return lambda before: replace_columns(cast, {" filled": before})


@dataclass(frozen=True, slots=True)
class _FillScale:
    """The values of a key as numbers: days of a Date, seconds of a DateTime, microseconds of a DateTime64."""

    key: TypedSql
    descending: bool

    @property
    def supported(self) -> bool:
        """Whether ClickHouse fills keys of this type."""
        of = self.key.bare
        whole = isinstance(of, (t.Int, t.Bool, t.Date, t.DateTime, t.DateTime64)) and not is_fine_time(of)
        return whole or of == t.Float(64)

    def to_number(self, sql: str) -> str:
        """Spark SQL of the number of a value."""
        match self.key.bare:
            case t.Float():
                number = f"CAST({sql} AS DOUBLE)"
            case t.Date():
                number = f"CAST(unix_date({sql}) AS BIGINT)"
            case t.DateTime():
                number = f"unix_seconds({sql})"
            case t.DateTime64():
                number = f"unix_micros({sql})"
            case _:
                number = f"CAST({sql} AS BIGINT)"
        return f"(- {number})" if self.descending else number

    def from_number(self, number: str) -> str:
        """Spark SQL of the value of a number."""
        number = f"(- {number})" if self.descending else number
        match self.key.bare:
            case t.Float():
                return number
            case t.Date():
                return f"date_from_unix_date(CAST({number} AS INT))"
            case t.DateTime():
                return f"timestamp_seconds({number})"
            case t.DateTime64():
                return f"timestamp_micros({number})"
            case t.Bool():
                return f"({number} <> 0L)"
            case _:
                return f"CAST({number} AS {'INT' if self.key.spark == 'BOOLEAN' else self.key.spark})"

    def literal_bound(self, number: int) -> str | None:
        """The number of a bound that is a literal; None if it is out of the range of the type."""
        of = self.key.bare
        signed = -number if self.descending else number
        match of:
            case t.Float():
                return f"CAST({signed} AS DOUBLE)"
            case t.Int():
                return f"CAST({signed} AS BIGINT)" if of.low <= number <= min(of.high, 2**63 - 1) else None
            case t.Bool() | t.Date(wide=False) | t.DateTime():
                bits = {t.Bool: 8, t.Date: 16}.get(type(of), 32)
                return f"CAST({signed} AS BIGINT)" if 0 <= number < 2**bits else None
            case _:
                return None

    def expression_bound(self, value: TypedSql) -> str | None:
        """The number of a bound that is an expression; None if its type is another one."""
        have, want = value.bare, self.key.bare
        if value.nullable:
            return None
        match want:
            case t.Int():
                fits = isinstance(have, t.Int) and want.low <= have.low and have.high <= want.high
            case t.Float():
                fits = isinstance(have, (t.Int, t.Float))
            case t.DateTime64(precision):
                fits = isinstance(have, t.DateTime64) and have.precision == precision
            case _:
                fits = type(have) is type(want) and (not isinstance(want, t.Date) or have == want)
        return self.to_number(value.sql) if fits else None


def _read_step(tr: Translator, key: exp.Expr, scale: _FillScale, node: exp.Expr | None) -> FillStep:
    """STEP; without one, one unit in the direction of the order. Raises Refused."""
    if node is None:
        return _counted_step(tr, key, scale, -1 if scale.descending else 1)
    number = known_integer(tr, node)
    if number is not None:
        return _counted_step(tr, node, scale, number)
    value = tr.translate(node)
    if value.unit is not None:
        if not isinstance(value.constant, int):
            raise _refused_step(tr, node, "STEP takes a literal number of units")
        return _interval_step(tr, node, scale, (value.constant, value.unit))
    if isinstance(value.bare, t.Float) and isinstance(scale.key.bare, t.Float):
        return _fractional_step(tr, node, scale)
    raise _refused_step(tr, node, f"STEP takes a whole number or an INTERVAL for {scale.key.type}")


def _refused_step(tr: Translator, node: exp.Expr, message: str) -> Exception:
    return tr.refusal(node, "unsupported-fill", message)


def _check_step(tr: Translator, node: exp.Expr, scale: _FillScale, number: float) -> None:
    if number == 0 or (number < 0) != scale.descending:
        raise _refused_step(tr, node, "STEP must go in the direction of the order, and not be 0")


def _counted_step(tr: Translator, node: exp.Expr, scale: _FillScale, number: int) -> FillStep:
    _check_step(tr, node, scale, number)
    if isinstance(scale.key.bare, t.Float):
        return _repeated_step(f"{abs(number)}D")
    return FillStep(f"{abs(number) * (1_000_000 if isinstance(scale.key.bare, t.DateTime64) else 1)}L")


def _fractional_step(tr: Translator, node: exp.Expr, scale: _FillScale) -> FillStep:
    """Floats are added one after another, so that they are rounded as in ClickHouse."""
    constant = known_constant(tr, node)
    if not isinstance(constant, float):
        raise _refused_step(tr, node, "STEP takes a constant number")
    _check_step(tr, node, scale, constant)
    return _repeated_step(f"{abs(constant)!r}D")


def _repeated_step(step: str) -> FillStep:
    return FillStep(
        following=lambda before: f"({before} + {step})",
        at_most=lambda distance: f"CAST(ceil({distance} / {step}) AS INT) + 2",
    )


def _interval_step(tr: Translator, node: exp.Expr, scale: _FillScale, given: tuple[int, str]) -> FillStep:
    number, unit = given
    of = scale.key.bare
    _check_step(tr, node, scale, number)
    if isinstance(of, t.Date) and unit in _DATE_UNITS:
        days = abs(number) * _UNIT_SECONDS.get(unit, 0) // 86400
        return FillStep(f"{days}L") if days else _calendar_step(scale, given)
    micros = isinstance(of, t.DateTime64)
    if isinstance(of, t.DateTime64) and unit in _SUBSECOND_MICROS:
        if abs(number) * _SUBSECOND_MICROS[unit] % 10 ** (6 - of.precision) == 0:
            return FillStep(f"{abs(number) * _SUBSECOND_MICROS[unit]}L")
    elif isinstance(of, (t.DateTime, t.DateTime64)) and unit in (*_UNIT_SECONDS, *_DATE_UNITS):
        if unit in _DATE_UNITS and (zone_of(of) or unit not in _UNIT_SECONDS):
            return _calendar_step(scale, given)
        return FillStep(f"{abs(number) * _UNIT_SECONDS[unit] * (1_000_000 if micros else 1)}L")
    raise _refused_step(tr, node, f"STEP of {unit.lower()}s is not supported over {scale.key.type}")


def _calendar_step(scale: _FillScale, given: tuple[int, str]) -> FillStep:
    """Steps of no fixed length, such as months: each value is made of the one before, so that the 31st stays the
    28th after February."""
    number, unit = given
    amount = TypedSql(f"{number}L", t.Int(64, signed=True), "BIGINT", number)
    least = _SHORTEST_UNIT[unit] * abs(number)
    ticks = {t.Date: 1, t.DateTime: 86400, t.DateTime64: 86400 * 1_000_000}[type(scale.key.bare)] * least // 86400

    def following(before: str) -> str:
        held = TypedSql(scale.from_number(before), scale.key.bare, scale.key.spark)
        return scale.to_number(add_interval(held, amount, unit, 1).sql)

    return FillStep(following=following, at_most=lambda distance: f"CAST({distance} div {ticks}L AS INT) + 2")
