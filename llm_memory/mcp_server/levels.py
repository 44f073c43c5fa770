"""The two levels that an agent sees: what holds for the person everywhere, and for this project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..models.conversation import AGENT_ACCOUNT, ConversationId
from ..models.recall import Hit
from ..models.scope import PUBLIC_NAME
from ..models.shelf import SHARED_FOLDER
from ..sharing.ports import SharedMemory

GLOBAL: Final = "global"
PROJECT: Final = "project"


@dataclass(frozen=True, slots=True)
class Level:
    """A conversation in a store.

    Attributes:
        name: ``global`` or ``project``.
        own_store: The store is the project's own: its public scope is the project's.
    """

    name: str
    memory: SharedMemory
    conversation: ConversationId
    own_store: bool = False

    def label(self, scope_name: str) -> str:
        """Returns the level of what a recall at this one found in a scope."""
        everybody = scope_name == PUBLIC_NAME and not self.own_store
        return GLOBAL if everybody else self.name

    def shown(self, hit: Hit) -> str:
        """Returns a hit's pointer as ``memory_read`` takes it."""
        if hit.pointer.startswith(f"{SHARED_FOLDER}/"):
            return hit.pointer
        return f"{self.label(hit.scope_name)}/{hit.pointer}"


@dataclass(frozen=True, slots=True)
class Levels:
    """``project`` is None outside projects. ``writes_global`` is False over a bot's store, where
    public is what everybody reads."""

    global_level: Level
    project: Level | None = None
    writes_global: bool = True

    @property
    def nearest(self) -> Level:
        """The project, or global outside one."""
        return self.project or self.global_level

    @property
    def asked(self) -> tuple[Level, ...]:
        """The levels whose recalls hold all that the agent sees: a project in the same store as
        global sees that, too."""
        if self.project is None:
            return (self.global_level,)
        return (self.project, self.global_level) if self.project.own_store else (self.project,)

    def named(self, name: str) -> Level | None:
        """Returns the level of this name; None where there is none."""
        return {GLOBAL: self.global_level, PROJECT: self.project}.get(name)


def global_conversation(name: str = "home") -> ConversationId:
    """Returns the conversation that reads, and in a home writes, public."""
    return ConversationId.parse(f"{AGENT_ACCOUNT}:{GLOBAL}:{name}")


def project_conversation(name: str) -> ConversationId:
    """Returns the conversation of a project, as an owner maps it."""
    return ConversationId.parse(f"{AGENT_ACCOUNT}:{PROJECT}:{name}")
