from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

from penstock.errors import Conflict, InvalidProject
from penstock.serve.server.main import main
from penstock.serve.server.server_settings import load_settings
from penstock.serve.server.server_socket import open_listener


def test_a_wrong_penstock_toml_keeps_the_server_from_starting_and_wrong_datafiles_do_not(tmp_path: Path) -> None:
    (tmp_path / "wrong.datasource").write_text("SCHEMA")
    (tmp_path / "penstock.toml").write_text("[server]\nport = 7000\n")
    assert load_settings(tmp_path).server.port == 7000
    (tmp_path / "penstock.toml").write_text("[server]\nprot = 7000\n")
    with pytest.raises(InvalidProject) as caught:
        load_settings(tmp_path)
    assert [str(problem.location) for problem in caught.value.problems] == ["penstock.toml:2:1"]


def test_it_listens_on_loopback_unless_told(tmp_path: Path) -> None:
    server = load_settings(tmp_path).server
    with open_listener(server.host, 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    (tmp_path / "penstock.toml").write_text('[server]\nhost = "0.0.0.0"\n')
    assert load_settings(tmp_path).server.host == "0.0.0.0"


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(Conflict, match="cannot listen"):
            open_listener("127.0.0.1", taken.getsockname()[1])


def test_what_ends_the_start_is_one_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["main", "--project", str(tmp_path / "nowhere")])
    assert main() == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert json.loads(err)["code"] == "not-found"
