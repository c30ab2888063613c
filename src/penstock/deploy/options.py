"""What a caller of `deploy` may choose.

In: the parameters of `POST /v1/deploy`. Out: `DeployOptions`. Called by serve and deploy. Invariant:
the defaults are those of the HTTP interface.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeployOptions:
    """`check` plans and keeps nothing; `promote` makes the deployment live as soon as it is ready;
    `allow_destructive` accepts a plan that loses rows or resources."""

    check: bool = False
    promote: bool = True
    allow_destructive: bool = False
    name: str | None = None
