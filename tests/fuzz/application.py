"""The host of the fuzzed application: schemathesis wants the application before there is a pipeline."""

from __future__ import annotations

from penstock.serve.http.pipeline_host import PipelineHost

HOST = PipelineHost()
