"""Take the lease of the state store, renew it, and notice when another server has taken it over.

In: the lease, and the record of this server. Out: `LeaseKeeper`, a thread that sends heartbeats. Invariant: the
lease is taken only from an owner that released it, that is known to be dead, or that sent no heartbeat for STALL
seconds by this machine's own clock (no two clocks are compared); a server that lost it learns so within a few
heartbeats and writes nothing in between.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.deploy.ownership.folder_lock import (
    LOOK,
    STALL,
    ProcessId,
    end_jvm,
    end_server,
    last_touch,
    read_record,
    this_host,
)
from penstock.errors import Conflict, Fenced, StorageFull, Unavailable
from penstock.state.lease import Lease, LeaseRecord

BEAT = 2.0
"""Seconds between two heartbeats."""
log = logging.getLogger("penstock.deploy")


def take_lease(lease: Lease, me: Mapping[str, object], waiting: Callable[[LeaseRecord], None] | None) -> None:
    """Take the lease; blocks while another server holds it, and `waiting` gets that server's lease record, once. Raises
    Conflict if another server holds it and `waiting` is None. An owner on this machine that sends no heartbeat is
    killed first, with its JVM: it may have been suspended while it held SQLite's only lock, of the store or of the
    catalog."""
    seen, since, reported = lease.read(), time.monotonic(), False
    touched = _last_touch(seen, me)
    while True:
        gone, silent = seen.is_free or _is_dead(seen, me), time.monotonic() - since > STALL
        if gone or silent:
            if not gone and seen.owner.get("host") == me["host"]:
                _end_holder(seen)
            try:
                lease.take(seen, me)
            except (Fenced, Unavailable, StorageFull) as error:
                log.info("the lease was not taken: %s", error.message)
            else:
                return
        elif waiting is None:
            raise Conflict(f"server {seen.owner.get('url')} on {seen.owner.get('host')} owns this warehouse")
        elif not reported:
            waiting(seen)
            reported = True
        time.sleep(LOOK)
        now, touch = read_heartbeat(lease), _last_touch(seen, me)
        if now != seen or touch != touched:
            # A store that does not answer says nothing about the owner. One that has no room for a heartbeat says
            # nothing either, but the owner's record does. So wait STALL seconds again.
            seen, since, touched = now or seen, time.monotonic(), touch


def _last_touch(seen: LeaseRecord, me: Mapping[str, object]) -> int | None:
    """When the owner last renewed the record in its folder, if that is on this machine."""
    return last_touch(Path(str(seen.owner.get("home")))) if seen.owner.get("host") == me["host"] else None


def _end_holder(seen: LeaseRecord) -> None:
    """End the server that holds the lease, and its JVM."""
    record = read_record(Path(str(seen.owner.get("home"))))
    if record is not None and [record.server.id, record.server.started] == seen.owner.get("server"):
        end_server(record)
        end_jvm(record)


def read_heartbeat(lease: Lease) -> LeaseRecord | None:
    """The lease as it is now, whose heartbeat changes while the owner lives; None while the store does not answer."""
    try:
        return lease.read()
    except Unavailable:
        return None


def describe_server(home: Path, server: ProcessId, url: str) -> Mapping[str, object]:
    """What a server writes about itself into the lease."""
    return {"host": this_host(), "home": str(home), "server": [server.id, server.started], "url": url}


def _is_dead(seen: LeaseRecord, me: Mapping[str, object]) -> bool:
    """Whether the owner ran on this machine and its process has ended, or is this process itself (after a restart)."""
    server = seen.owner.get("server")
    if seen.owner.get("host") != me["host"] or not isinstance(server, list):
        return False
    return server == me["server"] or ProcessId(*server).find() is None


class LeaseKeeper:
    """Renews the lease until `end`. `lost` is called, once, when another server has taken the lease over."""

    def __init__(self, lease: Lease, lost: Callable[[], None]):
        self._lease = lease
        self._lost = lost
        self._beat = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease keeper", daemon=True)
        self._thread.start()

    def seconds_since_heartbeat(self) -> float:
        """Seconds since the last heartbeat that the store took."""
        return time.monotonic() - self._beat

    def end(self) -> None:
        """Stop the heartbeat and release the lease, so that the next server need not wait."""
        self._stop.set()
        self._thread.join()
        try:
            self._lease.release()
        except (Fenced, Unavailable) as error:
            log.warning("the lease was not released: %s", error.message)

    def _run(self) -> None:
        while not self._stop.wait(BEAT):
            try:
                self._lease.heartbeat()
                self._beat = time.monotonic()
            except Fenced:
                self._lost()
                return
            except Exception:
                # The store may come back. If another server takes over meanwhile, its lease rejects our writes.
                log.exception("lease heartbeat failed")
