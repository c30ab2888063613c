from __future__ import annotations

import threading

from penstock.flow.telemetry.log_context import describe_log_context, log_context, log_context_pairs


def test_a_block_adds_to_those_around_it_and_ends() -> None:
    assert describe_log_context(log_context_pairs()) == ""
    with log_context(request="a1"):
        with log_context(deployment=4):
            assert describe_log_context(log_context_pairs()) == "[request=a1 deployment=4] "
            with log_context(deployment=5):
                assert describe_log_context(log_context_pairs()) == "[request=a1 deployment=5] "
        assert describe_log_context(log_context_pairs()) == "[request=a1] "
    assert describe_log_context(log_context_pairs()) == ""


def test_another_thread_does_not_see_it() -> None:
    found: list[str] = []
    with log_context(request="a1"):
        thread = threading.Thread(target=lambda: found.append(describe_log_context(log_context_pairs())))
        thread.start()
        thread.join()
    assert found == [""]
