"""AstrBot's printed log, read line by line."""

import re
from dataclasses import dataclass

from .release import PLUGIN

_HEAD = re.compile(r"\[[\d:.]+\] \[(?P<tag>[^\]]+)\] \[(?P<level>[A-Z]+)\] ?(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One record; the lines that follow without a head of their own belong to it."""

    tag: str
    level: str
    text: str

    @property
    def ours(self) -> bool:
        return self.tag in {PLUGIN, "Plug"}


def parse_log(text: str) -> list[LogLine]:
    """The records of a log; what comes before the first one is dropped."""
    records: list[LogLine] = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is not None:
            records.append(LogLine(head["tag"], head["level"], head["rest"]))
        elif records:
            last = records[-1]
            records[-1] = LogLine(last.tag, last.level, f"{last.text}\n{line}")
    return records


def plugin_lines(text: str) -> list[str]:
    """What the plugin wrote, at whatever level the log shows."""
    return [record.text for record in parse_log(text) if record.ours]
