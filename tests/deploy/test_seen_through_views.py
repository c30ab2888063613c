"""Views that are moved to the roll-up of another view: the rows that live has are those of a twin that is computed
anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from deploy.conftest import Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_EVENTS = """SCHEMA >
    `ts` DateTime, `user` String, `size` UInt32, `bytes` UInt64, `wait` Nullable(Float64)

ENGINE MergeTree
ENGINE_SORTING_KEY ts
"""
_AGGREGATES = {
    "hits": ("SimpleAggregateFunction(sum, UInt64)", "count()", "sum(hits)"),
    "waits": ("SimpleAggregateFunction(sum, UInt64)", "count(wait)", "sum(waits)"),
    "sizes": ("SimpleAggregateFunction(sum, UInt64)", "sum(size)", "sum(sizes)"),
    "sum_bytes": ("SimpleAggregateFunction(sum, UInt64)", "sum(bytes)", "sum(sum_bytes)"),
    "signed": ("SimpleAggregateFunction(sum, Int64)", "sum(toInt64(bytes))", "sum(signed)"),
    "peak": ("SimpleAggregateFunction(max, Float64)", "max(size / 4)", "max(peak)"),
    "most": ("SimpleAggregateFunction(max, UInt64)", "max(bytes)", "max(most)"),
    "mean": ("AggregateFunction(avg, UInt32)", "avgState(size)", "avgMergeState(mean)"),
    "mean_wait": ("AggregateFunction(avg, Nullable(Float64))", "avgState(wait)", "avgMergeState(mean_wait)"),
}
"""By column, its type, what a view over the events computes, and what one over such columns does."""
_ASKED = ", ".join(
    f"{merge.partition('(')[0].removesuffix('State')}({name})" for name, (_, _, merge) in _AGGREGATES.items()
)


def _table(time: str) -> str:
    columns = ", ".join(f"`{name}` {of}" for name, (of, _, _) in _AGGREGATES.items())
    return (
        f"SCHEMA >\n    `{time}` DateTime, `user` String, {columns}\n\nENGINE AggregatingMergeTree\n"
        f"ENGINE_SORTING_KEY {time}, user\n"
    )


def _view(target: str, source: str, keys: str, merges: bool) -> str:
    items = ", ".join(f"{merge if merges else sql} AS {name}" for name, (_, sql, merge) in _AGGREGATES.items())
    return (
        f"NODE n\nSQL >\n    SELECT {keys}, user, {items} FROM {source} GROUP BY {keys.split()[-1]}, user\n"
        f"TYPE materialized\nDATASOURCE {target}\n"
    )


def _files(prefix: str, through: bool) -> dict[str, str | None]:
    read, time = (f"{prefix}hourly", "hour") if through else (f"{prefix}ev", "ts")
    return {
        f"datasources/{prefix}ev.datasource": _EVENTS,
        f"datasources/{prefix}hourly.datasource": _table("hour"),
        f"datasources/{prefix}daily.datasource": _table("day"),
        f"pipes/{prefix}hourly_mv.pipe": _view(f"{prefix}hourly", f"{prefix}ev", "toStartOfHour(ts) AS hour", False),
        f"pipes/{prefix}daily_mv.pipe": _view(f"{prefix}daily", read, f"toStartOfDay({time}) AS day", through),
    }


def _batch(number: int) -> Sequence[Mapping[str, object]]:
    """Rows of two days, whose UInt64 have sums beyond 64 bits. `b` waits in no hour of the first day."""
    rows = ((number * 8 + place, "ab"[place % 2], 1 + place // 4) for place in range(8))
    return [
        {
            "ts": f"2024-01-0{day} {mixed % 5:02}:00:{mixed % 60:02}",
            "user": user,
            "size": 2**32 - 1 - mixed,
            "bytes": 2**64 - 1 - mixed * 1_000,
            "wait": None if (user == "b" and day == 1) or mixed % 3 == 0 else mixed * 0.25,
        }
        for mixed, user, day in rows
    ]


def _rows(running: Running, prefix: str) -> list[tuple[object, ...]]:
    return sorted(running.ask(f"SELECT day, user, {_ASKED} FROM {prefix}daily GROUP BY day, user", "staging"), key=str)


@pytest.mark.parametrize("inwards", [True, False])
def test_a_daily_roll_up_is_moved(running: Running, inwards: bool) -> None:
    """From the events to the hourly one, and from there to the events."""
    twins = (f"seen{inwards:d}_", f"seen{inwards:d}_anew_")
    running.deploy({path: text for each in twins for path, text in _files(each, through=not inwards).items()})
    for number in range(3):
        for each in twins:
            running.post(f"{each}ev", _batch(number))
    new = {path: text for each in twins for path, text in _files(each, through=inwards).items()}
    new["penstock.toml"] = f'[deploy.strategy]\n{twins[1]}daily = "recompute"\n'
    staged = running.deploy(new, promote=False)
    strategies = running.strategies(staged)
    assert [strategies[f"{each}daily"] for each in twins] == ["reuse", "recompute"]
    found = _rows(running, twins[0])
    assert len(found) == 4
    assert found == _rows(running, twins[1])
    for each in twins:
        running.post(f"{each}ev", _batch(3))
    assert _rows(running, twins[0]) == _rows(running, twins[1])
    running.pipeline.deployer.discard(str(staged.id))
