"""The life of a server: answer /health at once, open the pipeline, serve, close in order.

In: settings, an owned folder and a listening socket. Out: nothing; `run` returns when the server is told to stop.
Invariant: the pipeline is closed after the last call and before the folder is released.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from penstock.deploy.ownership.folder_lock import FolderLock
from penstock.deploy.ownership.lease_keeper import LeaseKeeper
from penstock.deploy.pipeline import Pipeline
from penstock.deploy.worker.class_trainer import ClassTrainer
from penstock.errors import Failed, PenstockError, Unavailable
from penstock.flow.telemetry.span_delivery import start_span_delivery
from penstock.lake.spark.java_process import StartingJava
from penstock.model.servers.identity import ServerIdentity
from penstock.model.settings import Settings
from penstock.serve.app import create_app
from penstock.serve.http.json_web_keys import read_public_keys
from penstock.serve.http.json_web_tokens import SignedTokens
from penstock.serve.http.metrics import Metrics
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.rendered_response import AnswerBudget
from penstock.serve.http.request_body import BodyBudget
from penstock.serve.server.admin_token import FILE as ADMIN_TOKEN
from penstock.serve.server.admin_token import ensure_admin_token
from penstock.serve.server.connection_limits import limited_connection
from penstock.serve.server.log_files import LOG_FILE
from penstock.serve.server.restart import call_when_ended, count_restarts, restart_server
from penstock.state.database import Database
from penstock.state.lease import Lease

GRACE_SECONDS = 3
LOST = 3
"""The exit code of a server after another server has taken over its warehouse."""
OPENING_SECONDS = 30.0
ANSWERS_TOGETHER = 2
"""How many answers of the greatest size may wait for their readers at once."""
log = logging.getLogger("penstock.serve")


class _Stopping(Unavailable):
    """A signal has come before the pipeline was opened."""


class WebServer(uvicorn.Server):
    """Uvicorn; at a signal the host immediately accepts no more calls."""

    def __init__(self, host: PipelineHost, most_connections: int = 1_000):
        self._host = host
        super().__init__(
            uvicorn.Config(
                create_app(host),
                http=limited_connection(most_connections),
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._host.stop()
        super().handle_exit(sig, frame)


class ServerProcess:
    """One server. `database` is the state store, whose lease it holds."""

    def __init__(self, settings: Settings, home: Path, owner: FolderLock, listener: socket.socket, database: Database):
        self._settings = settings
        self._home = home
        self._owner = owner
        self._listener = listener
        self._database = database
        server = settings.server
        self._host = PipelineHost(
            BodyBudget(server.max_body_bytes, float(server.max_body_seconds)),
            AnswerBudget(ANSWERS_TOGETHER * server.max_result_bytes),
        )
        self._host.log_file = home / LOG_FILE
        self._host.allowed_origins = server.allowed_origins
        self._keys = read_public_keys()
        self._host.signed_tokens = SignedTokens(home / ADMIN_TOKEN, self._keys)
        self._web = WebServer(self._host, settings.server.max_connections)
        self._trainer = ClassTrainer(settings, home)
        self._pipeline: Pipeline | None = None
        self._failure: PenstockError | None = None
        self._end_traces: Callable[[], None] = lambda: None

    def run(
        self, prepare: Callable[[Path, Database, Callable[[str], None]], None], java: StartingJava | None = None
    ) -> None:
        """Serve until a signal. Raises the error if the pipeline could not be opened. `java` was started ahead for it.
        `prepare` is called before with the folder, the state store, and a call that shows in /health what is done. It
        may take its time: the lease is renewed meanwhile."""
        address, port = self._listener.getsockname()
        url = f"http://{address}:{port}"
        record = self._owner.record(None, url)
        me = (record.server.id, record.server.started)
        self._host.identity = ServerIdentity.of(self._home.parent, socket.gethostname(), me)
        for number in (signal.SIGTERM, signal.SIGINT):
            # Uvicorn raises the signal again when it has stopped: closing must not end there.
            signal.signal(number, self._web.handle_exit)
        lease_keeper = LeaseKeeper(Lease(self._database), _exit_fenced)
        add_server_gauges(
            self._host.metrics, lambda: float(self._database.token or 0), lease_keeper.seconds_since_heartbeat
        )
        opening = threading.Thread(target=self._open, args=(prepare, java, url), name="open", daemon=True)
        opening.start()
        if self._keys is not None:
            self._keys.prefetch()
        self._web.run(sockets=[self._listener])
        opening.join(OPENING_SECONDS)
        self._trainer.stop()
        if self._pipeline is not None:
            self._pipeline.close()
        lease_keeper.end()
        self._database.close()
        self._end_traces()
        if self._failure is not None:
            raise self._failure
        log.info("the server has stopped")

    def _open(
        self, prepare: Callable[[Path, Database, Callable[[str], None]], None], java: StartingJava | None, url: str
    ) -> None:
        try:
            prepare(self._home, self._database, self._show)
            self._end_traces = start_span_delivery(self._settings.traces, "server")
            self._show("starting Spark")
            self._pipeline = Pipeline(self._settings, self._home, self._database, java)
            self._owner.record(self._pipeline.jvm, url)
            call_when_ended(self._pipeline.jvm, self._spark_ended)
            ensure_admin_token(self._home, self._pipeline.tokens)
            self._host.opened(self._pipeline)
            self._trainer.start(self._pipeline.jvm)
            log.info("the server is ready at %s after %.1f s", url, self._host.seconds)
        except _Stopping as error:
            log.info("%s", error.message)
        except PenstockError as error:
            self._fail(error)
        except Exception as fault:  # whatever it is, it ends the server and is reported
            log.exception("the pipeline could not be opened")
            reason = str(fault).partition("\n")[0]
            hint = "server.log and spark.log in .penstock have the details"
            self._fail(Failed(f"the pipeline could not be opened: {reason}", hint=hint))

    def _show(self, phase: str) -> None:
        """Raises _Stopping if the server was told to stop."""
        if self._host.stopping:
            raise _Stopping("the server was told to stop while it started")
        self._host.phase = phase

    def _spark_ended(self) -> None:
        """Count a crash for the running steps, and restart the server, since nothing runs without Spark."""
        if self._pipeline is not None and self._pipeline.ready and not self._web.should_exit:
            log.critical("Spark's process has ended (out of memory?); the server restarts")
            self._host.spark_ended()
            try:
                self._pipeline.spark_ended()
            except Exception as fault:  # without the count a flow is only tried once more beside live
                log.warning("what ran when Spark ended was not counted", exc_info=fault)
            restart_server(self._listener, self._host.running_calls)

    def _fail(self, error: PenstockError) -> None:
        self._failure = error
        self._host.stop()
        self._web.should_exit = True


def add_server_gauges(metrics: Metrics, token: Callable[[], float], heartbeat: Callable[[], float]) -> None:
    """Show the lease and the restarts."""
    metrics.add_gauge("penstock_lease_token", "Token of the lease", token)
    metrics.add_gauge("penstock_lease_heartbeat_age_seconds", "Since the last heartbeat that was stored", heartbeat)
    metrics.add_gauge("penstock_restarts", "Restarts in a row because Spark ended", lambda: float(count_restarts()))


def _exit_fenced() -> None:
    """End this process at once: another server owns the warehouse, and nothing here may write any more."""
    log.critical("another server has taken over this warehouse; this one ends")
    logging.shutdown()
    os._exit(LOST)
