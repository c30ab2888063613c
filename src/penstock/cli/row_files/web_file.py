"""A file of rows at an address of the web, as a file of this machine.

In: an address with http or https. Out: the path of a copy, for as long as the caller reads it. Invariants: the copy is
whole before anybody reads it, so a transfer that breaks off sends no row; no message shows a password of the address.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import httpx

from penstock.errors import InvalidRequest

SECONDS = 60.0
"""For how long a server may say nothing."""
_SUFFIXES = {"text/csv": ".csv", "application/json": ".json"}
"""What the name of a file has to say, as its contents do not: by the Content-Type of an answer."""


def is_address(text: str) -> bool:
    """Whether a text is an address of the web, and not the path of a file."""
    return text.lower().startswith(("http://", "https://"))


@contextmanager
def fetched_file(address: str) -> Iterator[Path]:
    """A copy of the file at an address, whose name ends as that of the file does. Raises InvalidRequest if there is
    none, or it does not come whole."""
    shown = shown_address(address)
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        try:
            path = _fetch(address, shown, Path(folder))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InvalidRequest(f"{shown} cannot be fetched: {error or type(error).__name__}") from error
        except OSError as error:
            raise InvalidRequest(f"{shown} cannot be kept: {error.strerror}") from error
        yield path


def shown_address(address: str) -> str:
    """The address without a name and password, and without its query, which may hold a signature."""
    beginning, _, rest = address.partition("://")
    place = rest.partition("?")[0].partition("#")[0]
    host, slash, path = place.partition("/")
    return f"{beginning}://{host.rpartition('@')[2]}{slash}{path}"


def _fetch(address: str, shown: str, folder: Path) -> Path:
    timeout, hooks = httpx.Timeout(SECONDS, connect=10), {"response": [check_redirection]}
    with (
        httpx.Client(timeout=timeout, follow_redirects=True, event_hooks=hooks) as client,
        client.stream("GET", address, headers={"Accept-Encoding": "identity"}) as answer,
    ):
        if not answer.is_success:
            reason = f"{answer.status_code} {answer.reason_phrase}".strip()
            raise InvalidRequest(f"{shown} cannot be fetched: its server answers {reason}")
        if "Content-Length" not in answer.headers and "chunked" not in answer.headers.get("Transfer-Encoding", ""):
            said = "its server does not say how long it is, so a part of it could be missing"
            raise InvalidRequest(f"{shown} cannot be fetched: {said}", hint="fetch it, look at it, and name the copy")
        path = folder / _file_name(answer)
        with path.open("wb") as file:
            for part in answer.iter_raw():
                file.write(part)
    return _unpack(path, answer.headers.get("Content-Encoding", "identity").strip().lower(), shown)


def check_redirection(answer: httpx.Response) -> None:
    """Raises httpx.UnsupportedProtocol where the way would be open to others from here on."""
    if answer.has_redirect_location and answer.url.scheme == "https":
        to = answer.url.join(answer.headers["Location"])
        if to.scheme != "https":
            raise httpx.UnsupportedProtocol(f"its server redirects from https to {to.scheme}, which is not followed")


def _unpack(path: Path, encoding: str, shown: str) -> Path:
    """The file without what its server packed it in; all of it is unpacked before anybody reads it."""
    if encoding == "identity":
        return path
    if encoding not in ("gzip", "x-gzip"):
        raise InvalidRequest(f"{shown} cannot be fetched: its server sends it packed as `{encoding}`")
    packed = path.rename(path.with_name(f"{path.name}.packed"))
    try:
        with gzip.open(packed) as source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidRequest(f"{shown} cannot be fetched: its server sends it damaged: {error}") from error
    packed.unlink()
    return path


def _file_name(answer: httpx.Response) -> str:
    """The last part of the path. Where it has no suffix, what the server says of the contents gives one."""
    name = PurePosixPath(unquote(answer.url.path)).name.replace("\0", "")[-100:] or "rows"
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return name if PurePosixPath(name).suffix else name + _SUFFIXES.get(kind, "")
