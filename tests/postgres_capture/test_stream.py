"""The replication stream of a real server: what is decoded, what is confirmed, and what is no message."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Failed, InvalidRequest, Unavailable
from penstock.postgres.capture.stream import replication
from penstock.postgres.capture.stream.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    MalformedMessage,
    Message,
    Relation,
    Truncate,
    TypeName,
    Update,
    decode_message,
)
from penstock.postgres.capture.stream.replication import ReplicationStream
from penstock.postgres.catalog.lsn import lsn_text, parse_lsn
from postgres_capture.conftest import Source
from waiting import wait_until


def opened(source: Source) -> ReplicationStream:
    capture = source.records.capture()
    return ReplicationStream(source.dsn, capture.slot, capture.publications)


def received(stream: ReplicationStream, is_last: Callable[[Message], bool]) -> list[Message]:
    """The messages up to the first of which `is_last` is true."""
    found: list[Message] = []

    def take() -> bool:
        message = stream.receive(0.05)
        if message is not None:
            found.append(message.message)
        return message is not None and is_last(message.message)

    wait_until(take, 60, lambda: str(found), 0)
    return found


def commits(count: int) -> Callable[[Message], bool]:
    """Whether a message is the so-many-th commit."""
    left = iter(range(count - 1, -1, -1))
    return lambda message: isinstance(message, Commit) and next(left) == 0


def is_mine(message: Message) -> bool:
    return isinstance(message, LogicalMessage) and message.prefix == "mine"


def test_every_message_of_a_server(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    payloads: list[bytes] = []

    def decode(payload: bytes) -> Message:
        payloads.append(payload)
        return decode_message(payload)

    monkeypatch.setattr(replication, "decode_message", decode)
    source.run("CREATE TYPE {s}.mood AS ENUM ('ok', 'bad')")
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, mood {s}.mood, large text)")
    source.run("ALTER TABLE {s}.t ALTER large SET STORAGE EXTERNAL")
    source.set_up("t")
    source.run("INSERT INTO {s}.t VALUES (1, 'ok', repeat('ä', 5000)), (2, NULL, '')")
    source.run("UPDATE {s}.t SET mood = 'bad' WHERE id = 1; UPDATE {s}.t SET id = 3 WHERE id = 2")
    source.run("DELETE FROM {s}.t WHERE id = 3")
    source.run("ALTER TABLE {s}.t REPLICA IDENTITY FULL; DELETE FROM {s}.t")
    source.run("TRUNCATE {s}.t")
    source.run("SELECT pg_logical_emit_message(true, 'mine', '\\000\\377'::bytea)")
    stream = opened(source)
    found = received(stream, is_mine)
    stream.close()
    rows = [each for each in found if isinstance(each, (Insert, Update, Delete, Truncate))]
    oid = next(each.oid for each in found if isinstance(each, Relation))
    assert rows[:6] == [
        Insert(oid, ("1", "ok", "ä" * 5000)),
        Insert(oid, ("2", None, "")),
        Update(oid, ("1", "bad", UNCHANGED)),
        Update(oid, ("3", None, ""), ("2", None, None), "K"),
        Delete(oid, ("3", None, None), "K"),
        Delete(oid, ("1", "bad", "ä" * 5000), "O"),
    ]
    assert rows[6:] == [Truncate((oid,))]
    assert {type(each) for each in found} >= {Begin, Commit, TypeName}
    relations = [each for each in found if isinstance(each, Relation)]
    assert [each.identity for each in relations][:1] == ["d"]
    assert [column.name for column in relations[0].columns if column.is_identity] == ["id"]
    mine = [each for each in found if isinstance(each, LogicalMessage) and each.prefix == "mine"]
    assert [(each.prefix, each.content) for each in mine] == [("mine", b"\0\xff")]
    for payload in payloads:
        for end in range(len(payload) if len(payload) < 400 else 60):
            with pytest.raises(MalformedMessage):
                decode_message(payload[:end])
        with pytest.raises(MalformedMessage):
            decode_message(payload + b"\0")


@given(st.binary(max_size=60), st.sampled_from([b"", *(bytes([each]) for each in b"BCRYIUDTMO")]))
def test_other_bytes_are_no_message(content: bytes, kind: bytes) -> None:
    try:
        decode_message(kind + content)
    except MalformedMessage:
        return


@given(st.integers(0, 2**64 - 1))
def test_lsns(number: int) -> None:
    assert parse_lsn(lsn_text(number)) == number


@pytest.mark.parametrize("text", ["", "1", "0/", "g/0", "0/123456789", "0/1 "])
def test_what_is_no_lsn(text: str) -> None:
    with pytest.raises(ValueError, match="is no LSN"):
        parse_lsn(text)


def test_only_what_was_confirmed_is_confirmed(source: Source) -> None:
    """Also while a transaction that began before others ended is being received: its changes are older than what was
    confirmed, and the server's keepalives name places behind what waits to be stored."""
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY)")
    source.set_up("t")
    early = source.postgres.connect()
    early.cursor().execute(f"INSERT INTO {source.schema}.t VALUES (1)")
    source.run("INSERT INTO {s}.t VALUES (2)")
    stream = opened(source)
    first = received(stream, commits(1))[-1]
    assert isinstance(first, Commit)
    source.run("INSERT INTO {s}.t VALUES (3)")
    received(stream, commits(1))
    early.commit()
    received(stream, commits(1))
    stream.confirm(first.end_lsn)
    stream.flush()
    for _ in range(5):
        stream.receive(0.05)
        stream.flush()
    stream.close()
    slot = f"SELECT active FROM pg_replication_slots WHERE slot_name = 'penstock_{source.name}'"
    wait_until(lambda: source.rows(slot) == [(False,)])
    again = opened(source)
    inserted = [each.new for each in received(again, commits(2)) if isinstance(each, Insert)]
    again.close()
    assert inserted == [("3",), ("1",)]
    early.close()


def test_a_slot_that_is_not_there_and_a_wrong_dsn(source: Source) -> None:
    with pytest.raises(Unavailable, match="opened the replication stream"):
        ReplicationStream(source.dsn, "no_slot", ("p",))
    with pytest.raises((InvalidRequest, Failed, Unavailable)) as refused:
        ReplicationStream("postgresql://a:geheim@127.0.0.1:1/x", "s", ("p",))
    assert "geheim" not in str(refused.value.as_json())
