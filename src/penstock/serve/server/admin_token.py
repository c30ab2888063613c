"""The admin token: created at the first start, in a file that only its owner can read.

In: the folder of the embedded state and the tokens. Out: the file `admin_token`. Invariant: its secret is valid while
the server runs.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.serve.calls.tokens import ADMIN
from penstock.state.tokens import ApiTokens

FILE = "admin_token"


def ensure_admin_token(home: Path, tokens: ApiTokens) -> None:
    """Create the token if the file is missing, or if its secret is not valid because the state store is new."""
    path = home / FILE
    if path.exists() and tokens.find(path.read_text(encoding="utf-8").strip()) is not None:
        return
    if any(token.name == ADMIN for token in tokens.list()):
        tokens.remove(ADMIN)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(tokens.create(ADMIN, (ADMIN,)) + "\n")
    fresh.replace(path)
