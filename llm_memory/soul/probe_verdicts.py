"""How probes went before: table ``soul_answer`` in ``state/loop.sqlite``. No word of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..models.scope import role_scope
from ..storage.loop_file import SqliteLoopFile
from ..storage.sqlite_file import sound


@dataclass(frozen=True, slots=True)
class ProbeVerdict:
    """How a checker found an answer, and the answer's SHA-256."""

    passed: bool
    digest: str


type Verdicts = Mapping[str, ProbeVerdict]
"""By the hash of the question."""


class SqliteProbeVerdicts:
    """By the hash of the system prompt under which a model was asked. Every method blocks, and
    raises StateUnavailable."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def get(self, role: str, prompt: str, model: str) -> Verdicts:
        """Returns what is known. ``role`` is the persona's folder."""
        rows = self._file.rows(
            "SELECT probe, passed, digest FROM soul_answer"
            " WHERE scope = ? AND prompt = ? AND model = ?",
            (role_scope(role), prompt, model),
        )
        return {str(probe): ProbeVerdict(bool(passed), str(sha)) for probe, passed, sha in rows}

    def put(self, role: str, model: str, found: Mapping[str, Verdicts]) -> None:
        """Keep these, by system prompt, and drop what the role has of any other prompt."""
        scope = sound(role_scope(role))
        rows = [
            (scope, prompt, probe, sound(model), int(one.passed), one.digest)
            for prompt, verdicts in found.items()
            for probe, one in verdicts.items()
        ]
        with self._file.transaction() as connection:
            stale = connection.execute(
                "SELECT DISTINCT prompt FROM soul_answer WHERE scope = ?", (scope,)
            ).fetchall()
            connection.executemany(
                "DELETE FROM soul_answer WHERE scope = ? AND prompt = ?",
                [(scope, prompt) for (prompt,) in stale if prompt not in found],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO soul_answer VALUES (?, ?, ?, ?, ?, ?)", rows
            )
