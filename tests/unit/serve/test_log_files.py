from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.flow.telemetry.log_context import log_context
from penstock.serve.calls.logs import _select
from penstock.serve.server import log_files
from penstock.serve.server.log_files import rotate_foreign_log, set_up_logging
from waiting import wait_until


@pytest.fixture
def handler(tmp_path: Path) -> Iterator[logging.Handler]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield set_up_logging(tmp_path)
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_thread_that_logs_does_not_format(handler: logging.Handler, tmp_path: Path) -> None:
    """Redaction and the disk take their time in the log's own thread; the event loop logs too."""
    threads: list[str] = []

    class Text:
        def __str__(self) -> str:
            return "text"

    class Fault(Exception):
        def __str__(self) -> str:
            threads.append(threading.current_thread().name)
            return "the fault"

    fault = Fault()
    handler.handle(
        logging.LogRecord("penstock.test", logging.ERROR, "x.py", 1, "with %s", (Text(),), (Fault, fault, None))
    )
    handler.close()
    assert "the fault" in (tmp_path / "server.log").read_text()
    assert threading.current_thread().name not in threads


def test_lines_name_the_request_and_the_deployment(handler: logging.Handler, tmp_path: Path) -> None:
    with log_context(request="r1", deployment=4):
        logging.getLogger("penstock.test").warning("slow")
    handler.close()
    assert "WARNING penstock.test [request=r1 deployment=4] slow\n" in (tmp_path / "server.log").read_text()


def test_records_are_lines_of_json_where_the_settings_say_so(tmp_path: Path) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    handler, log = set_up_logging(tmp_path, "json"), logging.getLogger("penstock.test")
    with log_context(request="r1", deployment=4):
        log.warning("slow\n{} at postgres://me:geheim@there", exc_info=ValueError("odd \x1b[2J"))
    log.info("next")
    handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    first, second = map(json.loads, (tmp_path / "server.log").read_text().splitlines())
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "level": "WARNING",
        "logger": "penstock.test",
        "message": "slow\n{} at postgres://me:***@there",
        "request": "r1",
        "deployment": "4",
        "exception": "ValueError: odd \x1b[2J",
    }
    assert (second["level"], second["message"]) == ("INFO", "next")
    assert [*_select((tmp_path / "server.log").read_bytes().splitlines(), "WARNING")] == [
        (tmp_path / "server.log").read_bytes().splitlines()[0]
    ]


def test_nobody_writes_lines_of_their_own(handler: logging.Handler, tmp_path: Path) -> None:
    logging.getLogger("penstock.test").warning("nothing at %s", "/x\n2026 CRITICAL penstock \x1b[2Jgone\r")
    handler.close()
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert len(lines) == 1
    assert lines[0].endswith("nothing at /x\\n2026 CRITICAL penstock \\x1b[2Jgone\\r")


def test_the_log_is_its_owners_and_rotates(
    handler: logging.Handler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "MOST_BYTES", 16)
    logging.getLogger("penstock.test").info("one")
    handler.close()
    assert (tmp_path / "server.log").stat().st_mode & 0o777 == 0o600


def test_a_full_queue_drops_lines_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MOST_WAITING", 2)
    monkeypatch.setattr(log_files, "CHECK_SECONDS", 0.0)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    gate = threading.Event()
    monkeypatch.setattr(log_files.RedactingFormatter, "format", lambda self, record: gate.wait(20) and record.msg)
    handler = set_up_logging(tmp_path)
    try:
        for number in range(10):
            logging.getLogger("penstock.test").info("line %d", number)
        gate.set()
        wait_until(lambda: "lines are missing here" in (tmp_path / "server.log").read_text())
    finally:
        handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)


def test_a_log_that_another_process_writes_is_copied_and_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "MOST_BYTES", 10)
    path = tmp_path / "spark.log"
    with path.open("ab", buffering=0) as java:
        for number in range(6):
            java.write(f"lines of round {number}\n".encode())
            rotate_foreign_log(path)
        java.write(b"short\n")
        rotate_foreign_log(path)
    assert path.read_text() == "short\n"
    kept = sorted(tmp_path.glob("spark.log.*"))
    assert [each.read_text() for each in kept] == [f"lines of round {number}\n" for number in (5, 4, 3)]
    assert kept[0].stat().st_mode & 0o777 == 0o600
    rotate_foreign_log(tmp_path / "missing.log")
