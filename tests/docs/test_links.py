"""The pages refer to files and folders that exist, and README names the commands that do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
"""What looks like a link there is none, such as `Api[Parameters](name)`."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = CODE.sub("", page.read_text())
    missing = [target for target in LINK.findall(text) if not (page.parent / target).exists()]
    assert missing == []


def test_architecture_has_a_section_for_each_package() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    folders = sorted(path.name for path in (ROOT / "src/penstock").iterdir() if path.is_dir())
    assert [name for name in folders if f"{name}/" not in text and name != "__pycache__"] == []


def test_readme_names_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    pages = "".join((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))
    named = {first or second for first, second in re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", pages, re.MULTILINE)}
    assert {name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)} == set()
