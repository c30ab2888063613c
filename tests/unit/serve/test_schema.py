"""The application does what its OpenAPI document says, whatever is sent (schemathesis).

PENSTOCK_FUZZ_EXAMPLES: how many made-up requests a call gets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline

EXAMPLES = int(os.environ.get("PENSTOCK_FUZZ_EXAMPLES", "20"))
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


schemathesis.serializer.alias("application/x-ndjson", "text/plain")
HOST = PipelineHost()
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", create_app(HOST))


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}")
    tokens = ApiTokens(database)
    HOST.opened(MemoryPipeline(tokens))  # type: ignore[arg-type]
    yield {"Authorization": f"Bearer {tokens.create('fuzz', ('admin',))}"}
    database.close()


@SCHEMA.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_call(case: schemathesis.Case, admin: dict[str, str]) -> None:
    case.call_and_validate(headers=admin, checks=CHECKS)
