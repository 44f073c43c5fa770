"""What the model may call."""

from .core_memory_recall import RecallTool
from .core_memory_remember import RememberTool
from .entry_tools import ExpandTool, ForgetTool, TasksTool

TOOLS = (RememberTool, RecallTool, ExpandTool, TasksTool, ForgetTool)
