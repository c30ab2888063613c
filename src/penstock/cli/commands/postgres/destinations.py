"""The destinations of `penstock cdc`, by the names of `--to`.

In: a name and the settings. Out: an opened `Destination`. Invariant: only the module of the chosen one needs its
driver.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.errors import WrongUsage
from penstock.cli.session import Session
from penstock.errors import did_you_mean
from penstock.model.settings import Settings
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.delivery.penstock_landing import PenstockLanding

DESTINATIONS = ("penstock",)
DestinationOption = Annotated[str, typer.Option("--to", help=f"Where the rows go: {', '.join(DESTINATIONS)}.")]


def open_destination(session: Session, settings: Settings, to: str) -> Destination:
    """The destination of a name. Raises WrongUsage."""
    match to:
        case "penstock":
            return PenstockLanding(session.url, session.token)
    raise WrongUsage(f"there is no destination `{to}`", hint=did_you_mean(to, DESTINATIONS))
