"""Pass: ORDER BY … WITH FILL FROM … TO … STEP …, and INTERPOLATE.

In: a block with its sort keys. Out: its `fills` and `interpolated`. Called by transpile. Invariant: bounds and
steps are constants of the key's own type; whatever ClickHouse fills in another way is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.block import Block, Key
from penstock.sql.conversions import convert
from penstock.sql.fill_sql import FillColumn
from penstock.sql.fill_steps import Ruler, step_of
from penstock.sql.positions import at_position
from penstock.sql.problems import Refused, refused
from penstock.sql.typed import Typed, as_spark
from penstock.sql.whole_numbers import whole


def fill(block: Block) -> Block:
    """The keys with WITH FILL as columns to fill."""
    filled = [place for place, key in enumerate(block.keys) if key.node.args.get("with_fill")]
    if not filled or len(block.items) != len(block.selected):
        return block
    with block.environment.report.collecting():
        _check_items(block)
        _check_places(block, filled)
        fills = tuple(_column(block, place) for place in filled)
        for later, place in zip(fills[1:], filled[1:], strict=True):
            if later.start is None or later.stop is None:
                message = "WITH FILL of a second column needs FROM and TO"
                raise _refused(block, block.keys[place].node, message)
        block = replace(block, fills=fills)
        return replace(block, interpolated=_interpolated(block, filled))
    return block


def _check_items(block: Block) -> None:
    for item, selected in zip(block.items, block.selected, strict=True):
        if isinstance(item.value.bare, (t.AggregateFunction, t.Enum)):
            raise _refused(block, selected.node, f"WITH FILL beside a column of {item.value.type} is not supported")
        for key in block.keys:
            if item.value.sql == key.value.sql and not _same(block, selected.node, key):
                message = f"WITH FILL: whether `{item.name}` is the key is not certain"
                raise _refused(block, selected.node, message, "write both in the same way")


def _same(block: Block, node: exp.Expr, key: Key) -> bool:
    """Whether a column is what is sorted by: ClickHouse fills the one expression, not others of equal value."""
    pair = (_resolved(block, node), _resolved(block, at_position(block, key.node.this)))
    written = [part for part in pair if not isinstance(part, exp.Column)]
    in_tuple = isinstance(pair[1], exp.Tuple) and pair[0] in pair[1].expressions
    return not written or pair[0] == pair[1] or in_tuple


def _resolved(block: Block, node: exp.Expr) -> exp.Expr:
    """A node without its alias; an alias's expression for its name."""
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


def _check_places(block: Block, filled: list[int]) -> None:
    """A key between two that are filled would be sorted by in one half of the rows only."""
    for place in range(filled[0], filled[-1]):
        if place not in filled:
            message = "a key between two keys WITH FILL is not supported"
            raise _refused(block, block.keys[place].node, message, "put it first or last")


def _refused(block: Block, node: exp.Expr, message: str, hint: str | None = None) -> Refused:
    return refused(block.environment.text, node, "unsupported-fill", message, hint)


def _column(block: Block, place: int) -> FillColumn:
    key = block.keys[place]
    clause = key.node.args["with_fill"]
    if key.value.nullable or key.node.args.get("nulls_first"):
        message = f"WITH FILL needs a key without NULL, this is {key.value.type}"
        raise _refused(block, key.node, message, "assumeNotNull(…)")
    ruler = Ruler(key.value, bool(key.node.args.get("desc")))
    if not ruler.supported:
        message = f"WITH FILL needs an integer, Float64, Date or DateTime, this is {key.value.type}"
        raise _refused(block, key.node, message)
    step = step_of(block.translator.tracing(), key.node, ruler, clause.args.get("step") or None)
    start, stop = (_bound(block, ruler, clause.args.get(each) or None) for each in ("from_", "to"))
    _check_known(block, key, clause)
    if start is not None and stop is not None:
        said = "raise_error('WITH FILL: TO is before FROM')"
        start = f"if({stop} < {start}, {said}, {start})" if _whole(block, clause.args["from_"]) is None else start
    name = f"`__k{sum(len(each.sqls) for each in block.keys[: place + 1]) - 1}`"
    return FillColumn(name, ruler.number, ruler.value, step, start, stop)


def _check_known(block: Block, key: Key, clause: exp.Expr) -> None:
    """FROM and TO that are literals."""
    pair = [_whole(block, clause.args[each]) for each in ("from_", "to") if clause.args.get(each)]
    if len(pair) == 2 and pair[0] is not None and pair[1] is not None:
        first, last = reversed(pair) if key.node.args.get("desc") else pair
        if first is not None and last is not None and last < first:
            raise _refused(block, key.node, "WITH FILL: TO is before FROM")


def _whole(block: Block, node: exp.Expr) -> int | None:
    return whole(block.translator.tracing(), node)


def _bound(block: Block, ruler: Ruler, node: exp.Expr | None) -> str | None:
    if node is None:
        return None
    tr = block.translator.tracing()
    value = tr.translate(node)
    if tr.trace.free or tr.trace.aggregates or tr.trace.windows:
        raise _refused(block, node, "WITH FILL takes constants")
    number = _whole(block, node)
    found = ruler.literal(number) if number is not None else ruler.bound(value)
    if found is None:
        hint = f"cast it to {ruler.key.bare}"
        raise _refused(block, node, f"a bound of WITH FILL over {ruler.key.type} must be of that type", hint)
    return found


def _interpolated(block: Block, filled: list[int]) -> dict[int, Callable[[str], str]]:
    """INTERPOLATE's columns, by their place: how a value is made of the one before it."""
    found: dict[int, Callable[[str], str]] = {}
    given = block.keys[filled[-1]].node.args["with_fill"].args.get("interpolate")
    for node in given or []:
        first = block.fills[0]
        if len(block.fills) > 1 or (filled[0] > 0 and first.start is not None):
            raise _refused(block, node, "INTERPOLATE with several columns or groups to fill is not supported")
        place = _place_of(block, node)
        found[place] = _formula(block, node, place)
    return found


def _place_of(block: Block, node: exp.Expr) -> int:
    name = node.alias if isinstance(node, exp.Alias) else node.name
    places = [place for place, item in enumerate(block.items) if item.name == name]
    keys = {key.value.sql for key in block.keys}
    if len(places) != 1 or block.items[places[0]].value.sql in keys:
        message = f"INTERPOLATE needs a column of the select list that is not sorted by, not `{name}`"
        raise _refused(block, node, message)
    return places[0]


def _formula(block: Block, node: exp.Expr, place: int) -> Callable[[str], str]:
    """The column as it is, or an expression over nothing but the column."""
    if not isinstance(node, exp.Alias):
        return lambda before: before
    item = block.items[place]
    number = item.value.spark == "BOOLEAN" and not isinstance(item.value.bare, t.Bool)
    spark = "INT" if number else item.value.spark
    held = Typed("` filled`", item.value.type, spark)
    tr = block.translator.at("row").tracing().with_locals({item.name: held})
    value = tr.translate(node.this)
    if tr.trace.free:
        message = f"INTERPOLATE of `{item.name}` may use `{item.name}` only"
        raise _refused(block, node, message)
    result = value if value.type == item.value.type else convert(value, item.value.type)
    if result is None or (result.nullable and not item.value.nullable):
        raise _refused(block, node, f"INTERPOLATE gives {value.type} for {item.value.type}", "cast it")
    cast = as_spark(result, spark)
    return lambda before: cast.replace("` filled`", before)
