"""Send a file's rows in calls of a limited size.

In: a file or standard input. Out: how many rows fit. Called by `datasource`. Invariant: each call has
a key of its own, under which it is sent again when the connection breaks, so no row is kept twice.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from penstock.cli.client import Client, Json, flags
from penstock.errors import InvalidRequest, NoServer

BYTES_A_CALL = 8 * 2**20
ATTEMPTS = 4


def append_file(client: Client, name: str, file: Path | None, wait: bool) -> Json:
    """Send all rows; with `wait`, return when they can be queried."""
    form = "json" if file is not None and file.suffix == ".json" else "ndjson"
    parameters = flags(name=name, format=form)
    told = {"successful_rows": 0, "quarantined_rows": 0}
    parts = _parts(file, form)
    part = next(parts, b"")
    while True:
        following = next(parts, None)
        waits = flags(wait=True) if wait and following is None else {}
        answer = _send(client, {**parameters, **waits}, part)
        told = {key: told[key] + answer[key] for key in told}
        if following is None:
            return told
        part = following


def _send(client: Client, parameters: dict[str, str], body: bytes) -> Json:
    key = uuid.uuid4().hex
    for attempt in range(1, ATTEMPTS):
        try:
            return client.append(parameters, body, key)
        except NoServer:
            time.sleep(attempt)
    return client.append(parameters, body, key)


def _parts(file: Path | None, form: str) -> Iterator[bytes]:
    if file is None:
        yield from _chunks(sys.stdin.buffer)
        return
    try:
        with file.open("rb") as opened:
            yield from _chunks(opened) if form == "ndjson" else iter([opened.read()])
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}") from error


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    """Whole lines, a call's worth at a time."""
    while lines := source.readlines(BYTES_A_CALL):
        yield b"".join(lines)
