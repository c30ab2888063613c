"""Addresses of objects in buckets, in the forms that ClickHouse's `s3` and `gcs` take.

In: an address. Out: `Bucket` and the key of an object, which may be a pattern. Raises InvalidAddress. Source:
ClickHouse's documentation of the table function `s3`; https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from penstock.model.external_tables import Bucket

_WHOLE = re.compile(r"(https?)://([A-Za-z0-9._-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?)/(.+)", re.DOTALL)
_SHORT = re.compile(r"(s3|gs|gcs)://([A-Za-z0-9._-]+)/(.+)", re.DOTALL)
_AMAZON = re.compile(r"(?:(.+)\.)?s3(?:[.-]([a-z]{2}(?:-[a-z]+)+-[0-9]))?\.amazonaws\.com(?:\.cn)?")
_GOOGLE = re.compile(r"(?:(.+)\.)?storage\.googleapis\.com")
_USUAL_REGION = "us-east-1"
"""What servers that are not Amazon's take as a region."""


class InvalidAddress(ValueError):
    """A text that is no address of an object in a bucket; the message says what one looks like."""


def read_bucket_address(address: str) -> tuple[Bucket, str]:
    """The bucket and the key. Raises InvalidAddress."""
    short, whole = _SHORT.fullmatch(address), _WHOLE.fullmatch(address)
    if short is not None:
        amazon = short[1] == "s3"
        endpoint = "https://s3.amazonaws.com" if amazon else "https://storage.googleapis.com"
        return Bucket(endpoint, short[2], _USUAL_REGION if amazon else "auto", in_host=amazon), unquote(short[3])
    if whole is None:
        raise InvalidAddress("such as 'https://BUCKET.s3.REGION.amazonaws.com/KEY', 'https://HOST/BUCKET/KEY'")
    scheme, host, path = whole.groups()
    amazon_host, google = _AMAZON.fullmatch(host), _GOOGLE.fullmatch(host)
    found = amazon_host or google
    region = "auto" if google else (amazon_host[2] if amazon_host is not None else None) or _USUAL_REGION
    if found is not None and found[1]:
        endpoint = f"{scheme}://{host.removeprefix(f'{found[1]}.')}"
        return Bucket(endpoint, found[1], region, in_host=True), unquote(path)
    name, slash, key = path.partition("/")
    if not slash or not key or not name:
        raise InvalidAddress(f"the address has no key after the bucket `{name}`")
    return Bucket(f"{scheme}://{host}", name, region, in_host=False), unquote(key)
