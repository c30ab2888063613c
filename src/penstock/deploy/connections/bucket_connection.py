"""The bucket that a connection reaches.

In: the values of a .connection file of TYPE s3, and the name of a bucket. Out: `Bucket`. Invariant: only the keys of
the connection sign requests, never a login of this machine.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from penstock.deploy.connections.connection_values import ConnectionValues
from penstock.errors import InvalidRequest
from penstock.model.external_tables import Bucket, BucketLogin

USUAL_REGION = "us-east-1"


def connected_bucket(values: ConnectionValues, name: str) -> Bucket:
    """A bucket by its name. Raises InvalidRequest if the connection has no keys."""
    key, secret = values.text("S3_ACCESS_KEY"), values.text("S3_SECRET")
    if not key or not secret:
        hint = "write S3_ACCESS_KEY and S3_SECRET; a role (S3_ARN) cannot be taken here"
        raise InvalidRequest(f"the connection `{values.connection.name}` has no keys", hint=hint)
    region, endpoint = values.text("S3_REGION") or USUAL_REGION, values.text("S3_ENDPOINT").rstrip("/")
    if not all(each.isascii() for each in (key, secret, region)):
        message = f"the keys or the region of the connection `{values.connection.name}` have letters that are not ASCII"
        raise InvalidRequest(message)
    if endpoint and not _is_address(endpoint):
        message = f"S3_ENDPOINT of the connection `{values.connection.name}` is no address"
        raise InvalidRequest(message, hint="write S3_ENDPOINT https://host or http://host:port")
    login = BucketLogin(key, secret)
    if endpoint:
        return Bucket(endpoint, name, region, in_host=False, login=login)
    return Bucket(f"https://s3.{region}.amazonaws.com", name, region, in_host="." not in name, login=login)


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port or a bracket
        return False
