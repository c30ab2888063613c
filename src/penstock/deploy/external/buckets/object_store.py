"""Objects of a bucket or a container: which there are, and their contents.

In: `ObjectStore`. Out: objects, and files on this machine with their contents. Invariant: a file has the whole contents
of one object, of the state in which the list showed it, or there is an error.
"""

from __future__ import annotations

from pathlib import Path

from penstock.deploy.external.buckets import azure_blobs, s3_objects
from penstock.deploy.external.buckets.object_lists import BucketObject, check_answer
from penstock.deploy.external.paths.path_patterns import fixed_beginning, path_test
from penstock.deploy.external.web_client import WebClient
from penstock.model.external_tables import BlobContainer, ObjectStore


def find_objects(client: WebClient, store: ObjectStore, pattern: str) -> list[BucketObject]:
    """The objects that a pattern stands for, without empty ones; a key that is no pattern is not looked for. Raises
    UnreadableSource, TooManyPaths."""
    beginning = fixed_beginning(pattern)
    if beginning == pattern:
        return [BucketObject(pattern)]
    matches = path_test(pattern)
    return [each for each in objects_from(client, store, beginning) if matches(each.key)]


def objects_from(client: WebClient, store: ObjectStore, beginning: str) -> list[BucketObject]:
    """The objects whose keys begin with a text, without empty ones. Raises UnreadableSource."""
    if isinstance(store, BlobContainer):
        return [*azure_blobs.list_blobs(client, store, beginning)]
    return [*s3_objects.list_objects(client, store, beginning)]


def fetch_object(client: WebClient, store: ObjectStore, wanted: BucketObject, path: Path) -> str:
    """Write the contents of an object to a file; returns the header Content-Encoding. Raises UnreadableSource."""
    unchanged = {"If-Match": wanted.mark} if wanted.mark else {}
    if isinstance(store, BlobContainer):
        url = azure_blobs.blob_address(store, wanted.key)
        headers = azure_blobs.signed_headers(store, url, unchanged)
    else:
        url = s3_objects.object_address(store, wanted.key)
        headers = s3_objects.signed_headers(store, url, unchanged)
    with client.get(url, headers) as answer, path.open("wb") as file:
        check_answer(answer)
        for part in client.parts(answer):
            file.write(part)
        return str(answer.headers.get("content-encoding", ""))
