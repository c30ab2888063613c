"""Which topics are read: those of live and of versions that are ready, each stream once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_broker import KafkaBroker, kafka_or_skip
from penstock.deploy.ingest.topics.topic_ingestion import TopicIngestion
from penstock.deploy.ingest.topics.topic_reading import TopicParts
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.running_deployments import RunningDeployments
from penstock.errors import NotFound
from penstock.flow.inbox.inbox import Inbox
from penstock.parse.project_loader import load_files
from penstock.plan.planner import PlanOptions, make_plan
from penstock.state.batches import BatchLog
from penstock.state.database import open_database
from penstock.state.logs.topic_reads import TopicReads
from penstock.state.positions.topic_positions import TopicPositions
from waiting import wait_until

SOURCE = "SCHEMA >\n    a UInt8 `json:$.a`\nKAFKA_CONNECTION_NAME k\nKAFKA_TOPIC {}\nKAFKA_GROUP_ID g\n"
EARLIEST = "KAFKA_AUTO_OFFSET_RESET earliest\n"
Parts = tuple[TopicIngestion, SimpleNamespace, BatchLog]


@pytest.fixture(scope="module")
def broker() -> KafkaBroker:
    return kafka_or_skip()


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """The ingestion, the board whose `running` a test sets, and the batch log."""
    database = open_database(f"sqlite:///{tmp_path}/state.db")
    batches = BatchLog(database)
    inbox = Inbox(tmp_path / "inbox", batches, lambda batch: None)
    board = SimpleNamespace(running=RunningDeployments())
    own = TopicParts(inbox, TopicPositions(database), TopicReads(database))
    made = TopicIngestion(board, ProjectCache(), own, {"TOPIC": "x"})  # type: ignore[arg-type]
    made.start()
    yield made, board, batches
    made.stop()
    inbox.close()
    database.close()


def version(id: int, state: str, files: dict[str, str]) -> SimpleNamespace:
    """A deployment of files, as its own first version would be."""
    plan = make_plan(None, load_files(files).project, PlanOptions("d1"))
    assert plan.manifest is not None
    return SimpleNamespace(id=id, state=state, files=files, manifest=plan.manifest)


def files(broker: KafkaBroker, topic: str, more: str = EARLIEST) -> dict[str, str]:
    connection = f"TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS {broker.address}\n"
    return {"k.connection": connection, "visits.datasource": SOURCE.format(topic) + more}


def show(board: SimpleNamespace, *deployments: SimpleNamespace) -> None:
    board.running = RunningDeployments(deployments)


def test_two_versions_share_the_batches_of_one_reading_and_live_says_how(broker: KafkaBroker, parts: Parts) -> None:
    ingestion, board, batches = parts
    topic, other = broker.make_topic(), broker.make_topic()
    broker.send(topic, ['{"a": 1}'] * 3)
    broker.send(other, ['{"a": 2}'] * 2)
    live = version(1, "live", files(broker, topic))
    show(board, version(2, "ready", files(broker, other)), live)
    wait_until(lambda: batches.rows_between("visits", 0, 99) == 3, 30, ingestion.statuses)
    [status] = ingestion.statuses()
    assert (status.datasource, status.topic, status.status.state) == ("visits", topic, "reading")
    show(board, version(2, "live", files(broker, other)), version(1, "previous", files(broker, topic)))
    wait_until(lambda: batches.rows_between("visits", 0, 99) == 5, 30, ingestion.statuses)
    show(board, live)
    broker.send(topic, ['{"a": 3}'])
    wait_until(lambda: batches.rows_between("visits", 0, 99) == 6, 30, ingestion.statuses)
    show(board)
    wait_until(lambda: ingestion.statuses() == (), 30, ingestion.statuses)


@pytest.mark.parametrize(
    ("topic", "connection", "said"),
    [
        ("t", "TYPE s3\n", "no connection `k` of TYPE kafka"),
        ('{{ tb_secret("NONE") }}', "TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS b:1\n", "the secret `NONE` has no value"),
        ("t", "TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS {{ x }}\n", "as a template"),
        (
            "t\nKAFKA_VALUE_FORMAT avro",
            "TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS b:1\n",
            "Avro needs KAFKA_SCHEMA_REGISTRY_URL",
        ),
    ],
)
def test_what_cannot_be_read_is_shown_with_the_reason(parts: Parts, topic: str, connection: str, said: str) -> None:
    ingestion, board, _ = parts
    show(board, version(1, "live", {"k.connection": connection, "visits.datasource": SOURCE.format(topic)}))
    wait_until(lambda: ingestion.statuses() != (), 30)
    [status] = ingestion.statuses()
    assert status.status.state == "waiting"
    assert said in str(status.status.reason)
    with pytest.raises(NotFound):
        ingestion.skip_missing("visits")
