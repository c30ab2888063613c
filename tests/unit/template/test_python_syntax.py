"""Threads that parse at the same time do not spoil each other's trees."""

from __future__ import annotations

import ast
import gc
import sys
import threading

from penstock.template.parser import parse_template

TEXT = "%\nSELECT {{ Int32(a, 1 + (2 * (3 - b))) if defined(b) else [c, [d, [e]]] }}"


MOST = 20


def test_another_thread_that_parses_in_between() -> None:
    """A collection of garbage while a tree is built lets it run, as finalizers of others do. It is waited for a short
    time: where one thread parses at a time, it cannot end."""
    others: list[threading.Thread] = []

    def let_another_parse(phase: str, info: dict[str, int]) -> None:
        if len(others) < MOST and sys._getframe(1).f_code is ast.parse.__code__:
            other = threading.Thread(target=parse_template, args=(TEXT,))
            others.append(other)
            other.start()
            other.join(0.05)

    before = gc.get_threshold()
    gc.callbacks.append(let_another_parse)
    gc.set_threshold(1)
    try:
        found = [parse_template(TEXT) for _ in range(20)]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(let_another_parse)
    for other in others:
        other.join(60)
    assert others or sys.version_info >= (3, 12), "later ones collect garbage between instructions only"
    assert [each.faults for each in found] == [()] * 20
