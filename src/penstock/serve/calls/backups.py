"""Backups over HTTP: everything of one moment, in a folder of the server's machine.

In: the folder. Out: what the backup has. Invariant: only calls with a token of the scope admin get here, since
the folder may be anywhere the server may write.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import all_parameters, required_parameter


def create_backup(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/backups?destination=/FOLDER`; answers when the backup is complete."""
    destination = required_parameter(all_parameters(request), "destination")
    made = host.pipeline.back_up(Path(destination))
    return json_response({"destination": destination, **asdict(made)}, 201)
