"""A wheel built of this folder, and an environment in which it is installed: that of the tests has everything else.

Nothing is downloaded: the new environment finds the packages of the tests' own, but not the source that these run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class WheelEnvironment:
    """The wheel, and the programs of an environment that has it."""

    wheel: Path
    programs: Path

    def run(self, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a command as a user of this environment does."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["PATH"] = f"{self.programs}{os.pathsep}{environment['PATH']}"
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def build_wheel(folder: Path) -> Path:
    """Build a wheel into a folder."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path) -> WheelEnvironment:
    """An environment in a folder with a wheel of this source."""
    wheel = build_wheel(folder / "wheels")
    place = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    packages = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    Path(packages, "packages-of-the-tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return WheelEnvironment(wheel, place / "bin")
