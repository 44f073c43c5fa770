"""The `cmd_config.json` of a bot that needs nothing but loopback."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .places import ADAPTER, TELEGRAM
from .script import JsonObject

CHAT_PROVIDER = "scripted"
EMBEDDING_PROVIDER = "scripted-embedding"
TIME_ZONE = "Asia/Shanghai"
PASSWORD = "Scoped-Memory-2026"
NOWHERE = "http://127.0.0.1:9"
"""A proxy that refuses: whatever AstrBot wants from the internet fails at once."""


@dataclass(frozen=True, slots=True)
class BotSettings:
    """What differs from bot to bot; ports are on loopback."""

    model_url: str
    panel_port: int
    onebot_port: int
    admins: Sequence[int] = ()
    embedding_dimensions: int | None = None
    """If set, an embedding provider of this many dimensions is configured, at `model_url`."""
    unique_session: bool = False
    future_tasks: bool = False
    """Whether the model is offered AstrBot's own tool for timers."""
    telegram_url: str = ""
    """If set, there is a Telegram account, too, whose Bot API is here."""


def write_settings(data: Path, settings: BotSettings) -> None:
    """Writes `cmd_config.json` into the data folder; AstrBot adds its own defaults to it."""
    text = json.dumps(cmd_config(settings), ensure_ascii=False, indent=2)
    (data / "cmd_config.json").write_text(text, encoding="utf-8")


def cmd_config(settings: BotSettings) -> JsonObject:
    """What is not as AstrBot has it, in the shape that AstrBot 4.28 and 4.29 share."""
    providers = [_chat_provider(settings)]
    if settings.embedding_dimensions is not None:
        providers.append(_embedding_provider(settings, settings.embedding_dimensions))
    return {
        "platform_settings": {
            "unique_session": settings.unique_session,
            "rate_limit": {"time": 60, "count": 1_000_000, "strategy": "stall"},
            "enable_id_white_list": False,
        },
        "provider": providers,
        "provider_settings": {
            "datetime_system_prompt": False,
            "proactive_capability": {"add_cron_tools": settings.future_tasks},
        },
        "agent_runner": {
            "config": {
                "model": {"provider_id": CHAT_PROVIDER, "request_max_retries": 1},
                "compression": {"fallback_max_tokens": 1_000_000},
            }
        },
        "admins_id": ["astrbot", *(str(admin) for admin in settings.admins)],
        "http_proxy": NOWHERE,
        "no_proxy": ["localhost", "127.0.0.1", "::1"],
        "dashboard": {
            "host": "127.0.0.1",
            "port": settings.panel_port,
            "auth_rate_limit": {"enable": False},
            **_password(),
        },
        "platform": [_platform(settings), *_telegram(settings)],
        "pip_install_arg": "--no-index",
        "timezone": TIME_ZONE,
        "disable_metrics": True,
    }


def _password() -> JsonObject:
    """The panel's, as AstrBot stores it, but for the rounds: of its 600,000 each start and each
    login costs a quarter of a second."""
    rounds, salt, password = 1_000, bytes(16), PASSWORD.encode()
    digest = hashlib.pbkdf2_hmac("sha256", password, salt, rounds)
    return {
        "pbkdf2_password": f"pbkdf2_sha256${rounds}${salt.hex()}${digest.hex()}",
        "password": hashlib.md5(password, usedforsecurity=False).hexdigest(),
        "password_storage_upgraded": True,
        "password_change_required": False,
    }


def _platform(settings: BotSettings) -> JsonObject:
    return {
        "id": ADAPTER,
        "type": "aiocqhttp",
        "enable": True,
        "ws_reverse_host": "127.0.0.1",
        "ws_reverse_port": settings.onebot_port,
        "ws_reverse_token": "",
    }


def _telegram(settings: BotSettings) -> list[JsonObject]:
    if not settings.telegram_url:
        return []
    account = {
        "id": TELEGRAM,
        "type": "telegram",
        "enable": True,
        "telegram_token": "10000:loopback",
        "start_message": "你好",
        "telegram_api_base_url": settings.telegram_url,
        "telegram_file_base_url": settings.telegram_url,
        "telegram_command_register": True,
        "telegram_command_auto_refresh": False,
    }
    return [account]


def _chat_provider(settings: BotSettings) -> JsonObject:
    return {
        "id": CHAT_PROVIDER,
        "provider": "openai",
        "type": "openai_chat_completion",
        "provider_type": "chat_completion",
        "enable": True,
        "key": ["loopback"],
        "api_base": settings.model_url,
        "model": "scripted-chat",
        "timeout": 120,
        "modalities": ["text", "tool_use"],
        "max_context_tokens": 1_000_000,
    }


def _embedding_provider(settings: BotSettings, dimensions: int) -> JsonObject:
    return {
        "id": EMBEDDING_PROVIDER,
        "provider": "openai",
        "type": "openai_embedding",
        "provider_type": "embedding",
        "enable": True,
        "embedding_api_key": "loopback",
        "embedding_api_base": settings.model_url,
        "embedding_model": "scripted-embedding",
        "embedding_dimensions": dimensions,
        "timeout": 20,
    }
