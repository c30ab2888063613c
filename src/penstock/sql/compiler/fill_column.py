"""The Spark SQL of WITH FILL: adds the rows that are missing in a sequence, one ORDER BY column after the other.

In: the SQL of a SELECT, and `FillColumn`s. Out: SQL. Invariant: the rows added are those of ClickHouse's
FillingTransform (src/Processors/Transforms/FillingTransform.cpp): start, start + step … up to TO or to the last row,
and none where a row exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from penstock.model.quick_dataclass import dataclass

FillRole = Literal["kept", "key", "empty"]
"""What an added row has in a column: the value of its neighbour row, the added value, or the default of the type."""


@dataclass(frozen=True, slots=True)
class FillStep:
    """The distance between values; either `fixed` or `following` is set."""

    fixed: str = ""
    """A number."""
    following: Callable[[str], str] | None = None
    """Makes a value from the previous one."""
    at_most: Callable[[str], str] | None = None
    """With `following`: the greatest possible number of values, given the distance to cover."""


@dataclass(frozen=True, slots=True)
class FillColumn:
    """A column to fill. Its values are handled as ascending numbers."""

    key: str
    number: Callable[[str], str]
    """Makes the number from the column."""
    value: Callable[[str], str]
    """Makes the column from the number."""
    step: FillStep
    start: str | None = None
    """FROM, as such a number; None if absent."""
    stop: str | None = None
    """TO, as such a number; None if absent."""


@dataclass(frozen=True, slots=True)
class FillSlot:
    """Any column of the SELECT while rows are added."""

    name: str
    role: FillRole
    zero: str
    """The default value of its type."""
    formula: Callable[[str], str] | None = None
    """Makes the value of an added row from the previous value (INTERPOLATE)."""


def rows_or_placeholder(rows: str, slots: tuple[FillSlot, ...]) -> str:
    """The rows, or one marker row where there is none, so that FROM … TO fills an empty result too."""
    shown = [f"if(`__real` IS NULL, {slot.zero}, {slot.name}) AS {slot.name}" for slot in slots]
    real = f"SELECT *, true AS `__real` FROM ({rows})"
    joined = f"(SELECT 1 AS `__one`) LEFT JOIN ({real}) ON true"
    return f"SELECT {', '.join(shown)}, coalesce(`__real`, false) AS `__real`, true AS `__live` FROM {joined}"


def mark_all_real(rows: str) -> str:
    """The rows with the two marks of `fill_rows`."""
    return f"SELECT *, true AS `__real`, true AS `__live` FROM ({rows})"


def fill_rows(rows: str, fill: FillColumn, partition: tuple[str, ...], slots: tuple[FillSlot, ...]) -> str:
    """The rows, and those missing between them. `__real` marks a row of the SELECT (not added), `__live` a row
    beside which rows are to be added. Rows are filled for each `partition` on its own."""
    explode = f"LATERAL VIEW explode({_added_places(fill)}) `__places` AS `__added`"
    shown = ", ".join(_slot_column(fill, slot) for slot in slots)
    flags = f"`__added`.`own` AS `__real`, {_on_grid(fill)} AS `__live`"
    source = f"({_rows_with_grid(fill, partition, _rows_with_bounds(rows, fill, partition))})"
    kept = "`__real` OR NOT `__added`.`own`"
    return f"SELECT {shown}, {flags} FROM {source} {explode} WHERE {kept}"


def _window(partition: tuple[str, ...], order: str = "") -> str:
    by = f"PARTITION BY {', '.join(partition)}" if partition else ""
    return f"OVER ({' '.join(part for part in (by, order) if part)})"


def _rows_with_bounds(rows: str, fill: FillColumn, partition: tuple[str, ...]) -> str:
    """Each row with its number, the number of the next row, and the first and last number of its partition."""
    number = fill.number(fill.key)
    if fill.start is not None and fill.stop is not None:
        number = f"if(`__real`, {number}, {fill.stop})"
    whole, ordered = _window(partition), _window(partition, "ORDER BY `__x` ASC NULLS LAST")
    start = fill.start or f"min(`__x`) {whole}"
    places = f"row_number() {ordered} AS `__at`, lead(`__x`) {ordered} AS `__next`"
    last = f"max(`__x`) {whole} AS `__last`"
    return f"SELECT *, {start} AS `__start`, {last}, {places} FROM (SELECT *, {number} AS `__x` FROM ({rows}))"


def _rows_with_grid(fill: FillColumn, partition: tuple[str, ...], rows: str) -> str:
    """Where each value follows from the one before: all values, made once for each partition."""
    if fill.step.following is None or fill.step.at_most is None:
        return rows
    end = f"greatest(`__last`, {fill.stop})" if fill.stop else "`__last`"
    last = "element_at(` g`, -1)"
    count = fill.step.at_most(f"({end} - `__start`)")
    grown = f"if({last} >= {end}, ` g`, concat(` g`, array({fill.step.following(last)})))"
    grid = f"aggregate(sequence(1, {count}), array(`__start`), (` g`, ` i`) -> {grown})"
    once = f"SELECT *, if(`__at` = 1 AND {end} >= `__start`, {grid}, NULL) AS `__first` FROM ({rows})"
    ordered = _window(partition, "ORDER BY `__x` ASC NULLS LAST")
    return f"SELECT *, coalesce(first_value(`__first`) {ordered}, array()) AS `__grid` FROM ({once})"


def _added_places(fill: FillColumn) -> str:
    """An array of what is added before the first row, the row itself, and what is added after it."""
    own = "array(named_struct('x', `__x`, 'n', 0L, 'own', true, 'after', true))"
    before_end = f"least(`__x`, {fill.stop})" if fill.stop else "`__x`"
    after_end = f"least(coalesce(`__next`, {fill.stop}), {fill.stop})" if fill.stop else "coalesce(`__next`, `__x`)"
    before = _grid_values(fill, "", before_end)
    after = _grid_values(fill, "`__x`", after_end)
    return (
        f"concat(if(`__live` AND `__at` = 1, {_place_structs(before, 'false')}, array()), {own}, "
        f"if(`__live` AND `__real`, {_place_structs(after, 'true')}, array()))"
    )


def _place_structs(values: str, after: str) -> str:
    made = f"named_struct('x', ` x`, 'n', CAST(` i` AS BIGINT) + 1, 'own', false, 'after', {after})"
    return f"transform({values}, (` x`, ` i`) -> {made})"


def _grid_values(fill: FillColumn, above: str, below: str) -> str:
    """The values of the grid that are greater than `above` (if given) and less than `below`."""
    if fill.step.following is not None:
        test = f"` x` > {above} AND ` x` < {below}" if above else f"` x` < {below}"
        return f"filter(`__grid`, ` x` -> {test})"
    step = fill.step.fixed
    first = f"if({above} < `__start`, 0L, ({above} - `__start`) div {step} + 1)" if above else "0L"
    last = f"if({below} > `__start`, ({below} - `__start` - 1) div {step}, -1L)"
    places = f"if({last} >= {first}, sequence({first}, {last}), array())"
    return f"transform({places}, ` k` -> `__start` + ` k` * {step})"


def _on_grid(fill: FillColumn) -> str:
    """Whether a row lies on the grid: only beside those the next column is filled."""
    if fill.step.following is not None:
        on_grid = "array_contains(`__grid`, `__x`)"
    else:
        on_grid = f"`__x` >= `__start` AND (`__x` - `__start`) % {fill.step.fixed} = 0"
    below = f" AND `__x` < {fill.stop}" if fill.stop else ""
    return f"(NOT `__added`.`own` OR ({on_grid}{below}))"


def _slot_column(fill: FillColumn, slot: FillSlot) -> str:
    if slot.role == "kept":
        return slot.name
    if slot.role == "key":
        added = fill.value("`__added`.`x`")
    elif slot.formula is not None:
        base = f"if(`__added`.`after` AND `__real`, {slot.name}, {slot.zero})"
        steps = "sequence(1L, `__added`.`n`)"
        added = f"aggregate({steps}, {base}, (` filled`, ` n`) -> {slot.formula('` filled`')})"
    else:
        added = slot.zero
    return f"if(`__added`.`own`, {slot.name}, {added}) AS {slot.name}"
