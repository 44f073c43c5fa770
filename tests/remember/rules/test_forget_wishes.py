"""A wish that something is forgotten, and what only sounds like one."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.remember.rules.off_the_record import asks_to_forget

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "words",
    [
        *(
            "忘掉吉他那件事",
            "把我说的生日忘了吧",
            "请忘记我女朋友的名字",
            "你能忘了它吗",
            "忘了我说的",
        ),
        *("刪掉那條記憶", "把它删了", "請把這個忘記", "幫我清除這筆", "抹去这段", "别记这个了"),
        *("這件事不要再提", "不用再记我的住址了", "以后别再记我几点睡", "忘!", "我想让你忘了这事"),
        *("Forget that", "please delete it", "remove what I said about Bob", "Can you erase this?"),
        *("get rid of my old address", "stop remembering where I live", "Don't keep my birthday"),
    ],
)
def test_it_is_a_wish(words: str) -> None:
    assert asks_to_forget(words)


@pytest.mark.parametrize(
    "words",
    [
        *(
            "今天天气真好",
            "别忘了明天开会",
            "不要忘记带伞",
            "我忘了带钥匙",
            "千万別忘了",
            "我都忘了",
        ),
        *(
            "难忘的一天",
            "他健忘",
            "我老忘事",
            "没忘",
            "她忘了关灯",
            "不要删我的东西",
            "忘不了",
            "勿忘我",
        ),
        *(
            "Don't forget the milk",
            "never forget this",
            "I forget where it is",
            "I forgot",
            "hello",
        ),
        *("do not delete anything", "unforgettable", "Never remove it"),
    ],
)
def test_it_only_sounds_like_one(words: str) -> None:
    assert not asks_to_forget(words)
