"""Chains of events in time: windowFunnel, sequenceMatch, sequenceCount.

Out: rows of the table. Invariant: the state is every row of a group (some 40 bytes each, in the memory of one task),
and the result reads them once in the order of time; events of one moment are in the order of their conditions in
windowFunnel, and of the rows in the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.json_documents.spark_functions import EVENT_SEQUENCE
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import AggregateParameter, AggregateState, Types, nullable_like
from penstock.sql.aggregates.array_state import AggregateTraits, bind_lambda, list_aggregate
from penstock.sql.aggregates.count_sum_avg import UINT64, default_unless_nullable
from penstock.sql.expr.spark_types import value_type
from penstock.sql.spark_text import string_literal

_UINT8 = t.Int(8, signed=False)
_MODES = ("strict_deduplication", "strict_order", "strict_increase", "allow_reentry")
_MODE_NAMES = ", ".join(f"'{mode}'" for mode in _MODES)
_LONGEST_WINDOW = 2**63
_BIG_MOMENT = "DECIMAL(20,0)"
_TOO_DIFFICULT = "the pattern of sequenceMatch or sequenceCount takes more than 1000000 steps over a group of this size"


def as_count(sql: str, of: Type) -> str:
    """A moment in the unit that ClickHouse counts in: days for dates, seconds for times."""
    if isinstance(of, t.Date):
        return f"CAST(unix_date({sql}) AS BIGINT)"
    return f"unix_seconds({sql})" if isinstance(of, t.DateTime) else sql


def _event_needs(types: Types) -> str | None:
    """The needs of all three: a moment, then conditions."""
    first = unwrap_type(types[0])
    dated = isinstance(first, t.DateTime) or (isinstance(first, t.Date) and not first.wide)
    if not dated and not (isinstance(first, t.Int) and not first.signed):
        return "a Date, a DateTime or an unsigned integer as its first argument"
    if not all(unwrap_type(of) in (_UINT8, t.Bool()) for of in types[1:]):
        return "conditions after its first argument"
    return None


def _moment(of: Type) -> tuple[str, str]:
    """The moment of the row ` x` and its Spark type."""
    spark = _BIG_MOMENT if value_type(of) == _BIG_MOMENT else "BIGINT"
    return f"CAST({as_count('` x`.col1', of)} AS {spark})", spark


def _conditions(types: Types) -> list[str]:
    """Whether the row ` x` meets each condition."""
    return [
        f"` x`.col{place}" if isinstance(unwrap_type(of), t.Bool) else f"` x`.col{place} <> 0"
        for place, of in enumerate(types[1:], 2)
    ]


def _or_null(rows: str, result: str, types: Types) -> str:
    """`result` over rows that are bound as ` g`; NULL of no rows where an argument is Nullable."""
    counted = default_unless_nullable(f"if(size(` g`) = 0, NULL, {result})", types, "0")
    return bind_lambda(rows, lambda _: counted, "` g`")


def _funnel_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    modes = parameters[1:]
    window = parameters[0] if parameters else -1
    if not isinstance(window, int) or not 0 <= window < _LONGEST_WINDOW:
        return "a window, a whole number, as its first parameter"
    if "strict_once" in modes:
        return f"other modes than 'strict_once', which keeps every chain: {_MODE_NAMES}"
    if not set(modes) <= set(_MODES):
        return f"modes after the window: {_MODE_NAMES}"
    if "allow_reentry" in modes and "strict_order" not in modes:
        return "'strict_order' beside 'allow_reentry'"
    return _event_needs(types)


def _funnel_events(types: Types, modes: Sequence[AggregateParameter]) -> str:
    """All events in their order: of one moment ` t`, by the place ` k` of the condition; 0 where strict_order needs to
    see a row that meets none."""
    conditions = _conditions(types)
    moment, _ = _moment(unwrap_type(types[0]))
    met = [(str(step), condition) for step, condition in enumerate(conditions, 1)]
    if "strict_order" in modes:
        met.append(("0", f"NOT ({' OR '.join(conditions)})"))
    each = ", ".join(f"struct({moment} AS t, {step} AS k, {condition} AS c)" for step, condition in met)
    return f"array_sort(filter(flatten(transform(` g`, ` x` -> array({each}))), ` x` -> ` x`.c))"


def _funnel_step(types: Types, parameters: tuple[AggregateParameter, ...]) -> str:
    """One event ` x` after the chains ` a`: for each level that was reached, when its chain began and when its last
    event was. `over` ends the search: the level can only be what it is."""
    last, modes = len(types) - 1, parameters[1:]
    before = "get(` a`.levels, ` x`.k - 2)"
    end = "named_struct('levels', ` a`.levels, 'over', true)"

    def reach(began: str) -> str:
        level = f"array(struct({began} AS began, ` x`.t AS latest))"
        levels = f"concat(slice(` a`.levels, 1, ` x`.k - 1), {level}, slice(` a`.levels, ` x`.k + 1, {last}))"
        return f"named_struct('levels', {levels}, 'over', ` x`.k = {last} AND {last} > 1)"

    cases = [("` a`.over", "` a`")]
    if "strict_order" in modes:
        cases.append(("` x`.k = 0", f"if(size(` a`.levels) > 0, {end}, ` a`)"))
    cases.append(("` x`.k = 1", reach("` x`.t")))
    if "strict_deduplication" in modes:
        cases.append(("size(` a`.levels) >= ` x`.k", end))
    if "strict_order" in modes and "allow_reentry" not in modes:
        cases.append(("size(` a`.levels) BETWEEN 1 AND ` x`.k - 2", end))
    in_time = f"` x`.t <= {_window_end(f'{before}.began', types, parameters[0])}"
    if "strict_increase" in modes:
        in_time += f" AND {before}.latest < ` x`.t"
    cases.append((in_time, reach(f"{before}.began")))
    return "CASE " + " ".join(f"WHEN {test} THEN {then}" for test, then in cases) + " ELSE ` a` END"


def _window_end(began: str, types: Types, window: AggregateParameter) -> str:
    """The last moment of a window. Moments of 64 bits wrap around, as in ClickHouse."""
    if _moment(unwrap_type(types[0]))[1] == _BIG_MOMENT:
        return f"pmod(CAST({began} AS DECIMAL(38,0)) + {window}, CAST({2**64} AS DECIMAL(38,0)))"
    return f"{began} + {min(int(window), 2**40)}L"


def _window_funnel(state: AggregateState) -> str:
    _, spark = _moment(unwrap_type(state.types[0]))
    none = f"CAST(array() AS ARRAY<STRUCT<`began`: {spark}, `latest`: {spark}>>)"
    start = f"named_struct('levels', {none}, 'over', false)"
    events = _funnel_events(state.types, state.parameters[1:])
    step = _funnel_step(state.types, state.parameters)
    reached = f"aggregate({events}, {start}, (` a`, ` x`) -> {step}, ` a` -> size(` a`.levels))"
    return _or_null(state.sql, reached, state.types)


_TOKEN = re.compile(r"\(\?t(<=|<|>=|>|==)(\d{1,18})\)|\(\?(\d{1,3})\)|(\.\*)|(\.)")


def pattern_actions(pattern: str, conditions: int) -> list[str] | None:
    """The actions of a pattern, as the Java class takes them. None if it is no pattern over so many conditions, or
    begins or ends with a time: that has an event to be after and one to be before."""
    actions, at = ["*"], 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            return None
        sign, duration, event, star, _ = found.groups()
        if sign and actions[-1].startswith("t"):
            return None
        if event and not 1 <= int(event) <= conditions:
            return None
        actions.append(f"t{sign}{int(duration)}" if sign else str(int(event)) if event else "*" if star else ".")
        at = found.end()
    given = [action for action in actions if action != "*"] or [""]
    return None if given[0].startswith("t") or given[-1].startswith("t") else actions


def _sequence_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    (pattern,) = parameters
    if not isinstance(pattern, str) or pattern_actions(pattern, len(types) - 1) is None:
        return "a pattern of (?1) … for its conditions, (?t<=10) and the like between events, `.` and `.*`"
    return _event_needs(types)


def _sequence(state: AggregateState, counts: str) -> str:
    """The Java function over the rows that meet a condition, in the order of time."""
    conditions = _conditions(state.types)
    moment, spark = _moment(unwrap_type(state.types[0]))
    mask = " + ".join(f"if({condition}, {2**place}L, 0L)" for place, condition in enumerate(conditions))
    rows = f"transform(` g`, (` x`, ` i`) -> struct({moment} AS t, ` i` AS i, {mask} AS m))"
    ordered = f"array_sort(filter({rows}, ` x` -> ` x`.m <> 0))"
    bits = "` x`.t"
    if spark == _BIG_MOMENT:
        wrapped = f"` x`.t - CAST({2**64} AS DECIMAL(20,0))"
        bits = f"CAST(if(` x`.t >= {2**63}, {wrapped}, ` x`.t) AS BIGINT)"
    columns = f"transform(` o`, ` x` -> {bits}), transform(` o`, ` x` -> ` x`.m)"
    actions = " ".join(pattern_actions(str(state.parameters[0]), len(conditions)) or ())
    call = f"{EVENT_SEQUENCE}({string_literal(f'{counts} {actions}')}, {columns})"
    raised = f"raise_error({string_literal(_TOO_DIFFICULT)})"
    checked = bind_lambda(call, lambda found: f"if({found} < 0, {raised}, {found})")
    return bind_lambda(ordered, lambda _: checked, "` o`")


def _sequence_match(state: AggregateState) -> str:
    found = f"CAST({_sequence(state, 'match')} AS INT)"
    return _or_null(state.sql, found, state.types)


def _sequence_count(state: AggregateState) -> str:
    found = f"CAST({_sequence(state, 'count')} AS {value_type(UINT64)})"
    return _or_null(state.sql, found, state.types)


EVENT_SEQUENCES = (
    list_aggregate(
        "windowFunnel",
        (2, 33),
        lambda types: nullable_like(_UINT8, types),
        _window_funnel,
        AggregateTraits(_funnel_needs, (1, 1 + len(_MODES))),
    ),
    list_aggregate(
        "sequenceMatch",
        (3, 33),
        lambda types: nullable_like(_UINT8, types),
        _sequence_match,
        AggregateTraits(_sequence_needs, (1, 1), ordered=True),
    ),
    list_aggregate(
        "sequenceCount",
        (3, 33),
        lambda types: nullable_like(UINT64, types),
        _sequence_count,
        AggregateTraits(_sequence_needs, (1, 1), ordered=True),
    ),
)
