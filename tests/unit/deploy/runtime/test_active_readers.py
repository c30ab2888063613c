from __future__ import annotations

import threading

import pytest

from penstock.deploy.runtime.active_readers import ActiveReaders


def test_a_deployment_is_read_until_its_last_reader_is_gone() -> None:
    idle: list[int] = []
    readers = ActiveReaders(idle.append)
    with readers.reading(1):
        with readers.reading(1), readers.reading(2):
            assert readers.read == {1, 2}
        assert readers.read == {1}
        assert idle == [2]
    assert readers.read == frozenset()
    assert idle == [2, 1]


def test_a_reader_that_fails_is_gone_too() -> None:
    idle: list[int] = []
    readers = ActiveReaders(idle.append)
    with pytest.raises(ZeroDivisionError), readers.reading(1):
        raise ZeroDivisionError
    assert readers.read == frozenset()
    assert idle == [1]


def test_many_at_once() -> None:
    idle: list[int] = []
    readers = ActiveReaders(idle.append)

    def read() -> None:
        for _ in range(200):
            with readers.reading(1):
                assert 1 in readers.read

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert readers.read == frozenset()
    assert idle


def test_the_oldest_query_is_known_while_it_runs() -> None:
    readers = ActiveReaders(lambda id: None)
    assert readers.oldest is None
    with readers.reading(1):
        first = readers.oldest
        with readers.reading(2):
            assert readers.oldest == first
        assert readers.oldest == first
    assert readers.oldest is None
