"""What a person has said in a message: its plain parts.

AstrBot's ``message_str`` holds more: the nickname of a mentioned member, the name of a file, the
words of a quoted voice message. Others have chosen those: a mention is ``@`` and the account.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from astrbot.api import message_components as parts
from astrbot.api.event import AstrMessageEvent
from astrbot.api.message_components import At, BaseMessageComponent, Plain, Reply

_OWN = (Plain, parts.Image, parts.Record, parts.Video, parts.Face)
"""What holds no words but the sender's."""
_UTF16 = "utf-16-le"
"""Telegram counts in its units, of two bytes."""


def said_words(event: AstrMessageEvent) -> str:
    """What the sender has said, without the mark that wakes the bot."""
    said: str = event.message_str.strip()
    chain: Sequence[BaseMessageComponent] = event.get_messages()
    # Everybody, and the bot on QQ's official platform.
    mine = {str(event.get_self_id()), "all", "qq_official"}
    spelled = _telegram_words(telegram_message(event))
    if spelled is not None:
        chain = [*(part for part in chain if not isinstance(part, Plain)), Plain(spelled)]
    elif not any(_holds_others(part, mine, said) for part in chain):
        return said
    written = str(event.message_obj.message_str).strip()
    if not written.endswith(said):  # a plugin has spelled it otherwise
        return _without_names(said, chain)
    return _words(chain, mine).removeprefix(written.removesuffix(said).strip()).strip()


def quoted_words(event: AstrMessageEvent) -> str:
    """The message that this one replies to, empty for none or one without words."""
    for part in event.get_messages():
        if isinstance(part, Reply):
            replied = getattr(telegram_message(event), "reply_to_message", None)
            spelled = _telegram_words(replied)
            if spelled is None:
                spelled = _words(part.chain, ()) if part.chain else part.message_str or ""
            return spelled.strip()
    return ""


def _holds_others(part: BaseMessageComponent, mine: Collection[str], said: str) -> bool:
    if isinstance(part, At):
        return str(part.qq) not in mine or bool(part.name and part.name in said)
    return not isinstance(part, _OWN)


def _words(chain: Sequence[BaseMessageComponent], mine: Collection[str]) -> str:
    plain = "".join(part.text for part in chain if isinstance(part, Plain))
    said = ""
    for part in chain:
        if isinstance(part, Plain):
            said += part.text
        elif not isinstance(part, At):
            said += " "
        elif str(part.qq) not in mine and _mention(part) not in plain:  # Telegram has it twice
            said += f" {_mention(part)} "
    return said.strip()


def _mention(part: At) -> str:
    """Where the platform gives no id, AstrBot may put a name in its place."""
    account = str(part.qq)
    return f"@{account}" if re.fullmatch("[!-~]{1,64}", account) else "@"


def _without_names(said: str, chain: Sequence[BaseMessageComponent]) -> str:
    """The words where only their text is left: as adapters write mentions, each is replaced."""
    mentions = [part for part in chain if isinstance(part, At) and part.name]
    for part in sorted(mentions, key=lambda one: -len(str(one.name))):
        for written in (f"@{part.name}({part.qq})", f"@{str(part.name).strip()}"):
            said = said.replace(written, _mention(part))
    return said


def telegram_message(event: AstrMessageEvent) -> Any:
    """Telegram's own message, None of any other platform."""
    if event.get_platform_name() != "telegram":
        return None
    return getattr(getattr(event.message_obj, "raw_message", None), "message", None)


def _telegram_words(message: Any) -> str | None:
    """A message's text with accounts for names; None where it mentions only user names, which are
    accounts. Of a member without one, AstrBot tells the name as plain text alone."""
    found = getattr(message, "entities", None) or getattr(message, "caption_entities", None) or ()
    named = [entity for entity in found if entity.type == "text_mention"]
    if not named:
        return None
    text = (message.text or message.caption or "").encode(_UTF16)
    for one in reversed(named):
        start, end = 2 * one.offset, 2 * (one.offset + one.length)
        text = text[:start] + f"@{one.user.id}".encode(_UTF16) + text[end:]
    return text.decode(_UTF16)
