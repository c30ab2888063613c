"""Remove raw batches that are in every table, and old entries of the logs.

In: what the flows still need (`RetainedData`). Out: fewer files in the inbox and rows in the state store. Invariant: a
batch is removed only if no running or future flow reads it: every landing has passed it, including the step that a
restart checks again, and its table cannot be rebuilt from it. The keys of a copy job stay until the job has ended.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from penstock.crash_points import crash_point
from penstock.deploy.maintenance.retention import RetainedData
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.state_store import StateStore
from penstock.flow.inbox.segments import remove_segments
from penstock.model.settings import Settings
from penstock.state.batch_keys import BatchKeys
from penstock.state.batches import BatchLog
from penstock.state.jobs import job_key_prefix
from penstock.state.logs.operations import Operation

LOT = 1_000
"""Batches that are trimmed in one transaction."""


def trim_inbox(core: Core, batches: BatchLog, folder: Path, retained: RetainedData) -> int:
    """Remove raw batches that no flow needs. Returns how many."""
    before = datetime.now(timezone.utc) - timedelta(seconds=core.settings.maintenance.inbox_seconds)
    trimmed = 0
    for stream, head in sorted(core.flows.arrivals.heads.items()):
        if stream in retained.rebuildable_streams:
            continue
        # A stream without an entry has no landing: its data source was removed, and its name is not used again.
        upto = min(retained.passed_batches.get(stream, head), head - 1)
        while lot := batches.trim(stream, upto, before, LOT):
            crash_point("trim.logged")
            remove_segments(folder, [each.segment for each in lot])
            trimmed += len(lot)
            size, rows = sum(each.bytes for each in lot), sum(each.rows for each in lot)
            core.store.operations.log(Operation("trim", stream, rows=rows, read_bytes=size))
    return trimmed


def trim_keys(settings: Settings, store: StateStore, keys: BatchKeys) -> int:
    """Remove old idempotency keys. Those of jobs that are not over stay, however long a job takes: after a crash its
    parts are appended again under the same keys. Returns how many."""
    held = [job_key_prefix(each) for each in store.jobs.open_jobs()]
    trimmed = 0
    while count := keys.trim(settings.maintenance.key_seconds, LOT, held):
        trimmed += count
    return trimmed


def trim_logs(settings: Settings, store: StateStore) -> int:
    """Remove old entries of the operations log, the audit log and the call log, and old jobs. Returns how many."""
    now = datetime.now(timezone.utc)
    before = now - timedelta(seconds=settings.maintenance.log_seconds)
    audited_before = now - timedelta(seconds=settings.maintenance.audit_seconds)
    called_before = now - timedelta(seconds=settings.maintenance.call_seconds)
    logs = store.operations.trim(before) + store.audit.trim(audited_before) + store.calls.trim(called_before)
    return logs + store.jobs.trim(before) + store.topic_reads.trim(before)
