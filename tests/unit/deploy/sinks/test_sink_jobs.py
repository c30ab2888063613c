"""Sinks on a disk, in a bucket and in a topic: what a run writes, also where a crash cuts it off."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from kafka_broker import KafkaBroker, kafka_or_skip
from penstock import crash_points
from penstock.crash_points import Crashed
from penstock.deploy.sinks.sink_jobs import SinkContext, SinkJobs
from penstock.errors import Forbidden, InvalidRequest, NotFound, StorageFull
from penstock.lake.read.packed_rows import PackedRows
from penstock.lake.read.query_execution import QueryResult
from penstock.model.external_tables import NamedConnection
from penstock.model.pipe import Exported, FileTarget, TopicTarget
from penstock.model.settings import CopySettings, Settings, SinkSettings
from penstock.model.types import Date, Int, Nullable, String, Type
from penstock.parse.project_loader import load_files
from penstock.state.database import open_database
from penstock.state.jobs import Job, Jobs
from penstock.template.render_frame import Parameter
from waiting import wait_until

moto_server = pytest.importorskip("moto.server")
COLUMNS: tuple[tuple[str, Type], ...] = (("id", Int(64)), ("country", Nullable(String())), ("day", Date()))
SINK = "NODE n\nSQL >\n    SELECT 1 AS id\nTYPE sink\n"


def rows() -> list[tuple[object, ...]]:
    days = [date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1)]
    return [(at, ["DE", "a/../b", None][at % 3], days[at % 3]) for at in range(6)]


class MemoryReader:
    """Answers with rows that a test gives."""

    def __init__(self, kind: Exported):
        self.kind, self.rows, self.reads = kind, rows(), 0
        self.asked: list[str] = []
        """The versions whose rows were read."""

    def check_sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[object, Exported]:
        return SimpleNamespace(id=8 if ref == "staging" else 7), self.kind

    def check_sink_parameters(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> None:
        if "msot" in parameters:
            raise InvalidRequest(f"`{name}` has no parameter `msot`")

    def sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[object, QueryResult]:
        self.reads += 1
        self.asked.append(ref)
        packed = PackedRows()
        for row in self.rows:
            packed.append(row)
        return SimpleNamespace(id=7), QueryResult(COLUMNS, packed, 0.1, 1, 1)


def sink(text: str) -> Exported:
    """The kind of a sink with these directives."""
    pipe = load_files({"s.pipe": SINK + text}).project.pipe("s")
    assert pipe is not None
    assert pipe.exported is not None
    assert isinstance(pipe.exported.kind, Exported)
    return pipe.exported.kind


class Server:
    """The sinks of a server in a folder, which another run of it finds again."""

    def __init__(self, folder: Path, kind: Exported, connection: NamedConnection, settings: Settings):
        self.database = open_database(f"sqlite:///{folder}/state.db")
        self.jobs, self.reader = Jobs(self.database), MemoryReader(kind)
        own = replace(settings, inbox=replace(settings.inbox, min_free_bytes=1))
        connections = {connection.name: connection}
        (folder / ".sinks").mkdir(exist_ok=True)
        self.sinks = SinkJobs(
            SinkContext(
                self.jobs, self.reader, lambda _: connections, {"KEY": "k", "SECRET": "s3cret"}, own, folder / ".sinks",
                lambda: f"test-{folder.name}", 1,
            )
        )  # fmt: skip

    def run(self) -> Job:
        job = self.sinks.run("s", {})
        self.sinks.run_once()
        return self.jobs.get(job.id)


@contextmanager
def server(folder: Path, kind: Exported, connection: NamedConnection, **settings: object) -> Iterator[Server]:
    made = Server(folder, kind, connection, replace(Settings(), **settings))  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.database.close()


DISK = NamedConnection("disk", "file")


def on_disk(out: Path, text: str) -> Exported:
    return sink(f"EXPORT_CONNECTION_NAME disk\nEXPORT_BUCKET_URI {out.as_uri()}\n{text}")


def allowed(out: Path) -> SinkSettings:
    return SinkSettings((str(out),))


def tree(folder: Path) -> dict[str, str]:
    return {str(each.relative_to(folder)): each.read_text() for each in sorted(folder.rglob("*")) if each.is_file()}


def test_files_of_a_sink_by_columns_and_times(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT ndjson\nEXPORT_FILE_TEMPLATE \"{country}/{day, '%Y-%m'}\"\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        done = running.run()
        assert (done.state, done.rows, done.deployment) == ("done", 6, 7)
        assert done.datasource == f"{out.as_uri()}/{{country}}/{{day, '%Y-%m'}}"
        assert list((tmp_path / ".sinks").iterdir()) == []
    found = tree(out)
    assert sorted(found) == ["DE/2026-01.ndjson", "NULL/2026-02.ndjson", "a%2F..%2Fb/2026-01.ndjson"]
    assert found["DE/2026-01.ndjson"] == (
        '{"id":0,"country":"DE","day":"2026-01-01"}\n{"id":3,"country":"DE","day":"2026-01-01"}\n'
    )


def test_formats_and_compressions(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text in ("csv\nEXPORT_COMPRESSION gz", "parquet\nEXPORT_COMPRESSION zstd", "csv"):
        kind = on_disk(out, f"EXPORT_FORMAT {text}\nEXPORT_FILE_TEMPLATE all\nEXPORT_STRATEGY @truncate\n")
        with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
            assert running.run().state == "done"
    plain = (out / "all.csv").read_bytes()
    assert plain.splitlines()[:2] == [b'"id","country","day"', b'0,"DE","2026-01-01"']
    assert gzip.decompress((out / "all.csv.gz").read_bytes()) == plain
    table = pq.read_table(io.BytesIO((out / "all.parquet").read_bytes()))
    assert table.column("id").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert table.column("country").to_pylist()[2] is None


def test_a_run_without_rows_writes_a_file_only_where_no_column_names_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for template in ("all", "{country}"):
        kind = on_disk(out, f"EXPORT_FORMAT ndjson\nEXPORT_FILE_TEMPLATE {template}\n")
        with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
            running.reader.rows = []
            assert running.run().state == "done"
    assert tree(out) == {"all.ndjson": ""}


def test_new_keeps_the_files_of_earlier_runs_and_truncate_replaces_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT ndjson\nEXPORT_FILE_TEMPLATE part_{2}\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        assert running.run().state == "done"
        first = tree(out)
        assert sorted(first) == ["part_0.ndjson", "part_1.ndjson"]
        running.reader.rows = rows()[:1]
        assert running.run().state == "done"
    assert {name: text for name, text in tree(out).items() if name in first} == first
    assert len(tree(out)) == 3
    truncating = replace(kind, target=replace(kind.target, strategy="truncate"))  # type: ignore[type-var]
    with server(tmp_path, truncating, DISK, sinks=allowed(out)) as running:
        running.reader.rows = rows()[:1]
        assert running.run().state == "done"
    assert tree(out)["part_0.ndjson"].count("\n") == 1


@pytest.mark.parametrize("strategy", ["@new", "@truncate"])
@pytest.mark.parametrize(("point", "at"), [("sink.spooled", 1), ("sink.published", 1), ("sink.published", 3)])
def test_a_run_that_a_crash_cuts_off_is_finished_with_the_same_files(
    tmp_path: Path, point: str, at: int, strategy: str
) -> None:
    out = tmp_path / "out"
    kind = on_disk(out, f"EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE {{country}}\nEXPORT_STRATEGY {strategy}\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        job = running.sinks.run("s", {})
        crash_points.arm(point, at, lambda: None)
        try:
            with pytest.raises(Crashed):
                running.sinks.run_once()
        finally:
            crash_points.disarm()
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        running.reader.rows = [] if point == "sink.published" else rows()
        running.sinks.run_once()
        done = running.jobs.get(job.id)
        assert (done.state, done.rows) == ("done", 6)
        assert running.reader.reads == (0 if point == "sink.published" else 1)
    assert sorted(tree(out)) == ["DE.csv", "NULL.csv", "a%2F..%2Fb.csv"]
    assert sum(text.count("\n") - 1 for text in tree(out).values()) == 6


@pytest.mark.parametrize("ending", ["cancelled", "removed"])
def test_nothing_half_written_is_left_of_a_run_that_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """The server is killed while it writes a file; before another one goes on, the run is cancelled, or its sink is
    removed by a deployment."""
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE in/{country}\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        job = running.sinks.run("s", {})
        crash_points.arm("sink.published", 1, lambda: None)
        try:
            with pytest.raises(Crashed):
                running.sinks.run_once()
        finally:
            crash_points.disarm()
        (out / "in" / f".penstock-{job.id}-1.part").write_text("id,cou")  # what a kill leaves
        if ending == "cancelled":
            running.jobs.move(job.id, ("appending",), "cancelled")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        if ending == "removed":
            monkeypatch.setattr(running.reader, "check_sink", Mock(side_effect=NotFound("there is no sink `s`")))
        running.sinks.start()
        try:
            wait_until(lambda: not list((tmp_path / ".sinks").iterdir()), 60)
        finally:
            running.sinks.stop()
        assert running.jobs.get(job.id).state == ("cancelled" if ending == "cancelled" else "failed")
    assert sorted(tree(out)) == ["in/DE.csv"]


def test_only_folders_of_the_settings_are_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE inside/all\n")
    with server(tmp_path, kind, DISK) as running, pytest.raises(Forbidden):
        running.run()
    (out / "inside").symlink_to(tmp_path)
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        done = running.run()
        assert (done.state, (done.error or {}).get("code")) == ("failed", "forbidden")
    assert not (tmp_path / "all.csv").exists()


@pytest.mark.parametrize(
    ("template", "said"),
    [("{nation}", "nation"), ("{country, '%Y'}", "no date and no time"), ("{id}", "more than 3 files")],
)
def test_a_template_that_does_not_fit_the_rows(
    tmp_path: Path, template: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.deploy.sinks.sink_files.MOST_FILES", 3)
    out = tmp_path / "out"
    kind = on_disk(out, f'EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE "{template}"\n')
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        done = running.run()
    assert done.state == "failed"
    assert said in json.dumps(done.error)
    assert tree(tmp_path / "out") == {} if out.exists() else True


def test_a_run_with_a_parameter_that_the_sink_does_not_read_is_no_job(tmp_path: Path) -> None:
    kind = on_disk(tmp_path / "out", "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE all\n")
    with server(tmp_path, kind, DISK, sinks=allowed(tmp_path / "out")) as running:
        with pytest.raises(InvalidRequest, match="no parameter `msot`"):
            running.sinks.run("s", {"msot": "1"})
        assert running.jobs.recent(1) == ()


def test_a_run_writes_the_version_that_was_named_when_it_was_asked_for(tmp_path: Path) -> None:
    """The number of the version is kept: a later candidate is another one."""
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE all\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        named = running.sinks.run("s", {"most": "1"}, "staging")
        usual = running.sinks.run("s", {"most": "1"})
        running.sinks.run_once()
        assert running.reader.asked == ["8", "live"]
        assert running.jobs.get(named.id).parameters == {"most": "1", "deployment": "8"}
        assert running.jobs.get(usual.id).parameters == {"most": "1"}


def test_a_sink_that_is_changed_in_the_middle_of_a_run_ends_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE {country}\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        job = running.sinks.run("s", {})
        crash_points.arm("sink.published", 1, lambda: None)
        try:
            with pytest.raises(Crashed):
                running.sinks.run_once()
        finally:
            crash_points.disarm()
    changed = on_disk(out / "else", "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE {country}\n")
    with server(tmp_path, changed, DISK, sinks=allowed(out)) as running:
        running.sinks.run_once()
        done = running.jobs.get(job.id)
    assert (done.state, "changed to write elsewhere" in json.dumps(done.error)) == ("failed", True)
    assert sorted(tree(out)) == ["DE.csv"]


def test_rows_of_a_version_that_is_promoted_meanwhile_go_to_its_own_place(tmp_path: Path) -> None:
    """The place is looked up before the rows are read, and another version may be live by then."""
    out = tmp_path / "out"
    before, after = (on_disk(out / each, "EXPORT_FILE_TEMPLATE all\n") for each in ("before", "after"))

    class Promoting(MemoryReader):
        def check_sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[object, Exported]:
            return SimpleNamespace(id=8 if self.reads else 7), self.kind

        def sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[object, QueryResult]:
            self.kind = after
            return SimpleNamespace(id=8), super().sink(name, parameters, ref)[1]

    with server(tmp_path, before, DISK, sinks=allowed(out)) as running:
        running.sinks._context = replace(running.sinks._context, reader=Promoting(before))
        done = running.run()
        assert (done.state, done.deployment) == ("done", 8)
    assert [each.partition("/")[0] for each in tree(out)] == ["after"]


def test_a_name_that_the_disk_does_not_take_fails_the_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE {country}\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        running.reader.rows = [(1, "x" * 300, date(2026, 1, 1))]
        assert running.run().state == "failed"


def test_a_sink_without_a_connection_is_refused_when_it_is_called(tmp_path: Path) -> None:
    kind = on_disk(tmp_path, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE all\n")
    with (
        server(tmp_path, kind, replace(DISK, name="other"), sinks=allowed(tmp_path)) as running,
        pytest.raises(InvalidRequest),
    ):
        running.run()


@pytest.fixture(scope="module")
def bucket() -> Iterator[tuple[str, int]]:
    """The address of an S3 server, with the bucket `exports`."""
    boto3 = pytest.importorskip("boto3")
    own = moto_server.ThreadedMotoServer(port=0, verbose=False)
    own.start()
    _, port = own.get_host_and_port()
    client = boto3.client(
        "s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
        aws_access_key_id="k", aws_secret_access_key="s3cret",
    )  # fmt: skip
    client.create_bucket(Bucket="exports")
    yield client, port
    own.stop()


def test_objects_of_a_bucket(tmp_path: Path, bucket: tuple[object, int]) -> None:
    client, port = bucket
    options = (
        ("S3_ENDPOINT", f"http://127.0.0.1:{port}"),
        ("S3_ACCESS_KEY", '{{ tb_secret("KEY") }}'),
        ("S3_SECRET", '{{ tb_secret("SECRET") }}'),
    )
    kind = sink(
        "EXPORT_CONNECTION_NAME s3\nEXPORT_BUCKET_URI s3://exports/daily\nEXPORT_FORMAT csv\n"
        "EXPORT_FILE_TEMPLATE {country}\n"
    )
    copies = CopySettings(private_hosts=(f"127.0.0.1:{port}",))

    def objects() -> dict[str, int]:
        found = client.list_objects_v2(Bucket="exports").get("Contents", [])  # type: ignore[attr-defined]
        return {each["Key"]: each["Size"] for each in found}

    connection = NamedConnection("s3", "s3", options)
    with server(tmp_path, kind, connection, copies=copies) as running:
        job = running.sinks.run("s", {})
        crash_points.arm("sink.published", 2, lambda: None)
        try:
            with pytest.raises(Crashed):
                running.sinks.run_once()
        finally:
            crash_points.disarm()
    with server(tmp_path, kind, connection, copies=copies) as running:
        running.sinks.run_once()
        assert running.jobs.get(job.id).state == "done"
        first = objects()
        assert sorted(first) == ["daily/DE.csv", "daily/NULL.csv", "daily/a%2F..%2Fb.csv"]
        assert running.run().state == "done"
        assert len(objects()) == 6
        assert objects().items() >= first.items()
    missing = replace(kind, target=replace(kind.target, place="s3://nowhere"))  # type: ignore[type-var]
    with server(tmp_path, missing, connection, copies=copies) as running:
        done = running.run()
        assert (done.state, "s3cret" in json.dumps(done.error)) == ("failed", False)


def topic_sink(broker: KafkaBroker, topic: str) -> tuple[Exported, NamedConnection]:
    connection = NamedConnection("k", "kafka", (("KAFKA_BOOTSTRAP_SERVERS", broker.address),))
    kind = sink(f"EXPORT_CONNECTION_NAME k\nEXPORT_KAFKA_TOPIC {topic}\n")
    assert kind.target == TopicTarget(topic)
    return kind, connection


@pytest.mark.parametrize("point", ["sink.produced", "sink.committed"])
def test_a_topic_gets_the_rows_of_a_run_once_whatever_ends_the_server(tmp_path: Path, point: str) -> None:
    broker = kafka_or_skip()
    topic = broker.make_topic(partitions=2)
    kind, connection = topic_sink(broker, topic)
    with server(tmp_path, kind, connection) as running:
        job = running.sinks.run("s", {})
        crash_points.arm(point, 1, lambda: None)
        try:
            wait_until(lambda: crashes(running))
        finally:
            crash_points.disarm()
    with server(tmp_path, kind, connection) as running:
        wait_until(lambda: goes_on(running, job))
        assert running.jobs.get(job.id).state == "done"
        values = [json.loads(value or b"") for _, value in broker.read(topic, 6)]
        assert sorted(each["id"] for each in values) == [0, 1, 2, 3, 4, 5]
        again = running.sinks.run("s", {})
        wait_until(lambda: goes_on(running, again))
        assert len(broker.read(topic, 12)) == 12


def crashes(running: Server) -> bool:
    """Whether the armed crash came; a coordinator of a new group may not be ready yet."""
    running.sinks._held.clear()
    try:
        running.sinks.run_once()
    except Crashed:
        return True
    return False


def goes_on(running: Server, job: Job) -> bool:
    running.sinks._held.clear()
    running.sinks.run_once()
    return not running.jobs.get(job.id).is_open


def test_a_sink_waits_for_a_broker_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.deploy.sinks.topic_writer.SECONDS", 2.0)
    broker = kafka_or_skip()
    topic = broker.make_topic()
    kind, connection = topic_sink(broker, topic)
    with server(tmp_path, kind, connection) as running:
        broker.kill()
        job = running.run()
        assert job.is_open
        assert "cannot be written" in json.dumps(job.error)
        broker.start()
        wait_until(lambda: goes_on(running, job))
        assert running.jobs.get(job.id).state == "done"
        assert len(broker.read(topic, 6)) == 6


def hold_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that could not go on is not tried again by itself."""
    for each in ("FIRST_WAIT", "LONGEST_WAIT"):
        monkeypatch.setattr(f"penstock.deploy.sinks.sink_jobs.{each}", 3600.0)


