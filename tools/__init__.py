"""What the model may call."""

from .core_memory_recall import core_memory_recall
from .core_memory_remember import core_memory_remember
from .entry_tools import expand_memory, forget_memory, update_tasks

TOOLS = (core_memory_remember, core_memory_recall, expand_memory, update_tasks, forget_memory)
