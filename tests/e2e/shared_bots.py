"""Which files of these tests share a running bot, by what an owner has set in it."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadFileScheduling

from astrbot_plugin_scoped_memory.harness.places import group
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.tests.e2e.cast import MAP

FILES: Final = {
    "plain": (
        "commands",
        "hand_edits",
        "hand_written_files",
        "injection",
        "notes",
        "plain_words",
        "private_scopes",
        "reload",
        "slim_zip",
        "soul_injected",
        "status_and_log",
        "tools",
        "transcript",
        "webchat",
    ),
    "learning": ("corrections", "memory_loop", "primer", "why_decided"),
    "queueing": ("scope_policies", "turns_observed"),
    "vectors": ("embedding_provider", "restart"),
    "splitting": ("local_model", "split_groups", "timers"),
    "owners": ("story", "uploads"),
}
"""In each file other groups and people talk than in the others of its bot."""
ADMINS: Final = {
    "plain": [9000],
    "learning": [2001, 1002, 3001, 2201, 9001],
    "queueing": [9000, 5800],
    "vectors": [],
    "splitting": [5810],
    "owners": [2001, 9300],
}
LEARNING: Final[JsonObject] = {
    "conversation_scope_map": {
        group(777).umo: "家人",
        "aiocqhttp:FriendMessage:1002": "家人",
        group(888).umo: "公司",
        group(7771).umo: "老家",
        group(7701).umo: "小家",
        "aiocqhttp:FriendMessage:9001": "小家",
        group(8801).umo: "单位",
        group(8851).umo: "社团",
    },
    "reflection_provider": "auto",
}
QUEUEING: Final[JsonObject] = {
    "conversation_scope_map": {**MAP, group(581).umo: "家里"},
    "reflection_provider": "auto",
    # Turns are queued here, and stay unread.
    "advanced": {
        "reflect_after_turns": 40,
        "reflect_idle_minutes": 1440,
        "observe_groups": True,
        "prime_after_hours": 0,
    },
}


class ByBot(LoadFileScheduling):
    """A file at a time, and all files of one bot to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        name = file.removeprefix("tests/e2e/test_").removesuffix(".py")
        return next((bot for bot, names in FILES.items() if name in names), file)
