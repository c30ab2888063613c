"""Values that the parts of a running pipeline take from the settings.

In: `Settings` and the folder of the embedded state. Out: addresses, folders, limits. Invariant: the server and its
worker process derive the same values from the settings.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.flow.scheduler import SchedulerLimits
from penstock.flow.stepper import StepLimits
from penstock.flow.throttle import BackfillRate
from penstock.model.settings import Settings

MIN_LIVE_STEPS = 2


def state_url(settings: Settings, home: Path) -> str:
    """The address of the state store."""
    return settings.state.url or f"sqlite:///{home / 'state.db'}"


def inbox_folder(settings: Settings, home: Path) -> Path:
    """The folder of the raw rows: a shared one where servers of several machines may own the warehouse."""
    return Path(settings.inbox.folder) if settings.inbox.folder is not None else home / "inbox"


def step_limits(settings: Settings) -> StepLimits:
    """The limits of a step, in rows, bytes and seconds."""
    flow = settings.flow
    return StepLimits(flow.max_step_rows, flow.max_step_bytes, seconds=float(flow.max_step_seconds))


def scheduler_limits(settings: Settings) -> SchedulerLimits:
    """How many steps run at a time, and for how long. One for each core: with three, no more rows land, and
    each takes twice as long to reach the last table."""
    steps = settings.flow.live_steps or max(MIN_LIVE_STEPS, os.cpu_count() or 1)
    return SchedulerLimits(steps, float(settings.flow.staging_step_seconds))


def backfill_rate(settings: Settings) -> BackfillRate:
    """How fast histories may be filled."""
    return BackfillRate(settings.backfill.max_bytes_per_second, float(settings.backfill.yield_after_seconds))
