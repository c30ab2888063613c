"""docs/penstock.schema.json is what the server accepts as `penstock.toml`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from scripts.settings_schema import FILE, schema_text

from penstock.errors import Problem
from penstock.parse.settings import parse_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def test_the_schema_is_what_the_settings_say() -> None:
    assert FILE.read_text(encoding="utf-8") == schema_text(), "`python scripts/settings_schema.py` writes it anew"


def is_valid(text: str) -> bool:
    return jsonschema_rs.is_valid(SCHEMA, tomllib.loads(text))


def is_read(text: str) -> bool:
    problems: list[Problem] = []
    parse_settings(text, "penstock.toml", problems)
    return not [problem for problem in problems if problem.code != "unsafe-setting"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[server]\nport = 70000\n",
        "[server]\nport = 7000\n",
        '[server]\nport = "7000"\n',
        "[server]\nprot = 7000\n",
        "[serve]\n",
        'server = "x"\n',
        'dialect = "spark"\n',
        'dialect = "sparkle"\n',
        '[spark]\ndriver_memory = "2 GB"\n',
        '[spark]\ndriver_memory = "512m"\npackages = ["a:b:1"]\nconf.spark.ui.enabled = "true"\n',
        "[spark]\npackages = [1]\n",
        '[catalog]\ntype = "jdbc"\njdbc.user = "x"\n',
        "[catalog]\ntype = 1\n",
        '[deploy.strategy]\na = "forward"\n',
        '[deploy.strategy]\na = "backward"\n',
        "[flow]\nlive_steps = 1\n",
        '[state]\nurl = ""\n',
    ],
)
def test_the_schema_accepts_what_the_server_accepts(text: str) -> None:
    assert is_valid(text) == is_read(text)


def test_every_documented_setting_is_valid() -> None:
    page = (ROOT / "docs/datafiles.md").read_text(encoding="utf-8")
    written = page.split("```toml\n")[1].split("```")[0]
    assert is_valid(written)
    assert is_valid(re.sub(r"^# (?=\S+ = )", "", written, flags=re.MULTILINE))
    assert all(is_valid(path.read_text()) for path in ROOT.glob("src/penstock/examples/*/penstock.toml"))
