"""A running pipeline: everything the server offers, opened from a project folder's settings.

In: settings and the folder of the embedded state. Out: `Pipeline`. Called by serve. Invariant:
each method is blocking and thread-safe, and raises nothing but `PenstockError`s for what a user did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.deploy import ingest
from penstock.deploy.core import Board, Core
from penstock.deploy.deployer import Deployer
from penstock.deploy.events import Event, events, fillings
from penstock.deploy.ingest import Receipt
from penstock.deploy.options import DeployOptions
from penstock.deploy.reader import Reader
from penstock.deploy.settling import Settler, share_of
from penstock.flow.inbox import Inbox
from penstock.flow.lag import behind
from penstock.flow.registry import Registry
from penstock.flow.scheduler import Scheduler
from penstock.flow.stepper import Limits, Stepper
from penstock.flow.view import Diverged
from penstock.lake.errors import explain
from penstock.lake.query import Result
from penstock.lake.session import open_lake
from penstock.model.deployment import Deployment
from penstock.model.settings import Settings
from penstock.state.batches import Batch, Batches
from penstock.state.database import open_database
from penstock.state.deployments import Deployments
from penstock.state.journal import Journal
from penstock.state.operations import Operations
from penstock.state.pointer import Pointer
from penstock.state.tokens import Tokens


class Pipeline:
    """Opens in the constructor (some seconds: Spark starts), runs until `close`."""

    def __init__(self, settings: Settings, home: Path):
        self._database = open_database(settings.state.url or f"sqlite:///{home / 'state.db'}")
        lake = open_lake(settings, home)
        batches, inbox = Batches(self._database), home / "inbox"
        registry = Registry(lake)
        operations = Operations(self._database)
        limits = Limits(settings.flow.max_step_rows, settings.flow.max_step_bytes)
        stepper = Stepper(lake, registry, batches, inbox, limits, operations)
        scheduler = Scheduler(stepper, explain, self._diverged)
        self._core = Core(
            lake, registry, stepper, scheduler,
            Deployments(self._database), Pointer(self._database), Journal(self._database), operations, Board(),
        )  # fmt: skip
        self._inbox = Inbox(inbox, batches, self._arrived)
        self._deployer = Deployer(self._core)
        self._reader = Reader(self._core)
        self.tokens = Tokens(self._database)
        self._core.assign()
        self._settler = Settler(self._core, settings.flow.max_step_rows)
        scheduler.start()
        self._deployer.resume()
        self._settler.start()

    @property
    def ready(self) -> bool:
        return not self._core.scheduler.stopping

    @property
    def jvm(self) -> int:
        """The process id of Spark's JVM."""
        return int(self._core.lake.jvm)

    def close(self) -> None:
        """Keep what was posted, end the steps under way, stop Spark."""
        self._inbox.close()
        self._settler.stop()
        self._core.scheduler.stop()
        self._deployer.close()
        self._core.lake.close()
        self._database.close()

    def append(self, name: str, body: bytes, key: str | None) -> Receipt:
        """Durable on return. Raises NotFound, InvalidRequest, TooLarge."""
        return ingest.append(self._core, self._inbox, name, body, key)

    def wait(self, receipt: Receipt, timeout: float) -> Receipt:
        """Until the receipt's rows are queryable in live, in every table below. Raises Timeout."""
        return ingest.wait(self._core, receipt, timeout)

    def sql(self, text: str, deployment: str) -> Result:
        """Answer a SELECT. Raises InvalidQuery, NotFound."""
        return self._reader.sql(text, deployment)

    def endpoint(self, name: str, parameters: Mapping[str, str], deployment: str) -> Result:
        """Answer an endpoint. Raises NotFound, InvalidRequest, InvalidQuery."""
        return self._reader.endpoint(name, parameters, deployment)

    def deploy(self, files: Mapping[str, str], options: DeployOptions) -> Deployment:
        """Plan and start (or only plan). Raises InvalidProject."""
        return self._deployer.deploy(files, options)

    def deployments(self) -> tuple[Deployment, ...]:
        return tuple(self._core.deployments.list())

    def deployment(self, ref: str) -> Deployment:
        """By id, name, live, staging or previous. Raises NotFound."""
        return self._core.find(ref)

    def promote(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.promote(ref)

    def discard(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.discard(ref)

    def rollback(self) -> Deployment:
        """Raises Conflict."""
        return self._deployer.rollback()

    def retire(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.retire(ref)

    def events(self, id: int) -> Iterator[Event]:
        """What the deployment does, until it comes to rest. Raises NotFound."""
        self._core.deployments.get(id)
        return events(self._core, id)

    def status(self) -> dict[str, object]:
        """What runs, how far it is and what fails, as JSON values."""
        core = self._core
        heads = core.stepper.heads
        return {
            "streams": dict(heads),
            "deployments": [_deployment_status(core, each, heads) for each in core.board.running.deployments],
            "failures": [
                {"table": table, "flow": flow, "message": failure.message, "attempts": failure.attempts}
                for (table, flow), failure in core.scheduler.failures.items()
            ],
        }

    def _diverged(self, parting: Diverged) -> None:
        self._deployer.diverged(parting)

    def _arrived(self, batch: Batch) -> None:
        self._core.stepper.arrived(batch.stream, batch.number)
        self._core.scheduler.wake()


def _deployment_status(core: Core, deployment: Deployment, heads: Mapping[str, int]) -> dict[str, object]:
    late = behind(core.registry, deployment.manifest, heads)
    return {
        "id": deployment.id,
        "name": deployment.name,
        "state": deployment.state,
        "tables": {
            bound.name: {
                "table": bound.table,
                "rows": core.registry.snapshots(bound.table).rows,
                "settled": share_of(bound),
            }
            for bound in deployment.manifest.bindings
        },
        "behind": [
            {"table": each.table, "flow": each.flow, "stream": each.stream, "batches": each.head - each.at}
            for each in late
        ],
        "filling": [
            {"name": each.name, "flow": each.flow, "rows": each.rows, "of": each.of}
            for each in fillings(core, deployment)
            if not each.done
        ],
    }
