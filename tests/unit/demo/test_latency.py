"""Percentiles of few samples."""

from __future__ import annotations

from penstock.demo.latency import percentile


def test_percentile() -> None:
    assert percentile([], 0.5) == 0.0
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([5.0, 1.0, 3.0, 2.0, 4.0], 0.5) == 3.0
    assert percentile([float(number) for number in range(100)], 0.95) == 95.0
