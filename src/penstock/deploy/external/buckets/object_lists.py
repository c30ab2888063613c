"""Objects, and answers of the servers that have them, whatever protocol they speak.

In: the answer to a request. Out: its list of objects as XML, or why there is none. Invariant: a list that is too long,
or is no list, is an error and no shorter list; a message has no part of an address that may hold a signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from xml.etree import ElementTree

import httpx

from penstock.deploy.external.web_client import UnreadableSource, WebClient

MOST_OBJECTS = 100_000
LONGEST_LIST = 64 * 2**20
"""The most bytes of one answer with a list."""


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object, and the mark of its contents; empty: it is not known."""

    key: str
    mark: str = ""
    modified: datetime | None = None
    """When it was put there, if the list says so."""
    size: int = 0
    """Its bytes; 0: they are not known."""


class RefusedRequest(UnreadableSource):
    """The server has answered, but not with what was asked for."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class ListPage:
    """One answer with a list: its objects but for empty ones, how many it has, and where the next begins, if any."""

    objects: list[BucketObject]
    count: int
    next: str


def all_objects(page_at: Callable[[str], ListPage], beginning: str) -> Iterator[BucketObject]:
    """The objects of all pages, of which the first is at ``""``. Raises UnreadableSource."""
    at, seen = "", 0
    while True:
        page = page_at(at)
        seen += page.count
        if seen > MOST_OBJECTS:
            raise UnreadableSource(f"more than {MOST_OBJECTS} objects begin with `{beginning}`")
        yield from page.objects
        if not page.next:
            return
        at = page.next


def read_list(client: WebClient, url: str, headers: Mapping[str, str]) -> ElementTree.Element:
    """The list that a server answers. Raises UnreadableSource."""
    with client.get(url, headers) as answer:
        check_answer(answer)
        content = bytearray()
        for part in client.parts(answer):
            content += part
            if len(content) > LONGEST_LIST:
                raise UnreadableSource(f"the server's list of objects has more than {LONGEST_LIST} bytes")
    if b"<!DOCTYPE" in content:
        raise UnreadableSource("the server's list of objects cannot be read")
    try:
        return ElementTree.fromstring(bytes(content))
    except ElementTree.ParseError as error:
        raise UnreadableSource(f"the server's list of objects cannot be read: {error}") from None


def check_answer(answer: httpx.Response) -> None:
    """Raises UnreadableSource for an answer that is not what was asked for, with what the server says."""
    if answer.status_code == 200:
        return
    region = answer.headers.get("x-amz-bucket-region")
    if answer.is_redirect or (region and answer.status_code == 400):
        where = f": it is in the region {region}, which its address must name" if region else ""
        raise UnreadableSource(f"the bucket is not at this address{where}")
    if answer.status_code == 412:
        raise RefusedRequest("the object was replaced while the copy was reading; run it again", answer.status_code)
    said = f"the server answers {answer.status_code} {answer.reason_phrase}{_told(answer)}"
    raise RefusedRequest(said, answer.status_code)


def _told(answer: httpx.Response) -> str:
    """The code that a server gives for an error, such as NoSuchKey."""
    content = b""
    for part in answer.iter_raw():
        content += part
        if len(content) > 2**16:
            return ""
    try:
        code = ElementTree.fromstring(content).findtext("{*}Code") if b"<!DOCTYPE" not in content else None
    except ElementTree.ParseError:
        return ""
    return f": {code[:100]}" if code else ""
