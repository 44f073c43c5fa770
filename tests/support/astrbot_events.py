"""Each kind of event that AstrBot makes, and each place that runs an agent for one: a table.

Read from the sources of the oldest and the newest AstrBot; ``tests/house/test_astrbot_events.py``
finds what is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCES = "core/platform/sources/"


@dataclass(frozen=True, slots=True)
class Platform:
    """Messages of one adapter. ``{sender}``, ``{group}`` and ``{chat}`` (an id that is neither)
    stand for what the platform tells.

    Attributes:
        adapter: The platform's type.
        file: Where its events are made, below ``SOURCES``.
        event: Their class.
        private: The session of a private chat, empty where the platform has none.
        group: The session of a group, empty where it has none.
        split: The session of a group under ``unique_session``, empty where AstrBot does not split.
    """

    adapter: str
    file: str
    event: str
    private: str = "{sender}"
    group: str = "{group}"
    split: str = ""


PLATFORMS = (
    Platform(
        "aiocqhttp",
        "aiocqhttp/aiocqhttp_platform_adapter.py",
        "AiocqhttpMessageEvent",
        split="{sender}_{group}",
    ),
    Platform("dingtalk", "dingtalk/dingtalk_adapter.py", "DingtalkMessageEvent", split="{sender}"),
    Platform(
        "discord",
        "discord/discord_platform_adapter.py",
        "DiscordPlatformEvent",
        private="{chat}",
    ),
    Platform("kook", "kook/kook_adapter.py", "KookEvent"),
    Platform("lark", "lark/lark_adapter.py", "LarkMessageEvent", split="{sender}%{group}"),
    Platform("line", "line/line_adapter.py", "LineMessageEvent"),
    Platform(
        "mattermost",
        "mattermost/mattermost_adapter.py",
        "MattermostMessageEvent",
        private="{chat}",
    ),
    Platform(
        "misskey",
        "misskey/misskey_adapter.py",
        "MisskeyPlatformEvent",
        private="chat%{sender}",
        group="room%{group}",
        split="room%{group}_{sender}",
    ),
    Platform(
        "qq_official",
        "qqofficial/qqofficial_platform_adapter.py",
        "QQOfficialMessageEvent",
        split="{sender}_{group}",
    ),
    Platform(
        "qq_official_webhook",
        "qqofficial_webhook/qo_webhook_adapter.py",
        "QQOfficialWebhookMessageEvent",
        split="{sender}_{group}",
    ),
    Platform(
        "satori",
        "satori/satori_adapter.py",
        "SatoriPlatformEvent",
        private="{chat}",
        group="{chat}",
    ),
    Platform("slack", "slack/slack_adapter.py", "SlackMessageEvent", split="{sender}_{group}"),
    Platform("telegram", "telegram/tg_adapter.py", "TelegramPlatformEvent"),
    Platform(
        "webchat",
        "webchat/webchat_adapter.py",
        "WebChatMessageEvent",
        private="webchat!{sender}!{chat}",
        group="",
    ),
    Platform("wecom", "wecom/wecom_adapter.py", "WecomPlatformEvent", group=""),
    Platform("wecom_ai_bot", "wecom_ai_bot/wecomai_adapter.py", "WecomAIBotMessageEvent"),
    Platform("weixin_oc", "weixin_oc/weixin_oc_adapter.py", "WeixinOCMessageEvent", group=""),
    Platform(
        "weixin_official_account",
        "weixin_official_account/weixin_offacc_adapter.py",
        "WeixinOfficialAccountPlatformEvent",
        group="",
    ),
)
"""Web chat carries AstrBot's HTTP API, too: the caller states the user."""


MADE: dict[str, tuple[tuple[str, str], ...]] = {
    "future task": (
        ("core/cron/manager.py", "CronMessageEvent"),
        ("core/cron/manager.py", "build_main_agent"),
    ),
    "background tool or background handoff that has ended": (
        ("core/astr_agent_tool_exec.py", "CronMessageEvent"),
        ("core/astr_agent_tool_exec.py", "build_main_agent"),
    ),
    "handoff to a sub-agent": (
        ("core/astr_agent_tool_exec.py", "tool_loop_agent"),
        ("core/star/context.py", "ToolLoopAgentRunner"),
    ),
    "message": (
        ("core/pipeline/process_stage/method/agent_sub_stages/internal.py", "build_main_agent"),
    ),
    "answer of the bot's own accord, or a plugin's question to the model": (
        ("builtin_stars/astrbot/main.py", "request_llm"),
    ),
    "message that a plugin makes up": (
        ("core/star/star_tools.py", "create_event"),
        ("core/platform/platform.py", "AstrMessageEvent"),
    ),
}
"""Where each kind of event, beside the messages of a platform, is made: file, and what is called
there."""
AGENTS = frozenset(
    {
        "build_main_agent",
        "tool_loop_agent",
        "request_llm",
        "create_event",
        "ToolLoopAgentRunner",
    }
)
"""What runs an agent for an event, or hands an event in."""
