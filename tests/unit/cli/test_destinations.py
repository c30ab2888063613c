"""What the stores of the settings are called as consumers."""

from __future__ import annotations

from contextlib import closing
from typing import cast

from penstock.cli.commands.postgres.destinations import open_store
from penstock.cli.session import Session
from penstock.model.settings import Settings, StoreSettings


class At:
    """As much of a session as an address needs."""

    url, token = "http://127.0.0.1:1", None


def consumer(stores: list[str], to: str) -> str:
    settings = Settings(stores={each: StoreSettings("penstock", "http://127.0.0.1:1") for each in stores})
    with closing(open_store(cast("Session", At()), settings, to)) as store:
        return store.name


def test_two_servers_of_penstock_are_two_consumers() -> None:
    """One alone keeps the name that positions and acknowledgements have had."""
    assert consumer([], "penstock") == consumer(["live"], "live") == consumer(["live"], "penstock") == "penstock"
    assert [consumer(["live", "copy"], each) for each in ("live", "copy")] == ["live", "copy"]
