"""What an admin asks of decisions, in a word each."""

from __future__ import annotations

from functools import partial

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import DecisionChange

Accept = partial(DecisionChange, "accept")
Reject = partial(DecisionChange, "reject")
Withdraw = partial(DecisionChange, "withdraw", "")
ListDecisions = partial(DecisionChange, "list")