def test_a_run_for_a_topic_waits_behind_an_earlier_one_that_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later one would take the number of the earlier, whose rows would then seem to be written."""
    hold_long(monkeypatch)
    broker = kafka_or_skip()
    topic = broker.make_topic()
    kind, connection = topic_sink(broker, topic)
    with server(tmp_path, kind, connection) as running:
        first = running.sinks.run("s", {})
        crash_points.arm("sink.produced", 1, lambda: None)
        try:
            wait_until(lambda: crashes(running))
        finally:
            crash_points.disarm()
    with server(tmp_path, kind, connection) as running:
        with monkeypatch.context() as patch:
            patch.setattr("penstock.deploy.sinks.topic_writer.SECONDS", 2.0)
            broker.kill()
            running.sinks.run_once()
        assert running.jobs.get(first.id).state == "appending"
        running.reader.rows = [(100, "DE", date(2026, 1, 1))]
        second = running.sinks.run("s", {})
        broker.start()
        running.sinks.run_once()
        assert [running.jobs.get(each.id).is_open for each in (first, second)] == [True, True]
        wait_until(lambda: goes_on(running, first) and goes_on(running, second))
        values = [json.loads(value or b"")["id"] for _, value in broker.read(topic, 7)]
        assert values == [0, 1, 2, 3, 4, 5, 100]


def test_a_run_waits_behind_one_that_writes_to_the_same_place_and_no_other_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its older rows would take the place of the newer ones. A run that is cancelled holds nothing up, and leaves
    nothing."""
    hold_long(monkeypatch)
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE all\nEXPORT_STRATEGY @truncate\n")
    other = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE other\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        first = running.sinks.run("s", {})
        monkeypatch.setattr(running.reader, "sink", full_disk)
        running.sinks.run_once()
        monkeypatch.undo()
        hold_long(monkeypatch)
        assert running.jobs.get(first.id).is_open
        (tmp_path / ".sinks" / str(first.id)).mkdir(exist_ok=True)
        second, named_otherwise = running.sinks.run("s", {}), running.sinks.run("t", {})
        running.reader.kind = other
        third = running.sinks.run("u", {})
        running.sinks.run_once()
        states = [running.jobs.get(each.id).state for each in (second, named_otherwise, third)]
        assert states == ["waiting", "waiting", "done"]
        running.jobs.move(first.id, ("reading",), "cancelled")
        running.sinks.run_once()
        states = [running.jobs.get(each.id).state for each in (second, named_otherwise)]
        assert states == ["done", "done"]
        assert list((tmp_path / ".sinks").iterdir()) == []


