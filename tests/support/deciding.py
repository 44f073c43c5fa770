"""What an admin asks of decisions, in a word each."""

from __future__ import annotations

from functools import partial

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import DecisionAction, DecisionChange

Accept = partial(DecisionChange, DecisionAction.ACCEPT)
Reject = partial(DecisionChange, DecisionAction.REJECT)
Withdraw = partial(DecisionChange, DecisionAction.WITHDRAW, "")
ListDecisions = partial(DecisionChange, DecisionAction.LIST)
