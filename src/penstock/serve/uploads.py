"""A project that comes as a multipart body, one part a file.

In: the request of `POST /v1/deploy`. Out: text by relative path. Called by `deployments`. Invariant:
every part is a file of the answer or a problem of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import PurePosixPath, PureWindowsPath

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from penstock.errors import InvalidProject, InvalidRequest, Location, Problem
from penstock.parse.files import decode, normal_path
from penstock.serve.bodies import read_body

MOST_FILES = 10_000
LONGEST_PATH = 1000


async def uploaded_files(request: Request) -> dict[str, str]:
    """Raises InvalidRequest for a body that is not such a form, InvalidProject for a wrong file."""
    kind = request.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        raise InvalidRequest("the project is sent as multipart/form-data, one part a file")
    body = await read_body(request)
    try:
        form = await MultiPartParser(request.headers, _once(body), max_files=MOST_FILES, max_fields=MOST_FILES).parse()
    except (MultiPartException, ValueError) as error:
        raise InvalidRequest(f"the body is not multipart/form-data: {error}") from error
    return await _texts(form)


async def _once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def _texts(form: FormData) -> dict[str, str]:
    files: dict[str, str] = {}
    problems: list[Problem] = []
    for name, part in form.multi_items():
        if not isinstance(part, UploadFile) or not part.filename:
            message = f"the part `{name}` has no file name"
            problems.append(Problem("nameless-file", message, hint="filename=RELATIVE/PATH"))
            continue
        path = normal_path(part.filename)
        wrong = _misplaced(part.filename, path, files)
        if wrong:
            problems += wrong
            continue
        text = decode(await part.read(), path, problems)
        if text is not None:
            files[path] = text
    await form.close()
    if problems:
        raise InvalidProject("the upload has problems", problems)
    return files


def _misplaced(sent: str, path: str, files: dict[str, str]) -> list[Problem]:
    if len(sent) > LONGEST_PATH:
        shown = f"{path[:60]}…"
        return [Problem("path-too-long", f"`{shown}` has more than {LONGEST_PATH} characters", Location(shown))]
    if not sent.isprintable() or path in (".", ""):
        shown = ascii(sent)[1:-1]
        return [Problem("invalid-path", f"`{shown}` cannot be the name of a file", Location(shown))]
    if path.startswith("/") or ".." in PurePosixPath(path).parts or PureWindowsPath(path).drive:
        return [Problem("path-outside", f"`{path}` is not below the project's folder", Location(path))]
    if path in files:
        return [Problem("file-twice", f"`{path}` is sent twice", Location(path))]
    return []