def full_disk(*asked: object) -> object:
    raise StorageFull("the disk of the inbox has too little room for the rows of a sink")


def test_a_disk_of_the_network_that_is_away_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE {country}\n")
    link, calls = os.link, list[int]()

    def stale(source: str, target: str) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        link(source, target)

    monkeypatch.setattr(os, "link", stale)
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        waits = running.run()
        assert waits.state == "appending"
        assert "Stale file handle" in json.dumps(waits.error)
        assert goes_on(running, waits)
        assert running.jobs.get(waits.id).state == "done"
    assert sorted(tree(out)) == ["DE.csv", "NULL.csv", "a%2F..%2Fb.csv"]


def test_how_long_a_message_may_be_is_said_by_the_brokers(tmp_path: Path) -> None:
    broker = kafka_or_skip()
    for most, state in ((5_000_000, "done"), (1_000_000, "failed")):
        topic = broker.make_topic(config={"max.message.bytes": str(most)})
        kind, connection = topic_sink(broker, topic)
        folder = tmp_path / state
        folder.mkdir()
        with server(folder, kind, connection) as running:
            running.reader.rows = [(1, random.Random(1).randbytes(1_500_000).hex(), date(2026, 1, 1))]
            job = running.sinks.run("s", {})
            wait_until(lambda: goes_on(running, job))  # noqa: B023
            assert running.jobs.get(job.id).state == state, running.jobs.get(job.id).error


def test_a_run_is_recorded_with_its_bytes_and_who_asked_for_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kind = on_disk(out, "EXPORT_FORMAT csv\nEXPORT_FILE_TEMPLATE {country}\nEXPORT_COMPRESSION gzip\n")
    with server(tmp_path, kind, DISK, sinks=allowed(out)) as running:
        job = running.sinks.run("s", {}, token="nightly")
        running.sinks.run_once()
        done = running.jobs.get(job.id)
        assert (done.state, done.token) == ("done", "nightly")
        assert done.written_bytes == sum(each.stat().st_size for each in out.iterdir())


def test_a_file_target_is_what_the_directives_say() -> None:
    kind = sink("EXPORT_CONNECTION_NAME 'x'\nEXPORT_BUCKET_URI s3://b/p\nEXPORT_FILE_TEMPLATE a_{day}\n")
    assert kind.connection == "x"
    assert kind.target == FileTarget("s3://b/p", "a_{day}", "csv", "none", "new")
