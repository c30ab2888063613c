"""A secret of the settings comes out nowhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import InvalidQuery, Problem
from penstock.lake.spark.errors import explain_error
from penstock.model.settings import Settings, SparkSettings, StateSettings, secret_values
from penstock.parse.settings import parse_settings
from penstock.redaction import forget_secrets, redact, register_secrets
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.server.log_files import set_up_logging
from penstock.serve.server.process import WebServer

TOML = """
[state]
url = "postgresql+psycopg2://penstock:st%40te-pass@db/penstock"
[catalog]
type = "jdbc"
uri = "jdbc:postgresql://db/lake?user=u&password=uri-pass"
jdbc.user = "lake-user"
jdbc.password = "lake-pass"
s3.access-key-id = "AKIA-key"
s3.secret-access-key = "s3-secret"
token = "rest-token"
credential = "id:rest-credential"
[spark.conf]
"spark.hadoop.fs.s3a.secret.key" = "s3a-secret"
"spark.sql.shuffle.partitions" = "8888"
"spark.ssl.enabled.key" = "true"
"""
SECRETS = ("st%40te-pass", "st@te-pass", "uri-pass", "lake-pass", "AKIA-key", "s3-secret", "rest-token")
SECRETS += ("id:rest-credential", "s3a-secret")


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    problems: list[Problem] = []
    register_secrets(secret_values(parse_settings(TOML, "penstock.toml", problems)))
    assert problems == []
    yield
    forget_secrets()


@pytest.mark.parametrize("secret", SECRETS)
def test_no_surface_shows_it(secret: str, tmp_path: Path) -> None:
    message = f"FATAL: cannot log in with {secret}: refused"
    error = InvalidQuery(message, [Problem("x", message, hint=f"was it {secret}?")])
    assert secret not in str(error.as_json())
    assert secret not in str(InvalidQuery(message, hint=message).as_json())
    assert secret not in explain_error(RuntimeError(message))
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        set_up_logging(tmp_path)
        try:
            raise ValueError(message)
        except ValueError:
            logging.getLogger("penstock.test").exception("failed with %s", secret)
        for handler in logging.getLogger().handlers:
            handler.close()
    finally:
        logging.getLogger().handlers[:] = handlers
        logging.getLogger().setLevel(level)
    logged = (tmp_path / "server.log").read_text()
    assert "Traceback" in logged
    assert secret not in logged


def test_addresses_of_calls_are_not_logged() -> None:
    """A token may stand in them."""
    assert WebServer(PipelineHost()).config.access_log is False


def test_what_is_no_secret_stays() -> None:
    text = "lake-user reads 8888 rows of db: true"
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgresql://u:unknown@host/db", "postgresql://u:***@host/db"),
        ("GET /v0/sql?q=1&token=abcdef HTTP", "GET /v0/sql?q=1&token=*** HTTP"),
        ("jdbc.password=abc, x", "jdbc.password=***, x"),
        ("Authorization: Bearer p.xyz", "Authorization: Bearer ***"),
        ("the token p." + "x" * 43 + " is", "the token *** is"),
        ("SELECT token = 1", "SELECT token = ***"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_unknown_or_not(text: str, left: str) -> None:
    assert redact(text) == left


def test_short_values_do_not_blot_out_texts() -> None:
    forget_secrets()
    register_secrets(
        secret_values(Settings(spark=SparkSettings(conf={"x.password": "a"}), state=StateSettings("sqlite:///x")))
    )
    assert redact("a table") == "a table"


def test_hints_that_say_where_a_token_belongs_are_kept() -> None:
    text = "send `Authorization: Bearer TOKEN` or ?token=TOKEN"
    assert redact(text) == text
    assert "TOKENS" not in redact("Bearer TOKENS and token=TOKENS")


def test_what_spark_advises_is_left_out() -> None:
    advice = 'Use `try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "spark.x" to "y".'
    assert explain_error(ValueError(f"[DIVIDE_BY_ZERO] Division by zero. {advice} SQLSTATE: 22012")) == (
        "Division by zero."
    )


@pytest.mark.parametrize("said", ["year 0 is out of range", "year -1 is out of range", "ordinal must be >= 1"])
def test_a_year_that_python_has_not_is_said_in_words(said: str) -> None:
    assert explain_error(ValueError(said)) == (
        "a date or time outside of the years 1 to 9999, which no answer can hold"
    )
