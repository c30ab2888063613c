"""Blobs of containers of Azure: which there are, and requests for them.

In: `BlobContainer`. Out: names, addresses and signed headers. Invariant: only the key or the signature that the call
names logs in, never an identity of this machine. Sources: https://learn.microsoft.com/rest/api/storageservices/list-blobs,
/get-blob and /authorize-with-shared-key
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from email.utils import formatdate
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit
from xml.etree import ElementTree

from penstock.deploy.external.buckets.object_lists import BucketObject, ListPage, all_objects, read_list
from penstock.deploy.external.web_client import WebClient
from penstock.model.external_tables import BlobContainer

PROTOCOL = "2021-12-02"
"""The version of the protocol, which each request names."""
_SIGNED = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
"""The headers whose values are signed by their places, in this order."""


def list_blobs(client: WebClient, container: BlobContainer, beginning: str) -> Iterator[BucketObject]:
    """The blobs whose names begin with a text, without empty ones. Raises UnreadableSource."""

    def page_at(marker: str) -> ListPage:
        query = {"restype": "container", "comp": "list", "prefix": beginning, **({"marker": marker} if marker else {})}
        written = urlencode({name: value for name, value in query.items() if value}, quote_via=quote, safe="-_.~")
        url = _with_signature(container, f"{container.endpoint}/{container.name}?{written}")
        root = read_list(client, url, signed_headers(container, url, {}))
        entries = root.findall("Blobs/Blob")
        objects = [
            BucketObject(_name(each), _mark(each))
            for each in entries
            if each.findtext("Properties/Content-Length") != "0"
        ]
        return ListPage(objects, len(entries), root.findtext("NextMarker") or "")

    return all_objects(page_at, beginning)


def _name(entry: ElementTree.Element) -> str:
    """The name of a blob; with characters that XML does not have, the server writes it as in an address."""
    name = entry.find("Name")
    if name is None or not name.text:
        return ""
    return unquote(name.text) if name.get("Encoded") == "true" else name.text


def _mark(entry: ElementTree.Element) -> str:
    """The mark of a blob's contents, in the quotes that a condition has and a list does not."""
    mark = (entry.findtext("Properties/Etag") or "").strip('"')
    return f'"{mark}"' if mark else ""


def blob_address(container: BlobContainer, name: str) -> str:
    """The address of a blob, with what logs in if that is a part of it."""
    return _with_signature(container, f"{container.endpoint}/{container.name}/{quote(name, safe='/-_.~')}")


def _with_signature(container: BlobContainer, url: str) -> str:
    if not container.signature:
        return url
    return f"{url}{'&' if '?' in url else '?'}{container.signature}"


def signed_headers(container: BlobContainer, url: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a GET, with a signature if the container has a key."""
    given = {**headers, "x-ms-version": PROTOCOL}
    if not container.key:
        return given
    given["x-ms-date"] = formatdate(usegmt=True)
    return {**given, "authorization": f"SharedKey {container.account}:{shared_key(container, url, given)}"}


def shared_key(container: BlobContainer, url: str, headers: Mapping[str, str]) -> str:
    """The signature of a GET without a body, by the key of the account."""
    folded = {name.lower(): value for name, value in headers.items()}
    own = "".join(f"{name}:{folded[name]}\n" for name in sorted(folded) if name.startswith("x-ms-"))
    values = "\n".join(folded.get(name, "") for name in _SIGNED)
    text = f"GET\n{values}\n{own}{_resource(container, url)}"
    key = base64.b64decode(container.key)
    return base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()


def _resource(container: BlobContainer, url: str) -> str:
    """What an address names, as it is signed: the account, the path as it is sent, and the query as it is meant."""
    parts = urlsplit(url)
    asked = sorted((name.lower(), value) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    return f"/{container.account}{parts.path}" + "".join(f"\n{name}:{value}" for name, value in asked)
