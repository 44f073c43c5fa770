"""What the model may call."""

from .core_memory_recall import RecallTool
from .core_memory_remember import RememberTool
from .expand_memory import ExpandTool
from .forget_memory import ForgetTool
from .update_tasks import TasksTool

TOOLS = (RememberTool, RecallTool, ExpandTool, TasksTool, ForgetTool)

__all__ = ["TOOLS", "ExpandTool", "ForgetTool", "RecallTool", "RememberTool", "TasksTool"]
