"""Which conditions of a deletion mean the same whenever a version evaluates them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from penstock.deploy.ingest.row_deletion import _compiled
from penstock.errors import InvalidQuery
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest
from penstock.parse.project_loader import load_files

NOW = datetime.now(timezone.utc)
LIVE = Deployment(1, "", "live", None, NOW, NOW, {}, {}, Manifest())
HITS = "SCHEMA >\n    `uuid` String,\n    `now` String,\n    `at` DateTime\nENGINE MergeTree\n"
[SOURCE] = load_files({"hits.datasource": HITS}).project.datasources


@pytest.mark.parametrize("where", ["uuid = 'a'", "now = 'rand'", "uuid IN ('now', 'shuffle()')"])
def test_names_and_texts_are_no_functions(where: str) -> None:
    assert _compiled(LIVE, SOURCE, where)


@pytest.mark.parametrize("where", ["at < now()", "at < today()", "rand() = 1"])
def test_the_clock_and_random_numbers_are_refused(where: str) -> None:
    with pytest.raises(InvalidQuery, match="depends on when"):
        _compiled(LIVE, SOURCE, where)
