"""A journal that survives what tests call a kill: records are written to JSON and read back."""

from __future__ import annotations

import json
from collections.abc import Sequence

from penstock.postgres.application.phase_record import PhaseKey, PhaseRecord, parse_record


class MemoryJournal:
    def __init__(self) -> None:
        self._texts: dict[PhaseKey, str] = {}

    def load(self, key: PhaseKey) -> PhaseRecord | None:
        return parse_record(key, json.loads(self._texts[key])) if key in self._texts else None

    def save(self, record: PhaseRecord) -> None:
        self._texts[record.key] = json.dumps(record.as_json())

    def remove(self, key: PhaseKey) -> None:
        del self._texts[key]

    def records(self) -> Sequence[PhaseRecord]:
        return [parse_record(key, json.loads(text)) for key, text in self._texts.items()]
