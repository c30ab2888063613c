"""What a user sees where Java is missing, or does not start Spark."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from penstock.lake.spark import java
from penstock.lake.spark.java import JavaMissing, find_java_home
from penstock.lake.spark.java_process import NICE, SparkStartFailure, StartingJava, java_configuration
from penstock.lake.spark.session import open_lake
from penstock.model.settings import Settings
from waiting import wait_until

JAVA = """#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}"' >&2; exit 0; fi
echo 'Invalid maximum heap size: -Xmx900g' >&2
exit 1
"""


@pytest.fixture
def only_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the only Java of this machine, which a test may make."""
    home = tmp_path / "jdk"
    monkeypatch.setattr(java, "FOLDERS", ())
    monkeypatch.setattr(java.shutil, "which", lambda name: None)
    monkeypatch.setenv("JAVA_HOME", str(home))
    return home


def make_java(home: Path, version: str) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(JAVA.replace("{version}", version))
    (home / "bin" / "java").chmod(0o755)


def make_java_that_says(home: Path, text: str) -> None:
    made = home / "bin" / "java.new"
    said = JAVA.replace("{version}", "17.0.1").replace("'Invalid maximum heap size: -Xmx900g'", f'"{text}"')
    made.write_text(said)
    made.chmod(0o755)
    made.replace(home / "bin" / "java")


def test_without_java_the_error_says_what_to_install(only_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME")
    with pytest.raises(JavaMissing, match="Spark needs Java 17 to 23; found none") as raised:
        find_java_home()
    assert "apt-get install openjdk-17" in str(raised.value.hint)


@pytest.mark.parametrize("version", [11, 24, 25])
def test_a_java_that_is_too_old_or_too_new_is_named(only_java: Path, version: int) -> None:
    make_java(only_java, f"{version}.0.2")
    with pytest.raises(JavaMissing, match=rf"found only .*jdk \(Java {version}\)"):
        find_java_home()


@pytest.mark.parametrize("version", ["17.0.1", "21", "23-ea"])
def test_the_java_of_java_home_is_taken(only_java: Path, version: str) -> None:
    make_java(only_java, version)
    assert find_java_home() == only_java


def test_a_java_that_ends_at_once_is_quoted(only_java: Path, tmp_path: Path) -> None:
    make_java(only_java, "17.0.1")
    with pytest.raises(SparkStartFailure, match="Invalid maximum heap size: -Xmx900g") as raised:
        open_lake(Settings(), tmp_path / "home")
    assert "spark.log in .penstock" in str(raised.value.hint)


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a nice value of its own on Linux only")
def test_java_leaves_the_processor_to_the_server(only_java: Path, tmp_path: Path) -> None:
    make_java(only_java, "17.0.1")
    make_java_that_says(only_java, "$(nice)")
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with pytest.raises(SparkStartFailure, match=f": {min(own + NICE, 19)}$"):
        open_lake(Settings(), tmp_path / "home")
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a nice value of its own on Linux only")
def test_java_starts_where_nobody_may_set_a_nice_value(
    only_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a container's rules for system calls may have it."""

    def refuse(increment: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "nice", refuse)
    make_java(only_java, "17.0.1")
    make_java_that_says(only_java, "$(nice)")
    with pytest.raises(SparkStartFailure, match=f": {os.getpriority(os.PRIO_PROCESS, 0)}$"):
        open_lake(Settings(), tmp_path / "home")


def test_the_reason_is_what_java_raised(tmp_path: Path) -> None:
    """Not what Java and the resolver of packages say before."""
    log = tmp_path / "spark.log"
    log.write_text(
        "of an earlier start\nWARNING: Using incubator modules: jdk.incubator.vector\n:: loading settings\n\n"
        'Exception in thread "main" java.lang.RuntimeException: unresolved dependency: a#b;1\n\tat a.B.c(B.java:1)\n'
    )
    failure = SparkStartFailure(log, len("of an earlier start\n"))
    assert str(failure).endswith(
        'started: Exception in thread "main" java.lang.RuntimeException: unresolved dependency: a#b;1'
    )
    log.write_text("WARNING: x\n\nInvalid maximum heap size: -Xmx900g\n")
    assert str(SparkStartFailure(log, 0)).endswith("Invalid maximum heap size: -Xmx900g")


def test_why_a_launched_java_failed_is_said_to_whoever_asks_for_it(only_java: Path, tmp_path: Path) -> None:
    make_java(only_java, "17.0.1")
    launch = StartingJava(Settings(), tmp_path)
    with pytest.raises(SparkStartFailure, match="Invalid maximum heap size: -Xmx900g"):
        launch.take_gateway()
    launch.end()


def test_a_launch_that_nobody_wants_any_more_is_not_waited_for(only_java: Path, tmp_path: Path) -> None:
    """Jars may have to be fetched first, and why a server does not start is to be said at once."""
    make_java(only_java, "17.0.1")
    program, reached, goes_on = only_java / "bin" / "java", tmp_path / "reached", tmp_path / "goes_on"
    waits = f"touch {reached}; until [ -e {goes_on} ]; do :; done\necho 'Invalid"
    program.write_text(program.read_text().replace("echo 'Invalid", waits))
    launch = StartingJava(Settings(), tmp_path)
    try:
        wait_until(reached.exists, 60)
        launch.end()
        assert not goes_on.exists(), "Java still starts"
    finally:
        goes_on.touch()
    make_java_that_says(only_java, "the second one")
    with pytest.raises(SparkStartFailure, match="the second one"):
        launch.take_gateway()


@pytest.mark.parametrize(
    ("catalog", "is_on_disk"),
    [
        ({}, True),
        ({"uri": "jdbc:postgresql://host/db"}, True),
        ({"warehouse": "/data/tables"}, True),
        ({"warehouse": "file:///data/tables"}, True),
        ({"warehouse": "s3://bucket/tables"}, False),
        ({"type": "rest", "uri": "https://host"}, False),
    ],
)
def test_manifests_are_read_in_threads_where_they_are_far_away(
    catalog: dict[str, str], is_on_disk: bool, tmp_path: Path
) -> None:
    options = java_configuration(Settings(catalog=catalog), tmp_path)["spark.driver.extraJavaOptions"]
    assert ("-Diceberg.scan.plan-in-worker-pool=false" in options) is is_on_disk
