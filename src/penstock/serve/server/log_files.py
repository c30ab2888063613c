"""Set up the server's log files, and keep every log in `.penstock` within its size.

In: the folder of the embedded state. Out: `server.log`, at most KEPT + 1 files of MOST_BYTES bytes; the logs of Spark's
processes and of the start, likewise. Invariant: nothing is written to the terminal, no secret to the log, and no thread
that logs waits for the disk or for redaction: one thread of its own formats and writes.
"""

from __future__ import annotations

import copy
import json
import logging
import logging.handlers
import os
import queue
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from penstock.flow.telemetry.log_context import describe_log_context, log_context_pairs
from penstock.model.settings import LogFormat
from penstock.redaction import escape_controls, redact_start
from penstock.serve.server.repeated_records import RepeatedRecords

LOG_FILE = "server.log"
MOST_BYTES = 16 * 2**20
KEPT = 3
LONGEST_RECORD = 2**16
"""The most characters of a record, with its traceback."""
MOST_WAITING = 10_000
"""Records that wait to be written; more are dropped and counted."""
FOREIGN = ("spark.log", "apart.log", "server.err")
"""Logs that other processes write: Spark, the worker process, and whatever a server says before this log is set up."""
LINE = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(context)s%(message)s"
TICK = 1.0
CHECK_SECONDS = 10.0
CLOSE_SECONDS = 5.0


class RedactingFormatter(logging.Formatter):
    """Formats lines and tracebacks without secrets and control characters, times in UTC."""

    @staticmethod
    def converter(seconds: float | None) -> time.struct_time:
        return time.gmtime(seconds)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        # A line feed in a message would let somebody write lines of their own into the log.
        record.message = record.message.replace("\n", "\\n")
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        record.context = describe_log_context(getattr(record, "pairs", ()))
        return escape_controls(redact_start(super().format(record), LONGEST_RECORD))


class JsonFormatter(RedactingFormatter):
    """Formats each record as one line of JSON: its time, level, logger and message, its traceback if it has one, and
    what it is about (`request`, `trace`, `deployment`)."""

    def format(self, record: logging.LogRecord) -> str:
        shown = {
            "timestamp": f"{self.formatTime(record, self.datefmt)}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": redact_start(record.getMessage(), LONGEST_RECORD),
            **{name: redact_start(value, LONGEST_RECORD) for name, value in getattr(record, "pairs", ())},
        }
        if record.exc_info:
            shown["exception"] = redact_start(self.formatException(record.exc_info), LONGEST_RECORD)
        return json.dumps(shown)


FORMATTERS: Mapping[LogFormat, type[RedactingFormatter]] = {"text": RedactingFormatter, "json": JsonFormatter}


class _PrivateLogFile(logging.handlers.RotatingFileHandler):
    """A log that rotates, and that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(descriptor, "a", encoding=self.encoding)


class _LogWriter(logging.handlers.QueueListener):
    """The thread that formats and writes."""

    def __init__(self, waiting: queue.Queue[logging.LogRecord], home: Path, file: logging.Handler):
        super().__init__(waiting)
        self.dropped = 0
        self._waiting = waiting
        self._home = home
        self._file = file
        self._repeated = RepeatedRecords()
        self._checked = time.monotonic()

    def dequeue(self, block: bool) -> logging.LogRecord:  # noqa: FBT001 - the library's
        while True:
            try:
                return self._waiting.get(block, TICK)
            except queue.Empty:
                self._tick()

    def handle(self, record: logging.LogRecord) -> None:
        try:
            for each in self._repeated.sift(record):
                self._file.handle(each)
            if time.monotonic() - self._checked > CHECK_SECONDS:
                self._tick()
        except Exception:  # one bad record must not end the thread, and with it the log
            self.dropped += 1

    def close(self) -> None:
        """Write what waits, then end."""
        if self._thread is None:
            return
        with suppress(queue.Full):
            self._waiting.put(self._sentinel, timeout=CLOSE_SECONDS)  # type: ignore[attr-defined]
        self._thread.join(CLOSE_SECONDS)
        self._thread = None
        for each in self._repeated.end():
            self._file.handle(each)
        self._file.close()

    def _tick(self) -> None:
        for each in self._repeated.due():
            self._file.handle(each)
        if self.dropped:
            lost, self.dropped = self.dropped, 0
            text = f"{lost} lines are missing here: more was logged than could be written"
            self._file.handle(logging.LogRecord("penstock.log", logging.WARNING, __file__, 0, text, (), None))
        if time.monotonic() - self._checked > CHECK_SECONDS:
            self._checked = time.monotonic()
            for name in FOREIGN:
                rotate_foreign_log(self._home / name)


class _LogQueue(logging.handlers.QueueHandler):
    """Hands records to the writer; never waits."""

    def __init__(self, waiting: queue.Queue[logging.LogRecord], writer: _LogWriter):
        super().__init__(waiting)
        self._writer = writer

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """A copy with its text and the request or deployment that it is about; the traceback is formatted later."""
        made = copy.copy(record)
        made.msg, made.args = record.getMessage(), None
        made.pairs = log_context_pairs()
        return made

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            self._writer.dropped += 1

    def close(self) -> None:
        self._writer.close()
        super().close()


def set_up_logging(home: Path, lines: LogFormat = "text") -> logging.Handler:
    """Write log records to `server.log`: those of Penstock and Uvicorn from INFO on, others from WARNING. To close the
    handler that is returned, as `logging.shutdown` does, writes what waits."""
    file = _PrivateLogFile(home / LOG_FILE, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8")
    file.setFormatter(FORMATTERS[lines](LINE, "%Y-%m-%dT%H:%M:%S"))
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(MOST_WAITING)
    writer = _LogWriter(waiting, home, file)
    writer.start()
    handler = _LogQueue(waiting, writer)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("penstock", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
    return handler


def rotate_foreign_log(path: Path) -> None:
    """Copy a log that another process writes to `NAME.1` and empty it, once it has MOST_BYTES. That process keeps the
    file open, so it cannot be moved; it was opened for appending, so what follows is at the new end. Lines that are
    written between copying and emptying are lost."""
    try:
        if path.stat().st_size < MOST_BYTES:
            return
        for number in range(KEPT - 1, 0, -1):
            older = path.with_name(f"{path.name}.{number}")
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number + 1}"))
        first = path.with_name(f"{path.name}.1")
        with (
            open(path, "rb") as source,
            open(os.open(first, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as copied,
        ):
            shutil.copyfileobj(source, copied, MOST_BYTES)
        os.truncate(path, 0)
    except OSError:  # it is not there, or the disk is full; the next check tries again
        return
