"""A real AstrBot in a process of its own."""

import atexit
import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import aiohttp

from .release import PLUGIN
from .settings import BotSettings, write_settings
from .waiting import until

START_SECONDS = 300.0
STARTED = "AstrBot started."
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class BotDied(RuntimeError):
    """AstrBot ended before it was ready; the message ends with its last log lines."""


class AstrBotProcess:
    """An AstrBot root folder and the process that runs in it: `prepare()` once, then `start()`."""

    def __init__(self, root: Path, settings: BotSettings, *, python: Path | None = None) -> None:
        self.root = root
        self.environment: Mapping[str, str] = {}
        """What its process gets beside our own."""
        self.settings = settings
        self.python = python or Path(sys.executable)
        self.panel_url = f"http://127.0.0.1:{settings.panel_port}"
        self.log_file = root / "astrbot.log"
        self.data = root / "data"
        self.plugins = self.data / "plugins"
        self.plugin_data = self.data / "plugin_data" / PLUGIN
        """Where our plugin keeps `memory`, `index` and `state`."""
        self.plugin_config = self.data / "config" / f"{PLUGIN}_config.json"
        """The file behind the plugin's page in the panel."""
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self._looked_at = 0

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The running process's number; BotDied if there is none."""
        if self._process is None:
            raise BotDied("this bot does not run")
        return self._process.pid

    def prepare(self) -> None:
        """Makes the root as `astrbot init -y` does, with our settings in it."""
        for folder in ("config", "plugins", "temp"):
            (self.data / folder).mkdir(parents=True, exist_ok=True)
        (self.root / ".astrbot").touch()
        write_settings(self.data, self.settings)

    async def start(self, *, within: float = START_SECONDS) -> None:
        """Starts the process and waits until it is up: hooks run, panel answers."""
        self._launch()
        try:
            await until(self._is_up, within=within, what="AstrBot's start")
        except BaseException:
            self.kill9()
            raise

    def sigterm(self, *, within: float = 30.0) -> int:
        """What `docker stop` does: gives the exit status. BotDied if it had ended before, or ended
        by anything but this signal."""
        status = self._end(signal.SIGTERM, within)
        if status not in (0, -signal.SIGTERM):
            raise BotDied(f"AstrBot ended with status {status}:\n" + self.logs()[-4000:])
        return status

    def kill9(self) -> None:
        """Ends the whole process group at once, without a chance to tidy up."""
        self._end(signal.SIGKILL, 30.0)

    def logs(self, *, all_starts: bool = False) -> str:
        """What AstrBot has printed since the last start, or since ever."""
        if not self.log_file.exists():
            return ""
        with self.log_file.open("rb") as file:
            file.seek(0 if all_starts else self._log_start)
            return _COLOUR.sub("", file.read().decode("utf-8", "replace"))

    def own_tracebacks(self) -> list[str]:
        """Tracebacks in the log that name the plugin, since this was asked last."""
        written, start = self.logs(all_starts=True), self._looked_at
        self._looked_at = len(written)
        blocks = written[start:].split("Traceback (most recent call last)")[1:]
        return [block[:6000] for block in blocks if PLUGIN in block[:6000]]

    async def logged(self, words: str, *, within: float = 30.0) -> str:
        """The first line since the last start that contains `words`, waited for."""

        async def probe() -> str | None:
            return next((line for line in self.logs().splitlines() if words in line), None)

        return await until(probe, within=within, what=f"log line with {words!r}")

    def _launch(self) -> None:
        if self.running:
            raise BotDied("this bot runs already")
        environment = {**_environment(), **self.environment}
        with self.log_file.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [str(self.python), "-m", "astrbot.cli", "run"],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        atexit.register(self.kill9)

    async def _is_up(self) -> bool:
        if not self.running:
            raise BotDied("AstrBot ended while starting:\n" + self.logs()[-4000:])
        if STARTED not in self.logs():
            return False
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            timeout = aiohttp.ClientTimeout(total=5)
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(f"{self.panel_url}/api/auth/setup-status") as answer,
            ):
                return answer.status == 200
        return False

    def _end(self, number: signal.Signals, within: float) -> int | None:
        process = self._process
        if process is None:
            return None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        try:
            status = process.wait(within)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            atexit.unregister(self.kill9)
        self._process = None
        return status


def _die_with_parent() -> None:
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def _environment() -> Mapping[str, str]:
    """Ours, minus what would leak into the bot, plus "stay offline"."""
    # Without bytecode each start would compile AstrBot for 15 s.
    leaks = "PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH DASHBOARD_HOST DASHBOARD_PORT"
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in {*leaks.split(), "ASTRBOT_ROOT", "TESTING"}
        and not key.lower().endswith("_proxy")
        and not key.startswith("COV_")
    }
    wanted = ("ASTRBOT_DISABLE_METRICS", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "NO_COLOR")
    always = dict.fromkeys((*wanted, "PYTHONUNBUFFERED", "PYTHONUTF8"), "1")
    return kept | always | {"ANONYMIZED_TELEMETRY": "False"}
