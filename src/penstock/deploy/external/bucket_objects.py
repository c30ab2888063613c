"""Objects of buckets, by S3's protocol: which there are, and requests for them.

In: `Bucket`. Out: keys, addresses and signed headers. Invariant: only the keys that the call names sign requests, never
a login of this machine. Sources: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html and _GetObject
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree

import httpx

from penstock.deploy.external.path_patterns import fixed_beginning, path_test
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.model.external_tables import Bucket

try:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:  # unsigned requests need no more
    S3SigV4Auth = None

MOST_OBJECTS = 100_000
LONGEST_LIST = 64 * 2**20
"""The most bytes of one answer with a list."""


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object, and the mark of its contents; empty: it is not known."""

    key: str
    mark: str = ""


def find_objects(client: WebClient, bucket: Bucket, pattern: str) -> list[BucketObject]:
    """The objects that a pattern stands for, without empty ones; a key that is no pattern is not looked for. Raises
    UnreadableSource, TooManyPaths."""
    beginning = fixed_beginning(pattern)
    if beginning == pattern:
        return [BucketObject(pattern)]
    matches = path_test(pattern)
    return [each for each in _list_objects(client, bucket, beginning) if matches(each.key)]


def _list_objects(client: WebClient, bucket: Bucket, beginning: str) -> Iterator[BucketObject]:
    token, seen = "", 0
    while True:
        query = {"list-type": "2", "prefix": beginning, **({"continuation-token": token} if token else {})}
        url = f"{_address(bucket, '')}?{urlencode(query, quote_via=quote, safe='-_.~')}"
        with client.get(url, signed_headers(bucket, url)) as answer:
            check_answer(answer)
            root = _parse_list(_read_list(client, answer))
        for entry in root.iterfind("{*}Contents"):
            seen += 1
            if seen > MOST_OBJECTS:
                raise UnreadableSource(f"more than {MOST_OBJECTS} objects begin with `{beginning}`")
            if entry.findtext("{*}Size") != "0":
                yield BucketObject(entry.findtext("{*}Key") or "", entry.findtext("{*}ETag") or "")
        token = root.findtext("{*}NextContinuationToken") or ""
        if root.findtext("{*}IsTruncated") != "true":
            return
        if not token:
            raise UnreadableSource("the server gives only a part of the list of objects")


def _read_list(client: WebClient, answer: httpx.Response) -> bytes:
    content = bytearray()
    for part in client.parts(answer):
        content += part
        if len(content) > LONGEST_LIST:
            raise UnreadableSource(f"the server's list of objects has more than {LONGEST_LIST} bytes")
    return bytes(content)


def _parse_list(content: bytes) -> ElementTree.Element:
    if b"<!DOCTYPE" in content:
        raise UnreadableSource("the server's list of objects cannot be read")
    try:
        return ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise UnreadableSource(f"the server's list of objects cannot be read: {error}") from None


def object_address(bucket: Bucket, key: str) -> str:
    """The address of an object."""
    return _address(bucket, f"/{quote(key, safe='/-_.~')}")


def _address(bucket: Bucket, path: str) -> str:
    parts = urlsplit(bucket.endpoint)
    if bucket.in_host:
        return f"{parts.scheme}://{bucket.name}.{parts.netloc}{path or '/'}"
    return f"{bucket.endpoint}/{bucket.name}{path}"


def signed_headers(bucket: Bucket, url: str, headers: Mapping[str, str] | None = None) -> dict[str, str]:
    """The headers of a GET, with a signature if the bucket has a login. Raises UnreadableSource."""
    given = dict(headers or {})
    if bucket.login is None:
        return given
    if S3SigV4Auth is None:
        raise UnreadableSource("this server cannot sign requests: pip install 'penstock[s3]' where it runs")
    request = AWSRequest("GET", url, headers=given)
    login = Credentials(bucket.login.key, bucket.login.secret, bucket.login.token or None)
    S3SigV4Auth(login, "s3", bucket.region).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}


def check_answer(answer: httpx.Response) -> None:
    """Raises UnreadableSource for an answer that is not what was asked for, with what the server says."""
    if answer.status_code == 200:
        return
    region = answer.headers.get("x-amz-bucket-region")
    if answer.is_redirect or (region and answer.status_code == 400):
        where = f": it is in the region {region}, which its address must name" if region else ""
        raise UnreadableSource(f"the bucket is not at this address{where}")
    if answer.status_code == 412:
        raise UnreadableSource("the object was replaced while the copy was reading; run it again")
    raise UnreadableSource(f"the server answers {answer.status_code} {answer.reason_phrase}{_told(answer)}")


def _told(answer: httpx.Response) -> str:
    """The code that an S3 server gives for an error, such as NoSuchKey."""
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
