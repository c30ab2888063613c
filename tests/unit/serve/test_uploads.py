"""Uploads cannot leave their folder, and bad bytes never fell the server."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from penstock.parse.project_files import normal_path
from penstock.serve.calls.deployments import LONGEST_PATH, _path_problems


def codes(sent: str) -> list[str]:
    return [problem.code for problem in _path_problems(sent, normal_path(sent), {})]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("C:\\a.pipe", "path-outside"),
        ("c:/a.pipe", "path-outside"),
        ("\\\\host\\share\\a.pipe", "path-outside"),
        ("/a.pipe", "path-outside"),
        ("a\\..\\..\\b.pipe", "path-outside"),
        ("a\0.pipe", "invalid-path"),
        ("a\n.pipe", "invalid-path"),
        ("./.", "invalid-path"),
        ("a" * (LONGEST_PATH + 1), "path-too-long"),
    ],
)
def test_names_that_are_refused(sent: str, code: str) -> None:
    assert codes(sent) == [code]


parts = st.sampled_from(["..", ".", "a", "b.pipe", "", "C:", "/", "\\", "\0", "~", "%2e%2e", "．．"])


@given(st.lists(parts, max_size=8).map("/".join) | st.lists(parts, max_size=8).map("\\".join) | st.text(max_size=20))
@settings(max_examples=500)
def test_what_is_taken_is_below_the_folder(sent: str) -> None:
    if codes(sent):
        return
    path = PurePosixPath(normal_path(sent))
    assert not path.is_absolute()
    assert ".." not in path.parts
    assert "\\" not in str(path)
    assert "\0" not in str(path)


HEADER = b'--b\r\nContent-Disposition: form-data; name="files"; filename="x.pipe"\r\n'


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=300)
    | st.binary(max_size=100).map(lambda raw: HEADER + b"\r\n" + raw + b"\r\n--b--\r\n")
    | st.tuples(st.binary(max_size=60), st.binary(max_size=60)).map(
        lambda raw: b"--b\r\n" + raw[0] + b"\r\n\r\n" + raw[1] + b"\r\n--b--\r\n"
    )
)
def test_any_bytes_are_an_answer(client: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = client.post("/v1/deploy?check=1", content=body, headers=headers)
    assert answer.status_code < 500, answer.text
    assert answer.is_success or set(answer.json()) == {"error", "code", "documentation", "problems", "request_id"}
