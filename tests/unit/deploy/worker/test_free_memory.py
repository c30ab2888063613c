from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from penstock.deploy.worker import free_memory as module
from penstock.deploy.worker.free_memory import free_memory


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [
        ("memory.max", "memory.current", 300),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", 300),
        (None, None, 1000),
    ],
)
def test_a_container_has_less(
    limit: str | None, used: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CONTROL_GROUP", tmp_path)
    real = psutil.virtual_memory()
    monkeypatch.setattr(module.psutil, "virtual_memory", lambda: real._replace(available=1000))
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory.max").write_text("max\n")
    if limit is not None and used is not None:
        (tmp_path / limit).write_text("500\n")
        (tmp_path / used).write_text("200\n")
    assert free_memory() == expected
