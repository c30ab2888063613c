"""The admin token: created at the first start, in a file that only its owner can read.

In: the folder of the embedded state and the tokens. Out: the file `admin_token`. Invariant: its secret is valid while
the server runs; no other token is touched, since producers may use the token of a folder from which this server has
taken over.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Collection
from pathlib import Path

from penstock.lake.storage.durable_writes import replace_file
from penstock.serve.calls.tokens import ADMIN
from penstock.state.tokens import ApiTokens

FILE = "admin_token"
log = logging.getLogger("penstock.serve")


def ensure_admin_token(home: Path, tokens: ApiTokens) -> None:
    """Create a token if the file is missing, or if its secret is not valid because the state store is new. It is named
    `admin`, or `admin-2` and so on where the store has that one already."""
    path = home / FILE
    if path.exists() and tokens.find(path.read_text(encoding="utf-8").strip()) is not None:
        return
    name = _free_name({token.name for token in tokens.list()})
    if name != ADMIN:
        log.warning("this folder has no valid admin token: it gets `%s`; earlier ones stay valid", name)
    with replace_file(path, 0o600) as file:
        file.write(f"{tokens.create(name, (ADMIN,))}\n".encode())


def _free_name(known: Collection[str]) -> str:
    names = itertools.chain([ADMIN], (f"{ADMIN}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in known)
