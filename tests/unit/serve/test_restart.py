"""Spark ends under the server: no caller is refused a connection, and each gets an answer."""

from __future__ import annotations

import os
import socket
import threading

import pytest
from starlette.testclient import TestClient

from penstock.model.settings import ServerSettings, Settings
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.server.restart import wait_for_calls
from penstock.serve.server.server_socket import ServerSocket, open_listener

SETTINGS = Settings(server=ServerSettings(port=0))


def test_who_connects_during_a_restart_is_served_by_the_new_server() -> None:
    with open_listener("127.0.0.1", 0) as old:
        address, kept = old.getsockname(), os.dup(old.fileno())
    with socket.create_connection(address) as caller:  # the old server is gone, the new one does not listen yet
        caller.sendall(b"hello")
        with ServerSocket(None, kept).open(SETTINGS) as new:
            assert not new.get_inheritable()
            served, _ = new.accept()
            assert served.recv(5) == b"hello"
            served.close()


def test_a_server_that_has_to_wait_for_another_closes_the_socket() -> None:
    with open_listener("127.0.0.1", 0) as old:
        address, kept = old.getsockname(), os.dup(old.fileno())
    waited: list[str] = []
    mine = ServerSocket(address[1], kept)
    waiting = mine.closing_before(waited.append)
    assert waiting is not None
    waiting("owner")
    assert waited == ["owner"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    with mine.open(SETTINGS) as opened:
        assert opened.getsockname() == address
    assert mine.closing_before(None) is None


def test_queries_are_refused_and_rows_are_taken_while_spark_is_away(client: TestClient, host: PipelineHost) -> None:
    host.spark_ended()
    for path in ("/v0/sql?q=SELECT+1", "/v0/pipes/top.json"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["error"]) == (503, "Spark is being restarted")
        assert answer.headers["retry-after"]
    assert client.post("/v0/events?name=flights", content=b'{"a":1}').status_code == 202
    assert client.get("/health/ready").json()["reasons"] == ["the server is not ready: restarting Spark"]
    assert client.get("/health/live").status_code == 200


def test_running_calls_get_their_answer_before_the_restart(host: PipelineHost) -> None:
    assert host.running_calls() == 0
    running = [2]
    ended = threading.Timer(0.05, running.clear)
    ended.start()
    wait_for_calls(lambda: len(running), 60.0)
    assert running == []
    wait_for_calls(lambda: 1, 0.05)
