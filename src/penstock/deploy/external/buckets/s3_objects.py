"""Objects of buckets, by S3's protocol: which there are, and requests for them.

In: `Bucket`. Out: keys, addresses and signed headers. Invariant: only the keys that the call names sign requests, never
a login of this machine. Sources: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html and _GetObject
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree

from penstock.deploy.external.buckets.object_lists import BucketObject, ListPage, all_objects, read_list
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.model.external_tables import Bucket

try:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:  # unsigned requests need no more
    S3SigV4Auth = None


def list_objects(client: WebClient, bucket: Bucket, beginning: str) -> Iterator[BucketObject]:
    """The objects whose keys begin with a text, without empty ones. Raises UnreadableSource."""

    def page_at(token: str) -> ListPage:
        query = {"list-type": "2", "prefix": beginning, **({"continuation-token": token} if token else {})}
        url = f"{_address(bucket, '')}?{urlencode(query, quote_via=quote, safe='-_.~')}"
        root = read_list(client, url, signed_headers(bucket, url))
        entries = root.findall("{*}Contents")
        objects = [
            BucketObject(each.findtext("{*}Key") or "", each.findtext("{*}ETag") or "", _modified(each), _size(each))
            for each in entries
            if each.findtext("{*}Size") != "0"
        ]
        if root.findtext("{*}IsTruncated") != "true":
            return ListPage(objects, len(entries), "")
        following = root.findtext("{*}NextContinuationToken") or ""
        if not following:
            raise UnreadableSource("the server gives only a part of the list of objects")
        return ListPage(objects, len(entries), following)

    return all_objects(page_at, beginning)


def _size(entry: ElementTree.Element) -> int:
    text = entry.findtext("{*}Size") or ""
    return int(text) if text.isascii() and text.isdigit() else 0


def _modified(entry: ElementTree.Element) -> datetime | None:
    text = entry.findtext("{*}LastModified") or ""
    try:
        return datetime.fromisoformat(f"{text[:19]}+00:00")  # in UTC; Python 3.10 reads no fraction of two digits
    except ValueError:
        return None


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
    return signed_request(bucket, ("GET", url), headers)


def signed_request(
    bucket: Bucket, of: tuple[str, str], headers: Mapping[str, str] | None = None, content: bytes | None = None
) -> dict[str, str]:
    """The headers of a request, a method and an address, with a signature if the bucket has a login. Raises
    UnreadableSource."""
    method, url = of
    given = dict(headers or {})
    if bucket.login is None:
        return given
    if S3SigV4Auth is None:
        raise UnreadableSource("this server cannot sign requests: pip install 'penstock[s3]' where it runs")
    request = AWSRequest(method, url, headers=given, data=content)
    login = Credentials(bucket.login.key, bucket.login.secret, bucket.login.token or None)
    S3SigV4Auth(login, "s3", bucket.region).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}
