"""The two levels that an agent sees: what holds for the person everywhere, and for this project."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ..models.conversation import AGENT_ACCOUNT, ConversationId
from ..models.scope import PUBLIC_NAME, SHARED_FOLDER

if TYPE_CHECKING:
    from ..home.memory_home import MemoryHome
    from ..sharing.ports import SharedMemory

GLOBAL: Final = "global"
PROJECT: Final = "project"


@dataclass(frozen=True, slots=True)
class Level:
    """A conversation in a store. ``name`` is ``global`` or ``project``; ``own_store``: the store is
    the project's own, and its public scope is the project's."""

    name: str
    memory: SharedMemory
    conversation: ConversationId
    own_store: bool = False

    def label(self, scope_name: str) -> str:
        """Returns the level of what a recall at this one found in a scope."""
        everybody = scope_name == PUBLIC_NAME and not self.own_store
        return GLOBAL if everybody else self.name

    def shown(self, scope_name: str, pointer: str) -> str:
        """Returns a pointer as ``memory_read`` takes it."""
        shared = pointer.startswith(f"{SHARED_FOLDER}/")
        return pointer if shared else f"{self.label(scope_name)}/{pointer}"


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
        apart = self.project is None or self.project.own_store
        return self.named("") if apart else (self.nearest,)

    def named(self, name: str) -> tuple[Level, ...]:
        """Returns the level of this name, if there is one; all for an empty name."""
        both = (self.project, self.global_level)
        return tuple(level for level in both if level and name in ("", level.name))


def global_conversation(name: str = "home") -> ConversationId:
    """Returns the conversation that reads, and in a home writes, public."""
    return ConversationId.parse(f"{AGENT_ACCOUNT}:{GLOBAL}:{name}")


def project_conversation(name: str) -> ConversationId:
    """Returns the conversation of a project, as an owner maps it."""
    return ConversationId.parse(f"{AGENT_ACCOUNT}:{PROJECT}:{name}")


def levels_of(home: MemoryHome) -> Levels:
    """Returns the levels that an agent sees of a home."""
    global_level = Level(GLOBAL, home.global_store.memory, global_conversation())
    if home.project is None:
        return Levels(global_level, writes_global=not home.of_a_bot)
    if home.project is home.global_store:
        mine = Level(PROJECT, home.project.memory, project_conversation(home.name))
    else:  # the public scope of the project's own store
        where = replace(global_conversation(home.name), persona=home.role or None)
        mine = Level(PROJECT, home.project.memory, where, own_store=True)
    return Levels(global_level, mine, writes_global=not home.of_a_bot)
