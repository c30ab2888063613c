"""How a client of Kafka reaches the brokers of a connection.

In: a connection of TYPE kafka with its secrets. Out: the configuration of a client. Invariant: the client writes
nothing to the standard error of the server; its messages are handed to a function, without secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from penstock.deploy.connections.connection_values import ConnectionValues
from penstock.errors import Failed, InvalidRequest

try:
    import confluent_kafka
except ImportError:  # the extra `kafka` is not installed
    confluent_kafka = None

ClientSettings: TypeAlias = dict[str, object]
_LOGGED = "2"
"""The least level of librdkafka's own log that is written: critical. What matters comes as an error of a call."""
_MECHANISMS = {"PLAIN": "PLAIN", "SCRAM-SHA-256": "SCRAM-SHA-256", "SCRAM-SHA-512": "SCRAM-SHA-512"}


def check_installed() -> None:
    """Raises Failed without the client."""
    if confluent_kafka is None:
        hint = "pip install 'penstock[kafka]' where the server runs"
        raise Failed("this server cannot talk to Kafka: confluent-kafka is not installed", hint=hint)


def client_settings(values: ConnectionValues) -> ClientSettings:
    """The configuration of any client of the connection. Raises InvalidRequest."""
    servers = values.text("KAFKA_BOOTSTRAP_SERVERS")
    if not servers:
        raise InvalidRequest(f"the connection `{values.connection.name}` has no KAFKA_BOOTSTRAP_SERVERS")
    found: ClientSettings = {
        "bootstrap.servers": servers,
        "client.id": "penstock",
        "log_level": _LOGGED,
        "log.connection.close": "false",
        "reconnect.backoff.max.ms": "5000",
        "socket.keepalive.enable": "true",
        **_login(values),
    }
    authority = values.text("KAFKA_SSL_CA_PEM")
    if authority:
        found["ssl.ca.pem"] = authority
    return found


def _login(values: ConnectionValues) -> Mapping[str, object]:
    """The protocol, and who the client is. Without a key nobody logs in, and what is not said is plain."""
    key = values.text("KAFKA_KEY")
    protocol = values.text("KAFKA_SECURITY_PROTOCOL", "SASL_SSL" if key else "PLAINTEXT").upper()
    if not protocol.startswith("SASL"):
        return {"security.protocol": protocol}
    mechanism = values.text("KAFKA_SASL_MECHANISM", "PLAIN").upper()
    if mechanism not in _MECHANISMS:
        raise InvalidRequest(f"KAFKA_SASL_MECHANISM {mechanism} is not known", hint=f"one of {', '.join(_MECHANISMS)}")
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": key,
        "sasl.password": values.text("KAFKA_SECRET"),
    }
