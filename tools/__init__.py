"""What the model may call."""

from .core_memory_recall import RecallTool
from .core_memory_remember import RememberTool
from .expand_memory import ExpandTool
from .update_tasks import TasksTool

TOOLS = (RememberTool, RecallTool, ExpandTool, TasksTool)

__all__ = ["TOOLS", "ExpandTool", "RecallTool", "RememberTool", "TasksTool"]
