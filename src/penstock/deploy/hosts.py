"""Which machine this is.

In: nothing. Out: a text that no other machine has at this time. Called by owner and tenure. Invariant:
the same for every process of one machine (or container) until it is started again.
"""

from __future__ import annotations

import socket
from functools import cache
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Linux makes it anew at each start: process ids of another one mean nothing. Source: random(4)."""


@cache
def this_host() -> str:
    boot = BOOT.read_text(encoding="ascii").strip() if BOOT.exists() else ""
    return f"{socket.gethostname()}/{boot}"
