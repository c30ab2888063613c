"""Names that a broker does not take as they are. A real Postgres, NATS and Kafka."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kafka_broker import kafka_or_skip
from nats_server import nats_or_skip
from penstock.errors import InvalidRequest
from penstock.postgres.capture.setup import set_up, table_choice
from penstock.postgres.delivery.kafka_broker import KafkaBroker
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import producing

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=3, seconds=0.02)
NAMES = ["with space", "with.dot", "star*>", "größe", "=2e", "_", "x" * 96]


def through(source: Source, landing: Landing, broker: Callable[[], NatsBroker | KafkaBroker]) -> None:
    """Tables with these names go through a broker, each to its own table."""
    choices = []
    for at, name in enumerate(NAMES):
        source.run(f"CREATE TABLE {{s}}.t{at} (id int PRIMARY KEY); INSERT INTO {{s}}.t{at} VALUES ({at})")
        choices.append(table_choice(f"{source.schema}.t{at}={name}", ()))
        landing[0].columns[name] = frozenset({"id"})
    set_up(source.connection, source.name, choices)
    with closing(broker()) as sending, producing(source.dsn, source.name, sending, SMALL):
        running = RunningConsumer(source, broker(), PenstockLanding(*landing[1:], "my store.of/all"))
        source.run("INSERT INTO {s}.t0 VALUES (100)")
        source.wait_until_stored("my store.of/all")
        running.stop()
    found = {name: {id for (id,) in landing[0].final(name, ("id",))} for name in NAMES}
    assert found == {name: {at, 100} if at == 0 else {at} for at, name in enumerate(NAMES)}


def test_names_that_nats_does_not_take(source: Source, landing: Landing, tmp_path: Path) -> None:
    nats = nats_or_skip(tmp_path)
    through(source, landing, lambda: NatsBroker(nats.url, source.name))
    nats.kill()


def test_names_that_kafka_does_not_take(source: Source, landing: Landing) -> None:
    url = f"kafka://{kafka_or_skip().address}"
    through(source, landing, lambda: KafkaBroker(url, source.name))


@pytest.mark.parametrize("name", ["x" * 97, "line\nfeed", "ü" * 49])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="is no name of a table in the stores") as refused:
        table_choice(f"public.t={name}", ())
    assert refused.value.hint == "public.t=NAME gives it another one"
