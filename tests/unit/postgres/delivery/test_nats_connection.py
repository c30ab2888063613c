"""What a connection to NATS leaves behind."""

from __future__ import annotations

import gc
import warnings

import pytest

from penstock.postgres.delivery.nats_broker import NatsConnection

pytest.importorskip("nats")


def test_a_connection_that_is_closed_leaves_no_event_loop_open() -> None:
    """Each has a selector and a pair of sockets."""
    connection = NatsConnection("nats://127.0.0.1:1")
    connection.close()
    connection.close()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        del connection
        gc.collect()
    assert [str(each.message) for each in found if "event loop" in str(each.message)] == []
