"""Where the server is, and with which token it is called: by the same rules as the commands.

In: what the program gives. Out: `Connection`. Invariant: what is given wins over PENSTOCK_URL and PENSTOCK_TOKEN, and
these win over the files of the nearest project; the token is hidden in every message from then on.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from penstock.client.client_error import ClientError
from penstock.client.project_identity import require_same_project
from penstock.client.project_server import (
    DEFAULT_URL,
    nearest_project,
    project_url,
    read_admin_token,
    read_server_record,
)
from penstock.errors import PenstockError
from penstock.redaction import register_secrets

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For plain HTTP: reading all certificates of the machine takes a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A server's address and a token."""

    url: str
    token: str | None = field(repr=False)
    guessed_from: Path | None = None
    """The project whose files gave the address; None if the program gave it."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def verify(self) -> ssl.SSLContext | bool:
        """What httpx checks certificates by."""
        return NO_TLS if self.url.startswith("http://") else True

    def check_project(self) -> None:
        """Call the server, if its address was guessed. Raises ClientError if it is another project's."""
        if self.guessed_from is not None:
            try:
                require_same_project(self.url, self.guessed_from, read_server_record(self.guessed_from))
            except PenstockError as error:
                raise ClientError.of(error) from None


def find_connection(url: str | None, token: str | None, project: Path | None) -> Connection:
    """The connection of a client. Raises ClientError."""
    folder = project if project is not None else nearest_project(Path.cwd())
    given = url or os.environ.get("PENSTOCK_URL")
    token = token or os.environ.get("PENSTOCK_TOKEN")
    try:
        found = given or (project_url(folder, token) if folder is not None else None) or DEFAULT_URL
    except PenstockError as error:
        raise ClientError.of(error) from None
    token = token or (read_admin_token(folder) if folder is not None else None)
    _check_token(token)
    return Connection(_checked_url(found), token, folder if not given else None)


def _check_token(token: str | None) -> None:
    """Raises ClientError for what no header can hold; the message does not show it."""
    if token is None:
        return
    register_secrets((token,))
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise ClientError("the token has characters that no token has", code="wrong-usage")


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ClientError(f"`{url}` is not an address of a server", hint=f"such as {DEFAULT_URL}", code="wrong-usage")
    if parts.username or parts.query or parts.fragment:
        hint = "give the token as token=…, or as PENSTOCK_TOKEN"
        raise ClientError("the address of a server has no login and no parameters", hint=hint, code="wrong-usage")
    return url.rstrip("/")
