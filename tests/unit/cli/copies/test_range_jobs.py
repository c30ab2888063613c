"""`penstock copy run NAME --each …` over a server with jobs in memory: resumed, refused, and ended by a failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

Json = Callable[..., tuple[int, Any]]
SQL = (
    "    %\n    SELECT a FROM flights WHERE a > {{ Int32(site, 0) }}\n"
    "    AND {{ Date(start, '2024-01-01') }} < {{ Date(end, '2024-01-02') }}\n"
)
COPY = f"NODE n\nSQL >\n{SQL}TYPE copy\nTARGET_DATASOURCE kept\n"
RUN = ("copy", "run", "take", "--each", "day", "--from", "2024-05-01")


@pytest.fixture(autouse=True)
def _deployed(project: Path, pipeline: MemoryPipeline, penstock: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.commands.copies.range_jobs.PAUSE", 0.0)
    (project / "kept.datasource").write_text("SCHEMA >\n    a UInt8 `json:$.a`\n")
    (project / "take.pipe").write_text(COPY)
    (project / "put.pipe").write_text(COPY + "COPY_MODE replace\n")
    assert penstock("deploy")[0] == 0


def days(made: dict) -> list[tuple[str, str, bool]]:
    return [(each["from"][:10], each["status"], each["new"]) for each in made["ranges"]]


def test_a_second_command_goes_on_after_the_first(penstock_json: Json, pipeline: MemoryPipeline) -> None:
    code, made = penstock_json(*RUN, "--to", "2024-05-03", "--param", "site=3")
    assert (code, made["ok"], made["rows"]) == (0, True, 6)
    assert days(made) == [("2024-05-01", "done", True), ("2024-05-02", "done", True)]
    assert pipeline.ranges_of("take")[0].parameters == {"site": "3", "start": "2024-05-01", "end": "2024-05-02"}
    code, made = penstock_json(*RUN, "--to", "2024-05-04", "--param", "site=3")
    assert days(made) == [
        ("2024-05-01", "done", False),
        ("2024-05-02", "done", False),
        ("2024-05-03", "done", True),
    ]
    assert len(pipeline.ranges_of("take")) == 3
    assert penstock_json(*RUN, "--to", "2024-05-04", "--param", "site=4")[1]["rows"] == 9


def test_no_range_is_begun_after_one_that_failed(penstock_json: Json, penstock: Run, pipeline: MemoryPipeline) -> None:
    code, made = penstock_json(*RUN, "--to", "2024-05-06", "--param", "fails=1", "--jobs", "1")
    assert (code, made["ok"]) == (1, False)
    assert [status for _, status, _ in days(made)] == ["failed", *["not begun"] * 4]
    assert made["ranges"][0]["error"] == "no such row"
    code, out, _ = penstock(*RUN, "--to", "2024-05-06", "--param", "fails=1", "--jobs", "1")
    assert (code, "4 not begun: the same command goes on" in out) == (1, True)


def test_a_part_of_time_is_not_copied_under_two_ranges(penstock: Run, pipeline: MemoryPipeline) -> None:
    assert penstock(*RUN, "--to", "2024-05-03")[0] == 0
    month = ("copy", "run", "take", "--each", "month", "--from", "2024-05-01", "--to", "2024-06-01")
    code, _, err = penstock(*month)
    assert (code, "rows would be doubled" in err) == (1, True)
    assert penstock(*month, "--param", "site=9")[0] == 0
    assert penstock("copy", "run", "take", "--each", "month", "--from", "2024-06-01", "--to", "2024-07-01")[0] == 0


def test_a_name_that_is_no_copy_is_said(penstock: Run, pipeline: MemoryPipeline) -> None:
    code, _, err = penstock("copy", "run", "tak", "--each", "day", "--from", "2024-05-01", "--to", "2024-05-02")
    assert (code, "did you mean `take`?" in err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("put", "--each", "day", "--from", "2024-05-01", "--to", "2024-05-02"), "replace each other's rows"),
        (("take", "--each", "day", "--from", "2024-05-01"), "--each needs --from and --to"),
        (("take", "--each", "day", "--from", "2024-05-01", "--to", "2024-05-02", "--no-wait"), "and waits"),
        (("take", "--from", "2024-05-01"), "need --each"),
        (("take", *RUN[3:], "--to", "2024-05-02", "--param", "end=2024-05-09"), "`end` is what the ranges set"),
        (("take", "--each", "fortnight", "--from", "2024-05-01", "--to", "2024-05-02"), "fortnight"),
    ],
)
def test_wrong_usage(penstock: Run, pipeline: MemoryPipeline, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = penstock("copy", "run", *arguments)
    assert (code, message in err) == (2, True)
