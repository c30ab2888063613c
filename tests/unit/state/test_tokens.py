from __future__ import annotations

import pytest
import sqlalchemy as sa

from penstock.errors import Conflict, NotFound
from penstock.state.database import Database
from penstock.state.schema import tokens as table
from penstock.state.tokens import ApiToken, ApiTokens


def test_a_secret_finds_its_token_and_nothing_else_does(database: Database) -> None:
    tokens = ApiTokens(database)
    secret = tokens.create("ci", ("deploy", "read"))
    assert tokens.find(secret) == ApiToken("ci", ("deploy", "read"))
    assert tokens.find(secret + "x") is None
    assert tokens.find("") is None
    assert tokens.find("\ud800") is None


def test_the_store_does_not_hold_the_secret(database: Database) -> None:
    secret = ApiTokens(database).create("ci", ("read",))
    with database.read() as connection:
        assert secret not in str(connection.execute(sa.select(table)).all())


def test_another_process_finds_it_too(database: Database) -> None:
    secret = ApiTokens(database).create("ci", ("read",))
    assert ApiTokens(database).find(secret) == ApiToken("ci", ("read",))


def test_a_removed_token_is_gone_at_once(database: Database) -> None:
    tokens = ApiTokens(database)
    secret = tokens.create("ci", ("read",))
    tokens.remove("ci")
    assert tokens.find(secret) is None
    assert tokens.list() == ()


def test_names_are_unique_and_unknown_ones_get_the_nearest(database: Database) -> None:
    tokens = ApiTokens(database)
    tokens.create("dashboard", ("read",))
    with pytest.raises(Conflict):
        tokens.create("dashboard", ("admin",))
    with pytest.raises(NotFound) as caught:
        tokens.remove("dashbord")
    assert caught.value.hint == "did you mean `dashboard`?"
