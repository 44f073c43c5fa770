"""Where things are, and what the bot's panel says of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..models.settings import DmScope, EngineSettings, GroupScope, LoopSettings, PrivacyMode
from ..models.soul import SoulEvolution
from ..service.paths import EnginePaths
from ..transfer.rules.carried_settings import defaults_of
from .messages import Refusal, speak

NAME: Final = "astrbot_plugin_scoped_memory"


@dataclass(frozen=True, slots=True)
class BotStore:
    """A store, and the panel's settings as far as they can be found."""

    paths: EnginePaths
    config: Mapping[str, Any]
    config_file: Path

    @property
    def advanced(self) -> Mapping[str, Any]:
        """The settings below ``advanced``."""
        found = self.config.get("advanced")
        return found if isinstance(found, Mapping) else {}

    def settings(self, *, privacy: str | None = None) -> EngineSettings:
        """As the bot has them, where they matter to what is done here. A value that is none keeps
        things apart, as in the bot: secrets are hidden, and nothing falls to public."""
        config, advanced = self.config, self.advanced
        scope_map, links = config.get("conversation_scope_map", {}), config.get("identity_links")
        headers, plain = advanced.get("chroma_headers"), EngineSettings()
        return EngineSettings(
            scope_map=dict(scope_map) if isinstance(scope_map, Mapping) else {},
            dm_scope=_option(DmScope, config.get("dm_scope", DmScope.PUBLIC)),
            dm_scope_by_account=_policies(advanced.get("dm_scope_by_account", {})),
            group_scope=_option(GroupScope, config.get("group_scope", GroupScope.PUBLIC)),
            identity_links=_texts(links),
            open_retry_seconds=0.0,
            chroma_url=_text(advanced.get("chroma_url")),
            chroma_collection=_text(advanced.get("chroma_collection", plain.chroma_collection)),
            chroma_headers=_texts(headers),
            adopt_legacy=config.get("adopt_legacy") is True,
            loop=LoopSettings(english=config.get("language") == "en-US"),
            soul_evolution=_option(SoulEvolution, config.get("soul_evolution"))
            or plain.soul_evolution,
            privacy_mode=_option(PrivacyMode, privacy or config.get("privacy_mode"))
            or PrivacyMode.REDACT,
        )


def find_store_of_bot(data: Path | None, memory: Path | None, *, must_exist: bool) -> BotStore:
    """The store that is meant. Raises Refusal."""
    data = data or next((folder for folder in _likely() if folder.is_dir()), None)
    if data is None:
        raise Refusal("cli.no_data", name=NAME)
    data = data.resolve()
    file = data.parent.parent / "config" / f"{NAME}_config.json"
    store = BotStore(EnginePaths.under(data, memory), _config(file), file)
    if language := store.config.get("language"):  # the bot's owner has set it
        speak("en" if language == "en-US" else "zh")
    root = store.advanced.get("memory_root")
    if memory is None and isinstance(root, str) and root:
        store = BotStore(EnginePaths.under(data, Path(root).expanduser()), store.config, file)
    if must_exist and not (store.paths.memory / "scopes").is_dir():
        raise Refusal("cli.no_memories", path=store.paths.memory)
    return store


def plugin_root() -> Path:
    """The plugin's own folder."""
    return Path(__file__).resolve().parent.parent.parent


def setting_defaults() -> dict[str, object]:
    """Of each setting by name; none where the schema is not there."""
    try:
        schema = json.loads((plugin_root() / "_conf_schema.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return defaults_of(schema)


def plugin_version() -> str:
    """As metadata.yaml states it, or what was installed without it."""
    try:
        lines = (plugin_root() / "metadata.yaml").read_text(encoding="utf-8").splitlines()
    except OSError:
        return _installed_version()
    stated = (line.partition(":")[2] for line in lines if line.startswith("version:"))
    return next(stated, "").strip().strip("\"'")


def _installed_version() -> str:
    from importlib import metadata

    try:
        return metadata.version("scoped-memory")
    except metadata.PackageNotFoundError:
        return ""


def _likely() -> list[Path]:
    """Where AstrBot keeps a plugin's data, seen from where we may stand."""
    unresolved = Path(__file__).absolute().parent.parent.parent
    roots = [unresolved.parent.parent, plugin_root().parent.parent, Path.cwd() / "data", Path.cwd()]
    if stated := os.environ.get("ASTRBOT_ROOT"):
        roots.insert(0, Path(stated) / "data")
    return [root / "plugin_data" / NAME for root in roots]


def _config(path: Path) -> dict[str, Any]:
    """What the panel holds, empty where it cannot be found."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _option[E: (DmScope, GroupScope, PrivacyMode, SoulEvolution)](
    kind: type[E], value: object
) -> E | None:
    return next((option for option in kind if option == value), None)


def _policies(value: object) -> dict[str, DmScope | None] | None:
    if not isinstance(value, Mapping):
        return None
    return {str(key).strip(): _option(DmScope, policy) for key, policy in value.items()}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(key): text for key, text in value.items() if isinstance(text, str) and text.strip()}
