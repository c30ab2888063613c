"""A producer in a thread that crashes where a test says, or in a process that is killed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from penstock.crash_points import Crashed
from penstock.postgres.capture.producer import Producer
from penstock.postgres.capture.table_delivery import CapturePace
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.packages.package_builder import PackageLimits


class RunningProducer:
    """A producer in a thread."""

    def __init__(
        self, dsn: str, name: str, destination: Destination, limits: PackageLimits, stores: Sequence[str] | None = None
    ):
        self._stop = threading.Event()
        self._producer = Producer(dsn, name, destination, self._stop.is_set)
        self._producer.limits, self._producer.pace = limits, CapturePace(0.2, 0.1, 0.2)
        self._producer.stores = stores
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._producer.run()
        except Crashed:
            pass
        except BaseException as error:
            self.failure = error

    def check(self) -> None:
        """Whoever waits for what it does need not wait for one that failed."""
        assert self.failure is None, self.failure

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(60)
        self.check()
        assert self.has_ended, "it does not end, and nothing says why"


@contextmanager
def producing(
    dsn: str, name: str, destination: Destination, limits: PackageLimits | None = None
) -> Iterator[RunningProducer]:
    """A producer while the block runs."""
    running = RunningProducer(dsn, name, destination, limits or PackageLimits(seconds=0.05))
    try:
        yield running
    finally:
        running.stop()
