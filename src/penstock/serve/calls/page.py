"""The page for people: the endpoints of a version, their parameters, and a form that calls each.

In: nothing; the page asks the interface, with the token that its reader types. Out: HTML, a style sheet and a script.
Invariants: nothing is loaded from elsewhere, no other site can frame the page or send its forms, and no text of a
server or a user is read as HTML.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import NotFound
from penstock.serve.http.pipeline_host import PipelineHost

FOLDER = Path(__file__).resolve().parent.parent / "page"
MEDIA_TYPES = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def show_page(host: PipelineHost, request: Request) -> Response:
    """`GET /`."""
    return _file_response("index.html")


def show_page_file(host: PipelineHost, request: Request) -> Response:
    """`GET /page/{file}`: what the page loads. Raises NotFound."""
    name = request.path_params["file"]
    if name not in MEDIA_TYPES:
        raise NotFound(f"the page has no file `{name[:60]}`")
    return _file_response(name)


def _file_response(name: str) -> Response:
    return Response(_content(name), media_type=MEDIA_TYPES[name], headers=HEADERS)


@cache
def _content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()
