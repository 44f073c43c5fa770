"""The clock of a bot's memory, moved by a test: days pass in a moment.

Only the memory's own clock moves. AstrBot, its timers and the files' stamps stay in the present.
"""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from astrbot_plugin_scoped_memory.harness.settings import TIME_ZONE

AHEAD = "SCOPED_MEMORY_AHEAD"
_CODE = Path(__file__).parent / "moved_clock"


class MovedClock:
    """What a bot reads that was started with this environment. `file` says how far it is ahead."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.ahead = timedelta()
        self._write()

    @property
    def environment(self) -> Mapping[str, str]:
        """For the bot's process: Python runs what lies in the first folder when it starts."""
        return {"PYTHONPATH": str(_CODE), AHEAD: str(self._file)}

    def move(self, **by: float) -> None:
        """From now on it is so much later: `move(days=1, hours=2)`."""
        self.ahead += timedelta(**by)
        self._write()

    def set_to(self, hour: int, minute: int = 0, *, days: int = 0) -> None:
        """It is this local time, so many days after the local day that it is now."""
        now = self.now()
        then = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        self.move(seconds=(then + timedelta(days=days) - now).total_seconds())

    def now(self) -> datetime:
        """What the memory's clock shows, in the bot's time zone."""
        return datetime.now(ZoneInfo(TIME_ZONE)) + self.ahead

    def timestamp(self) -> float:
        """The same, in seconds since 1970: for messages that carry their time."""
        return time.time() + self.ahead.total_seconds()

    def _write(self) -> None:
        whole = self._file.with_suffix(".new")
        whole.write_text(str(self.ahead.total_seconds()), encoding="ascii")
        whole.replace(self._file)
