"""`penstock dev` in a terminal, and without one: each save is planned, keys do what they say, and it ends cleanly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.api.project.source_project import SourceProject
from penstock.api.source_edits.file_changes import LIST_FILE
from penstock.cli.commands.dev.dev import DevLoop
from penstock.cli.commands.dev.dev_page import JsonPage
from penstock.cli.commands.dev.event_queue import EventQueue, PressedKey
from penstock.cli.commands.dev.folder_plan import FolderPlanner
from penstock.cli.commands.dev.temporary_server import TemporaryServer
from penstock.cli.commands.dev.terminal import BottomLine
from penstock.cli.interrupts import interrupted_by_signals
from penstock.model.deployment import Deployment
from python_projects import write_project
from unit.cli.conftest import SOURCE
from unit.cli.terminal_command import TerminalCommand
from unit.serve.memory import MemoryPipeline
from waiting import wait_until

READY = "q quit"
Start = Callable[..., TerminalCommand]


@pytest.fixture
def start(project: Path) -> Iterator[Start]:
    made: list[TerminalCommand] = []

    def begin(*arguments: str) -> TerminalCommand:
        made.append(TerminalCommand(project, "dev", *arguments))
        return made[-1]

    yield begin
    for each in made:
        each.close()


def flights(project: Path) -> Path:
    return project / "datasources" / "flights.datasource"


def test_each_save_is_planned_without_a_server(start: Start, project: Path) -> None:
    dev = start()
    assert "the first version (no server answers at http://127.0.0.1:7180)" in dev.wait_for(
        "the project has no problem"
    )
    dev.wait_for(READY)
    flights(project).write_text(SOURCE + "    , b String\n")
    dev.wait_for("datasources/flights.datasource: the plan against the version that loaded before")
    assert "flights" in dev.wait_for("rows moved")
    flights(project).write_text("SCHEMA >\n    a Strin\n")
    assert "problems" in dev.wait_for("datasources/flights.datasource:2:")
    dev.wait_for(READY)
    # The plan is against the version that loaded last, with `b`.
    flights(project).write_text(SOURCE + "    , b String\n")
    dev.wait_for("nothing changes")
    (project / "top.pipe").rename(project / "other.pipe")
    dev.wait_for("other.pipe, top.pipe: the plan")
    dev.wait_for(READY)
    (project / "other.pipe").unlink()
    dev.wait_for("other.pipe: the plan")
    dev.wait_for(READY)
    dev.press("d")
    dev.wait_for("`penstock dev --throw-away` one for as long as it runs")
    dev.press("q")
    assert dev.wait_for_end() == 0
    assert dev.modes == dev.before


def test_what_others_write_is_no_save(start: Start, project: Path) -> None:
    dev = start()
    dev.wait_for(READY)
    (project / ".penstock").mkdir()
    of_editors = (".top.pipe.swp", "top.pipe~", "4913", "#top.pipe#", "x.tmp")
    for name in (*of_editors, ".penstock/server.log", "a.pyc", "dev.out", "dev.json"):
        (project / name).write_text("x")
    (project / "__pycache__").mkdir()
    (project / "__pycache__/a.py").write_text("x")
    (project / "new").mkdir()
    (project / "new/deeper").mkdir()
    (project / "new/deeper/more.pipe").write_text("NODE n\nSQL >\n    SELECT a FROM flights\n")
    shown = dev.wait_for("the plan against the version that loaded before")
    assert "\n" in shown
    assert shown.count("new/deeper/more.pipe") == 1
    assert not any(name in shown for name in ("server.log", "swp", "top.pipe", "4913", "x.tmp", "a.py", "dev."))


def test_a_save_over_the_file_by_rename_is_one_plan(start: Start, project: Path) -> None:
    dev = start()
    dev.wait_for(READY)
    fresh = project / ".flights.datasource.new"
    fresh.write_text(SOURCE + "    , b String\n")
    fresh.replace(flights(project))
    dev.wait_for("datasources/flights.datasource: the plan")
    assert "in_place" in dev.wait_for("rows moved")


def test_keys_deploy_promote_and_discard(start: Start, project: Path, pipeline: MemoryPipeline) -> None:
    dev = start()
    dev.wait_for("the first plan")
    dev.wait_for(READY)
    dev.press("p")
    dev.wait_for("there is no deployment to promote")
    dev.press("d")
    dev.wait_for("deployment 1 is ready: p makes it live, x discards it")
    assert pipeline.find("1").state == "ready"
    flights(project).write_text(SOURCE + "    , b String\n")
    dev.wait_for("datasources/flights.datasource: the first plan")
    dev.press("d")
    dev.wait_for("deployment 2 is ready: p")
    assert pipeline.find("1").state == "discarded"
    dev.press("x")
    dev.wait_for("deployment 2 is discarded")
    dev.press("d")
    dev.wait_for("deployment 3 is ready: p")
    dev.press("p")
    dev.wait_for("deployment 3 is live")
    dev.wait_for("the plan against deployment 3, which is live")
    dev.press("\x1b[A")
    dev.press("zr")
    dev.wait_for("the plan against deployment 3, which is live")
    dev.press("\x04")
    assert dev.wait_for_end() == 0


def test_a_half_written_folder_is_not_deployed(start: Start, project: Path, pipeline: MemoryPipeline) -> None:
    dev = start()
    dev.wait_for(READY)
    (project / LIST_FILE).write_text("{}")
    dev.press("d")
    dev.wait_for("were begun and not finished")
    assert not pipeline.list_deployments()
    dev.press("q")
    assert dev.wait_for_end() == 0


def test_a_deployment_of_others_needs_the_key_twice(
    start: Start, project: Path, pipeline: MemoryPipeline, penstock: Callable[..., object]
) -> None:
    penstock("deploy", "--no-promote")
    dev = start()
    dev.wait_for(READY)
    dev.press("x")
    dev.wait_for("deployment 1 was not made here: the same key again will discard it")
    assert pipeline.find("1").state == "ready"
    dev.press("x")
    dev.wait_for("deployment 1 is discarded")


def test_a_save_while_a_deployment_is_made_is_planned_after_it(
    start: Start, project: Path, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, deploy = threading.Event(), pipeline.deploy

    def slowly(files: dict[str, str], options: object) -> Deployment:
        if not options.check:  # type: ignore[attr-defined]
            goes_on.wait(60)
        return deploy(files, options)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "deploy", slowly)
    dev = start()
    dev.wait_for(READY)
    dev.press("d")
    dev.wait_for("deploying to staging")
    dev.press("p")
    dev.wait_for("deploying to staging has not ended yet")
    flights(project).write_text(SOURCE + "    , b String\n")
    dev.wait_for("saved while deploying to staging: planned when that has ended")
    goes_on.set()
    dev.wait_for("deployment 1 is ready")
    dev.wait_for("datasources/flights.datasource: the first plan")
    dev.press("q")
    assert dev.wait_for_end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_while_a_project_is_read(number: int, start: Start, project: Path) -> None:
    dev = start()
    dev.wait_for(READY)
    write_project(project, "\nimport time\ntime.sleep(600)\n")
    wait_until(lambda: dev.children)
    (child,) = dev.children
    if number == signal.SIGINT:
        dev.press("\x03")
    else:
        dev.signal(number)
    assert dev.wait_for_end() == 130
    assert dev.modes == dev.before
    assert "Traceback" not in dev.shown
    wait_until(lambda: not child.is_running())


def test_an_interrupted_deployment_is_said(
    start: Start, project: Path, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = threading.Event()
    monkeypatch.setattr(pipeline, "events", lambda id: iter((gone.wait(60),)[:0]))
    dev = start()
    dev.wait_for(READY)
    dev.press("d")
    dev.wait_for("deploying to staging")
    wait_until(lambda: len(pipeline.list_deployments()) == 1)
    dev.press("\x03")
    assert dev.wait_for_end() == 130
    gone.set()
    assert "nobody watches any more: the server goes on with deploying to staging" in dev.shown
    assert dev.modes == dev.before


def test_an_ill_project_never_ends_it(start: Start, project: Path) -> None:
    dev = start()
    dev.wait_for(READY)
    for main, message in (
        ("\nimport os\nos._exit(3)\n", "ends Python"),
        ("\nraise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("\nx = (\n", "SyntaxError"),
    ):
        write_project(project, main)
        dev.wait_for(message)
        dev.wait_for(READY)
    settings = project / "penstock.toml"
    settings.write_text("[python]\nmax_seconds = 'x'\n")
    dev.wait_for("penstock.toml:2:")
    dev.wait_for(READY)
    settings.unlink()
    dev.wait_for("penstock.toml: problems")
    project.rename(project.with_name("away"))
    dev.wait_for("there is no")
    project.with_name("away").rename(project)
    (project / "app/main.py").unlink()
    dev.wait_for("the plan against")


class ChangingFolder(FolderPlanner):
    """A folder that is renamed while it is read."""

    def load(self) -> SourceProject:
        raise FileNotFoundError("top.pipe")


def test_a_fault_at_a_key_does_not_end_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queue, servers = EventQueue(), TemporaryServer(project, print)
    planner = ChangingFolder(project, servers, allow_destructive=False)
    for key in ("d", "q"):
        queue.put(PressedKey(key))
    DevLoop(queue, JsonPage(), BottomLine(is_shown=False), planner, servers).run()
    queue.close()
    _, told = map(json.loads, capsys.readouterr().out.splitlines())
    assert (told["event"], told["error"]) == ("error", "penstock made a mistake: FileNotFoundError: top.pipe")


def test_without_a_terminal_each_plan_is_a_line_of_json(project: Path) -> None:
    command = [sys.executable, "-m", "penstock.cli", "dev", "--output", "json"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as dev:
        assert dev.stdout is not None
        first = json.loads(dev.stdout.readline())
        assert (first["event"], first["against"], first["plan"]) == ("plan", "nothing", None)
        flights(project).write_text(SOURCE + "    , b String\n")
        second = json.loads(dev.stdout.readline())
        assert second["saved"] == ["datasources/flights.datasource"]
        assert [each["resource"] for each in second["plan"]["changes"]] == ["flights"]
        flights(project).write_text("SCHEMA >\n    a Strin\n")
        third = json.loads(dev.stdout.readline())
        assert (third["event"], third["problems"][0]["file"]) == ("problems", "datasources/flights.datasource")
        os.kill(dev.pid, signal.SIGTERM)
        out, err = dev.communicate(timeout=30)
        assert (dev.returncode, out, err) == (130, "", "")


def test_without_a_terminal_plans_are_text(project: Path) -> None:
    command = [sys.executable, "-m", "penstock.cli", "dev"]
    with subprocess.Popen(command, cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as dev:
        assert dev.stdout is not None
        lines = [dev.stdout.readline() for _ in range(3)]
        assert lines[2] == "the project has no problem\n"
        os.kill(dev.pid, signal.SIGINT)
        out, _ = dev.communicate(timeout=30)
        assert (dev.returncode, out) == (130, "")


def test_a_signal_that_reaches_another_thread_ends_the_wait() -> None:
    queue, waiting, ended = EventQueue(), threading.get_native_id(), threading.Event()
    unheard: list[str] = []

    def interrupt() -> None:
        status = Path(f"/proc/self/task/{waiting}/stat")
        wait_until(lambda: status.read_text().rsplit(")", 1)[1].split()[0] == "S")
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        if not ended.wait(30):
            unheard.append("the signal")
            queue.put(PressedKey("late"))

    other = threading.Thread(target=interrupt)

    def wait_for_event() -> None:
        other.start()
        queue.wait()

    with interrupted_by_signals(), pytest.raises(KeyboardInterrupt):
        wait_for_event()
    ended.set()
    other.join()
    queue.close()
    assert not unheard
