from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unit.cli.conftest import Run


def test_rows_are_lines_of_json(penstock: Run, project: Path) -> None:
    code, out, err = penstock("mock", "flights", "--rows", "3", "--seed", "1")
    assert (code, err) == (0, "")
    assert [set(json.loads(line)) for line in out.splitlines()] == [{"a"}] * 3
    assert penstock("mock", "flights", "--rows", "3", "--seed", "1") == (0, out, "")
    assert penstock("mock", "flights", "--rows", "0") == (0, "", "")


def test_a_document_has_the_seed_that_gives_the_rows_again(
    penstock_json: Callable[..., tuple[int, Any]], project: Path
) -> None:
    code, made = penstock_json("mock", "flights", "--rows", "4")
    assert (code, made["datasource"], len(made["rows"])) == (0, "flights", 4)
    again = penstock_json("mock", "flights", "--rows", "4", "--seed", str(made["seed"]))
    assert again[1]["rows"] == made["rows"]


def test_a_wrong_name_and_a_wrong_time_are_said(penstock: Run, project: Path) -> None:
    code, _, err = penstock("mock", "flight")
    assert (code, "did you mean `flights`?" in err) == (1, True)
    code, _, err = penstock("mock", "flights", "--until", "soon")
    assert (code, "--until takes a time" in err) == (2, True)


def test_a_refusal_names_the_line(penstock: Run, project: Path) -> None:
    (project / "datasources/sums.datasource").write_text(
        "SCHEMA >\n    a UInt8 `json:$.a`,\n    s AggregateFunction(sum, Int64) `json:$.s`\n"
    )
    code, _, err = penstock("mock", "sums")
    assert code == 1
    assert "datasources/sums.datasource:3:5" in err
