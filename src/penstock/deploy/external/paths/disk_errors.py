"""What the system says of a disk that is away for a while, mostly one of the network.

In: the number of an `OSError`. Out: whether it may be over later. Invariant: what is wrong with one file is none of
these, so that it holds up no other.
"""

from __future__ import annotations

import errno

_NAMES = (
    "ENODEV", "ENXIO", "ESTALE", "ENOTCONN", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH",
    "ECONNREFUSED", "ECONNRESET", "ESHUTDOWN", "EREMOTEIO",
)  # fmt: skip
AWAY_ERRNOS = frozenset(getattr(errno, each) for each in _NAMES if hasattr(errno, each))
