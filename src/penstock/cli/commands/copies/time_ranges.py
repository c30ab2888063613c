"""The ranges of time for which a copy is run, one job each, and the parameters that name them.

In: a unit of the calendar, two times, and the parameters that a copy declares. Out: `CopyRange`s. Invariants: ranges
begin and end where the unit does, in UTC, each where the one before ends; so the same part of time is always the same
range, whichever command asks for it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.cli.errors import WrongUsage
from penstock.cli.json_documents import Json

MOST_RANGES = 100_000


class RangeUnit(str, Enum):
    """The length of a range."""

    hour = "hour"
    day = "day"
    week = "week"
    month = "month"


PAIRS = (
    ("start_backfill_timestamp", "end_backfill_timestamp"),
    ("start", "end"),
    ("start_date", "end_date"),
    ("date_from", "date_to"),
    ("from_date", "to_date"),
    ("start_time", "end_time"),
    ("start_timestamp", "end_timestamp"),
    ("start_datetime", "end_datetime"),
)
"""The names that parameters of a range usually have."""
_DATES = ("Date", "Date32")
_TIMES = ("DateTime", "DateTime64")


@dataclass(frozen=True, slots=True)
class CopyRange:
    """A part of time, from its start up to its end, which is not in it."""

    start: dt.datetime
    end: dt.datetime

    def __str__(self) -> str:
        return f"{_short(self.start)} to {_short(self.end)}"


@dataclass(frozen=True, slots=True)
class RangeParameters:
    """The parameters of a copy that name a range, with their types; one name if it only has a start."""

    start: str
    start_type: str
    end: str | None
    end_type: str

    def values(self, part: CopyRange, unit: RangeUnit) -> dict[str, str]:
        """The parameters of a range."""
        made = {self.start: _format(part.start, self.start_type, unit)}
        return made if self.end is None else {**made, self.end: _format(part.end, self.end_type, unit)}


def divide_time(start: str, end: str, unit: RangeUnit) -> list[CopyRange]:
    """The ranges between two times. Raises WrongUsage for a time that is none, or within a range."""
    first, last = _boundary("--from", start, unit), _boundary("--to", end, unit)
    if first >= last:
        raise WrongUsage(f"--from {start} is not before --to {end}", hint="--to is the end, which is not in the ranges")
    parts: list[CopyRange] = []
    while first < last:
        following = _following(first, unit)
        parts.append(CopyRange(first, following))
        first = following
        if len(parts) > MOST_RANGES:
            raise WrongUsage(
                f"these are more than {MOST_RANGES:,} ranges", hint="take longer ones, or a part of the time"
            )
    return parts


def _boundary(option: str, text: str, unit: RangeUnit) -> dt.datetime:
    try:
        found = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise WrongUsage(f"{option} takes a time, not `{text}`", hint="such as 2024-05-01") from None
    moment = found.astimezone(dt.timezone.utc) if found.tzinfo is not None else found.replace(tzinfo=dt.timezone.utc)
    if not 1970 <= moment.year <= 2149:
        raise WrongUsage(f"{option} takes a time from 1970 to 2149, not `{text}`")
    begun = _floor(moment, unit)
    if begun != moment:
        hint = f"{_short(begun)} and {_short(_following(begun, unit))} are: ranges are the same whoever asks for them"
        raise WrongUsage(f"{option} {text} is not the start of a {unit.value} (UTC)", hint=hint)
    return moment


def _floor(moment: dt.datetime, unit: RangeUnit) -> dt.datetime:
    hour = moment.replace(minute=0, second=0, microsecond=0)
    match unit:
        case RangeUnit.hour:
            return hour
        case RangeUnit.day:
            return hour.replace(hour=0)
        case RangeUnit.week:
            return hour.replace(hour=0) - dt.timedelta(days=moment.weekday())
        case RangeUnit.month:
            return hour.replace(hour=0, day=1)


def _following(moment: dt.datetime, unit: RangeUnit) -> dt.datetime:
    match unit:
        case RangeUnit.hour:
            return moment + dt.timedelta(hours=1)
        case RangeUnit.day:
            return moment + dt.timedelta(days=1)
        case RangeUnit.week:
            return moment + dt.timedelta(days=7)
        case RangeUnit.month:
            return (moment + dt.timedelta(days=32)).replace(day=1)


def _short(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%d" if moment.time() == dt.time() else "%Y-%m-%d %H:%M:%S")


def _format(moment: dt.datetime, of: str, unit: RangeUnit) -> str:
    is_day = of in _DATES or (of not in _TIMES and unit is not RangeUnit.hour)
    return moment.strftime("%Y-%m-%d" if is_day else "%Y-%m-%d %H:%M:%S")


def find_parameters(declared: Sequence[Json], unit: RangeUnit, start: str | None, end: str | None) -> RangeParameters:
    """The parameters that name a range: those given, else those with usual names. Raises WrongUsage if the copy has
    none, or has days where hours are asked for."""
    types = {str(each["name"]): str(each["type"]) for each in declared}
    names = _choose(types, unit, start, end)
    for name in filter(None, names):
        if name not in types:
            raise WrongUsage(f"the copy has no parameter `{name}`", hint=_declared_text(types))
        if unit is RangeUnit.hour and types[name] in _DATES:
            raise WrongUsage(f"`{name}` is a day, and ranges are hours", hint="use --each day, or make it a DateTime")
    first, last = names
    assert first is not None, "a range has a start"
    return RangeParameters(first, types[first], last, types[last] if last else "")


def _choose(
    types: Mapping[str, str], unit: RangeUnit, start: str | None, end: str | None
) -> tuple[str | None, str | None]:
    if start is not None:
        return start, end
    if end is not None:
        raise WrongUsage("--to-param needs --from-param", hint=_declared_text(types))
    pair = next((pair for pair in PAIRS if set(pair) <= types.keys()), None)
    if pair is not None:
        return pair
    single = next((name for name in (unit.value, "date") if name in types and _is_whole(name, unit)), None)
    if single is None:
        message = "it is not clear which parameters of the copy name a range"
        raise WrongUsage(message, hint=f"name them by --from-param and --to-param; {_declared_text(types)}")
    return single, None


def _is_whole(name: str, unit: RangeUnit) -> bool:
    """Whether a parameter of this name stands for a whole range."""
    return name == unit.value or unit is RangeUnit.day


def _declared_text(types: Mapping[str, str]) -> str:
    names = ", ".join(f"`{name}` {of}" for name, of in sorted(types.items()))
    return f"it has {names}" if names else "it has no parameters: its SQL begins with % and names them"
