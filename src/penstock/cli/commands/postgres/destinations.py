"""The destinations of `penstock cdc`, by the names of `--to`.

In: a name and the settings. Out: an opened `Destination`. Invariant: only the module of the chosen one needs its
driver.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

import typer

from penstock.cli.errors import WrongUsage
from penstock.cli.session import Session
from penstock.errors import PenstockError, did_you_mean
from penstock.model.settings import Settings, StoreSettings
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.capture.source_stops import SourceStops
from penstock.postgres.delivery.clickhouse_landing import POSITION, ClickHouseLanding
from penstock.postgres.delivery.clickhouse_targets import notes_on_targets
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.delivery.kafka_broker import KafkaBroker
from penstock.postgres.delivery.keeping_destination import ForgettingDestination, KeepingDestination
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.delivery.stopping_destination import StoppingDestination
from penstock.postgres.stores.clickhouse_server import ClickHouseServer
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices

DestinationOption = Annotated[
    str, typer.Option("--to", help="penstock, a store of penstock.toml, or a broker: nats://… or kafka://…")
]
StoreOption = Annotated[str, typer.Option("--to", help="penstock, or a store of penstock.toml.")]
BrokerOption = Annotated[str, typer.Option("--from", help="The broker: nats://host:port or kafka://host:port.")]
Broker: TypeAlias = Union[NatsBroker, KafkaBroker]
NOTE_SECONDS = 10.0
"""How long a store may take to say what is worth knowing of it."""


def open_broker(url: str, capture: str) -> Broker:
    """The broker of an address. Raises WrongUsage, MissingDriver."""
    match url.partition("://")[0]:
        case "nats" | "tls":
            return NatsBroker(url, capture)
        case "kafka" | "kafkas":
            return KafkaBroker(url, capture)
    raise WrongUsage("that is no address of a broker", hint="such as nats://127.0.0.1:4222 or kafka://127.0.0.1:9092")


def open_destination(session: Session, settings: Settings, to: str, capture: str, dsn: str) -> Destination:
    """The destination of a name or address. Raises WrongUsage, MissingDriver."""
    return open_broker(to, capture) if "://" in to else open_stopping_store(session, settings, to, capture, dsn)


def open_stopping_store(session: Session, settings: Settings, to: str, capture: str, dsn: str) -> Destination:
    """The store of a name, which stops at changes that the source announces, and goes on without the columns that it
    lacks if the settings say so. Raises WrongUsage."""
    store = open_store(session, settings, to)
    kept = KeptRows(dsn, capture)
    aside = (KeepingDestination if settings.postgres.keep_aside else ForgettingDestination)(store, kept)
    return StoppingDestination(aside, _stops(settings, to, capture, dsn))


def open_whole_store(session: Session, settings: Settings, to: str, capture: str, dsn: str) -> Destination:
    """The same, for rows that were kept: all their columns are there now, or they stay. Raises WrongUsage."""
    return StoppingDestination(open_store(session, settings, to), _stops(settings, to, capture, dsn))


def named_stores(settings: Settings, to: str) -> list[str] | None:
    """The stores of the settings that rows go to; None: behind a broker it is not known which."""
    if "://" in to:
        return None
    return [each for each, of in settings.stores.items() if each == to or (to == of.type == "penstock")]


def _stops(settings: Settings, to: str, capture: str, dsn: str) -> SourceStops:
    return SourceStops(dsn, capture, named_stores(settings, to) or ())


def open_store(session: Session, settings: Settings, to: str) -> Destination:
    """The store of a name. Raises WrongUsage."""
    store = settings.stores.get(to)
    match store.type if store is not None else to:
        case "penstock":
            url = store.url if store is not None and store.url else session.url
            return PenstockLanding(url, session.token, _consumer_name(settings, to))
        case "clickhouse" if store is not None:
            return ClickHouseLanding(ClickHouseServer(store), store.database, to)
        case "iceberg":
            raise WrongUsage("rows do not go into Iceberg", hint="--to penstock, whose tables are Iceberg")
    raise WrongUsage(f"there is no destination `{to}`", hint=did_you_mean(to, ("penstock", *settings.stores)))


def _consumer_name(settings: Settings, to: str) -> str:
    """What a server of Penstock is called as a consumer: of two, each needs a name of its own, by which a broker and
    the source know how far it is."""
    servers = [each for each, of in settings.stores.items() if of.type == "penstock"]
    return to if to in servers and len(servers) > 1 else "penstock"


def notes_on_store(settings: Settings, to: str) -> list[str]:
    """What is worth knowing of a store before rows go there: nothing, if it does not answer yet."""
    store = settings.stores.get(to)
    if store is None or store.type != "clickhouse":
        return []
    try:
        schema = ClickHouseStore(
            to, store, ClickHouseServer(store, NOTE_SECONDS), lambda _: ViewChoices()
        ).read_schema()
    except PenstockError:
        return []
    landings = [each.name for each in schema.tables if each.column(POSITION) is not None]
    return notes_on_targets(schema, landings)


def clickhouse_store(settings: Settings, name: str) -> StoreSettings:
    """The settings of a ClickHouse. Raises WrongUsage."""
    found = settings.stores.get(name)
    if found is None or found.type != "clickhouse":
        known = [each for each, of in settings.stores.items() if of.type == "clickhouse"]
        hint = did_you_mean(name, known) or '[stores.NAME] with type = "clickhouse"'
        raise WrongUsage(f"penstock.toml has no ClickHouse `{name}`", hint=hint)
    return found
