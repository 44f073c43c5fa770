"""What refuses a new text of a soul: the rules, and what only private places hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from ..catalogue.catalogue import Catalogue
from ..errors import VaultFileBroken
from ..models.scope import Place
from ..models.soul import Finding
from ..runtime.lifecycle import Lifespan
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.note_book import NoteBook
from .private_words import Told, repeated, told_anywhere
from .rules.checks import complaints


class Complaints:
    """``persona_prompt`` returns AstrBot's own of a role, which everybody may read."""

    def __init__(
        self,
        catalogue: Catalogue,
        note_book: NoteBook,
        vault: MarkdownVault,
        life: Lifespan,
        persona_prompt: Callable[[str], Awaitable[str]],
    ) -> None:
        self._catalogue = catalogue
        self._notes = note_book
        self._vault = vault
        self._life = life
        self._persona_prompt = persona_prompt

    async def of(self, role: str) -> Callable[[str, str], tuple[Finding, ...]]:
        """Returns what says why a new text over the text in force is refused, by what is known
        now. That blocks."""
        if not self._notes.scanned:
            await self._notes.refresh()
        memories, is_whole = list(self._catalogue.all()), self._life.is_ready
        notes, own = list(self._notes.all()), Place.of_folder(role)
        prompt = Told(await self._persona_prompt(role), is_open=True)

        def refuse(old: str, new: str) -> tuple[Finding, ...]:
            told: list[Told] | None = None
            with suppress(VaultFileBroken):
                archived, scopes = self._vault.archived_anywhere(), self._vault.scopes()
                told = [prompt, *told_anywhere(memories, notes, archived, scopes, own)]
            return (*complaints(old, new), *repeated(old, new, told if is_whole else None))

        return refuse
