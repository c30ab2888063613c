"""Azurite, the storage of Azure for tests, in a folder of its own and on a free port.

In: its program, if it is installed. Out: `Azurite`, which checks logins as Azure does. The server ends with the block,
on Linux also when the test process is killed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import httpx
import pytest

from waiting import wait_until

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own key, which its documentation shows."""
HOW = "npm install --global azurite"
_PROTOCOL = "2021-12-02"


@dataclass(frozen=True)
class Azurite:
    """A running server."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    def signature(self, may: str, key: str = KEY) -> str:
        """A shared access signature of the account."""
        until, schemes = "2099-01-01T00:00:00Z", "https,http"
        signed = [ACCOUNT, may, "b", "sco", "", until, "", schemes, _PROTOCOL, "", ""]
        made = hmac.new(base64.b64decode(key), "\n".join(signed).encode(), hashlib.sha256).digest()
        query = {"sv": _PROTOCOL, "ss": "b", "srt": "sco", "sp": may, "se": until, "spr": schemes}
        return urlencode({**query, "sig": base64.b64encode(made).decode()}, quote_via=quote, safe="")

    def create(self, container: str, blobs: dict[str, bytes]) -> None:
        """Make a container with blobs."""
        login = self.signature("rwlc")
        httpx.put(f"{self.endpoint}/{container}?restype=container&{login}").raise_for_status()
        for name, content in blobs.items():
            url = f"{self.endpoint}/{container}/{quote(name, safe='/')}?{login}"
            httpx.put(url, content=content, headers={"x-ms-blob-type": "BlockBlob"}).raise_for_status()


@contextmanager
def azurite_or_skip() -> Iterator[Azurite]:
    """A running server; skips the test where there can be none."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip(f"Azurite is not installed ({HOW})")
    folder = Path(tempfile.mkdtemp(prefix="penstock-azurite-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    ends_with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder), "--disableTelemetry"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*ends_with_us, program, *options], stdout=log, stderr=log)
    try:
        wait_until(lambda: _answers(port) or process.poll() is not None, 60)
        assert process.poll() is None, (folder / "log").read_text()
        yield Azurite(port)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
