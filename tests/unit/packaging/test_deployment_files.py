"""Dockerfile, compose.yaml, the systemd unit and the CI examples, as far as they can be checked without containers.

What they name exists, and what they say fits together. compose.yaml and the CI examples were also checked with the
schemas of their formats, the Dockerfile with hadolint and the entrypoint with shellcheck.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.cli.main import COMMANDS
from penstock.errors import Problem
from penstock.parse.settings import parse_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
ACTIONS: dict[str, Any] = yaml.safe_load((PACKAGING / "ci" / "github-actions.yaml").read_text())
PIPELINE: dict[str, Any] = yaml.safe_load((PACKAGING / "ci" / "gitlab-ci.yaml").read_text())
ENTRYPOINT = PACKAGING / "docker" / "entrypoint.sh"


def test_the_image_is_built_of_files_that_are_there() -> None:
    copied = re.findall(r"^COPY (?:--chmod=\S+ |--chown=\S+ )*([^-\n].*) \S+$", DOCKERFILE, re.MULTILINE)
    sources = [name for line in copied for name in line.split()]
    assert "src" in sources
    assert "packaging/docker/entrypoint.sh" in sources
    assert [name for name in sources if not (ROOT / name).exists()] == []
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert [name for name in sources if not any(name == each or name.startswith(f"{each}/") for each in allowed)] == []


def test_the_image_runs_as_nobody_special_with_java_and_a_health_check() -> None:
    users = re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)
    assert users == ["10001"]
    assert "openjdk-17-jre-headless" in DOCKERFILE
    assert "/health/ready" in DOCKERFILE
    assert "VOLUME /project/.penstock" in DOCKERFILE
    requirement = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert requirement == ">=3.10"
    assert re.search(r"^ARG PYTHON=3\.1[0-9]$", DOCKERFILE, re.MULTILINE)


def test_services_name_what_compose_declares() -> None:
    services = COMPOSE["services"]
    secrets = {name for service in services.values() for name in service["secrets"]}
    mounts = [mount.split(":")[0] for service in services.values() for mount in service["volumes"]]
    assert secrets == set(COMPOSE["secrets"])
    assert {mount for mount in mounts if not mount.startswith(".")} == set(COMPOSE["volumes"])
    assert all((ROOT / mount).exists() for mount in mounts if mount.startswith("."))
    assert services["penstock"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert all(port.startswith("127.0.0.1:") for port in services["penstock"]["ports"])


@pytest.mark.parametrize("name", ["local.toml", "postgres.toml"])
def test_settings_of_containers_are_valid(name: str) -> None:
    problems: list[Problem] = []
    settings = parse_settings((PACKAGING / "docker" / name).read_text(), name, problems)
    assert problems == []
    assert settings.server.host == "0.0.0.0"
    if name == "postgres.toml":
        database = COMPOSE["services"]["postgres"]["environment"]
        user, base = database["POSTGRES_USER"], database["POSTGRES_DB"]
        assert settings.state.url == f"postgresql://{user}@postgres/{base}"
        assert (settings.catalog["uri"], settings.catalog["jdbc.user"]) == (f"jdbc:postgresql://postgres/{base}", user)


@pytest.mark.parametrize(
    ("variables", "written"),
    [
        ({"PENSTOCK_DATABASE_PASSWORD": "a:b\\c d"}, "*:*:*:*:a\\:b\\\\c d\n"),
        ({"PENSTOCK_DATABASE_PASSWORD_FILE": "password"}, "*:*:*:*:from a file\n"),
        ({}, None),
    ],
)
def test_the_entrypoint_keeps_the_password_to_itself(
    tmp_path: Path, variables: dict[str, str], written: str | None
) -> None:
    (tmp_path / "password").write_text("from a file\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **variables}
    command = [str(ENTRYPOINT), "sh", "-c", "echo ready ${PENSTOCK_DATABASE_PASSWORD:-}"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "ready\n"
    file = tmp_path / ".pgpass"
    assert (file.read_text() if file.exists() else None) == written
    if written is not None:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = (PACKAGING / "systemd" / "penstock.service").read_text()
    assert "ExecStart=/opt/penstock/bin/penstock up\n" in unit
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    (tmp_path / "penstock.service").write_text(unit.replace("/opt/penstock/bin/penstock", shutil.which("true") or ""))
    verify = ["systemd-analyze", "verify", str(tmp_path / "penstock.service")]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def scripts() -> list[str]:
    actions = [step["run"] for job in ACTIONS["jobs"].values() for step in job["steps"] if "run" in step]
    return [*actions, *(line for name in ("check", "deploy") for line in PIPELINE[name]["script"])]


def test_the_pipelines_run_commands_that_there_are() -> None:
    called = {found for line in scripts() for found in re.findall(r"penstock ([a-z]+)", line)}
    assert called == {"check", "fmt", "deploy"}
    assert called <= {command.name for command in COMMANDS}


def test_the_pipelines_install_no_package_of_the_same_name() -> None:
    """The public index has another package that is called penstock."""
    texts = [path.read_text() for path in (PACKAGING / "ci").iterdir()]
    assert all('pip install "$PENSTOCK_PACKAGE"' in text for text in texts)
    assert not any(re.search(r"pip install penstock|PENSTOCK_PACKAGE: penstock", text) for text in texts)
