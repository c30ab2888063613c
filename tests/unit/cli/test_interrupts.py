"""Signals that end a command are KeyboardInterrupt inside the block, unless the command was started to ignore them."""

from __future__ import annotations

import signal

import pytest

from penstock.cli.interrupts import ENDING, interrupted_by_signals


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_is_an_interrupt(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), interrupted_by_signals():
        signal.raise_signal(number)
    assert signal.getsignal(number) == before


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupted_by_signals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
