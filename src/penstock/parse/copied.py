"""The directives of a node of TYPE copy.

In: a node's directives. Out: `Copied`, or None where it has no target. Called by node. Invariant: a schedule that is
given is one that cron understands.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from cronsim import CronSim, CronSimError

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import Text
from penstock.model.pipe import Copied
from penstock.parse.datafile import Entry
from penstock.parse.directives import parse_target

COPY_KEYWORDS = ("TARGET_DATASOURCE", "COPY_SCHEDULE", "COPY_MODE")
ON_DEMAND = "@on-demand"
_MODES = ("append", "replace")
_ANY_TIME = datetime(2000, 1, 1, tzinfo=timezone.utc)


def parse_copied(written: Entry, directives: Mapping[str, Entry], problems: list[Problem]) -> Copied | None:
    """The kind of a node whose TYPE, `written`, is copy."""
    schedule = _parse_schedule(directives.get("COPY_SCHEDULE"), problems)
    _check_mode(directives.get("COPY_MODE"), problems)
    target = parse_target("copy", "TARGET_DATASOURCE", written, directives, problems)
    return Copied(*target, schedule) if target else None


def _parse_schedule(entry: Entry | None, problems: list[Problem]) -> str | None:
    """Five fields of cron, in UTC; None for a copy that only runs on demand."""
    written = _unquoted(entry.value) if entry is not None else ON_DEMAND
    if entry is None or written.lower() == ON_DEMAND:
        return None
    try:
        next(CronSim(written, _ANY_TIME))
    except (CronSimError, StopIteration):
        message = f"`{written[:60]}` is no schedule"
        hint = f"write {ON_DEMAND}, or minute, hour, day, month and weekday as cron has them, in UTC: `0 * * * *`"
        problems.append(Problem("invalid-value", message, entry.value.location, hint))
        return None
    return written


def _check_mode(entry: Entry | None, problems: list[Problem]) -> None:
    written = _unquoted(entry.value).lower() if entry is not None else "append"
    if entry is None or written == "append":
        return
    if written == "replace":
        message = "COPY_MODE replace is not supported: a copy appends its rows"
        hint = "append, into a ReplacingMergeTree that is read with FINAL, or under a column that says which run it was"
        problems.append(Problem("unsupported-directive", message, entry.value.location, hint))
        return
    message = f"unknown COPY_MODE `{written[:60]}`"
    problems.append(Problem("invalid-value", message, entry.value.location, did_you_mean(written, _MODES)))


def _unquoted(text: Text) -> str:
    return text.text.strip().strip("\"'").strip()
