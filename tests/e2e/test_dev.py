"""`penstock dev --throw-away` from the first plan to a live version, with a real server that is gone afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from unit.cli.terminal_command import TerminalCommand
from waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.mark.timeout(300)
def test_a_throw_away_server_from_its_start_to_its_end(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "penstock.cli", "init", "--project", str(tmp_path), str(tmp_path)], check=True
    )
    dev = TerminalCommand(tmp_path, "dev", "--throw-away")
    try:
        dev.wait_for("the first version (the throw-away server is starting)")
        folder = Path(dev.wait_for("talks to it", 150).rpartition("--project ")[2].split()[0])
        dev.wait_for("the first plan", 60)
        dev.press("d")
        dev.wait_for("is ready: p makes it live", 60)
        dev.press("p")
        dev.wait_for("which is live", 60)
        started = dev.children
        dev.press("\x03")
        assert dev.wait_for_end(60) == 130
        wait_until(lambda: not any(each.is_running() and each.status() != "zombie" for each in started))
        assert not folder.exists()
        assert not (tmp_path / ".penstock").exists()
    finally:
        dev.close()
