"""Of which messages the person says that they are not to be kept, or asks for something to be
forgotten, and what only sounds like it."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.remember.rules.gate import (
    asks_to_forget,
    drops_the_last,
    is_off_the_record,
)

pytestmark = pytest.mark.unit


ASKS = """
这句别记：我明天去面试别家公司|我和小丽吵架了，别记|别记住这句，我在看新房子|這句別記，我想離職
我把礼物藏在柜子里（这句话不要记下来）|下面的话不要记。我欠了老李五千|你先别记，我还没想好|不要记
这个不要保存！我的卡在抽屉|不用记这个，我随口说的|接下来的内容请勿记录，我要面试
这事你别记啊，我可能要搬家|别把这个记下来，我随便说说|刚才说的不要记|我说的这些别存
不要記住這個，密碼我改天換|我可能要辞职 别记|off the record, I am looking for a new job
This is off the record: I owe Tom 500|I may quit (off the record)
Please don't remember this, I am seeing a doctor|do not save this message. I sold the car
I hate my boss. Don't store that.|Don’t note this down, we may move|don't record what I'm saying
hey bot, please don't log this one|keep this off the record
strictly off-record, I owe Tom 500|I owe Tom 500 (not for the record)|Not for the record: I may quit
"""
ASKS_OF_THE_LAST = """
刚才那句别记|刚才那句话不要记|刚刚那条别存|剛才那句別記|上一条不要记|前面那段别记了|我刚才说的别记住
把刚才那句忘了|刚才说的忘掉吧|忘掉我刚才说的|上一句删掉|麻烦把我刚刚发的那条删了|刚才的话当我没说
don't remember what I just said|please don't save my last message|forget what I just said
forget that last message|scratch what I just told you, ok|Strike that last bit.
delete my previous message|ignore and forget what I said just now|off the record, what I just said
"""
ASKS_NOT = """
别忘了明天开会|别记错了，是三楼|不要忘记带伞|别记仇了，和好吧|不要记混这两个
上课不要记笔记，听就行|别记账了，我来|老师说这个公式不用记|妈妈让我别记恨他|不记得了
这句要不要记？|为什么不记？|我不记得这件事|别记在本子上，打字给我|记住，别告诉小明|他叫我不要存钱
不用保存文件也能关|这句话别记错|特别记得那天|告别记|区别记一下|分别记住这两个|个别记录有问题
别记挂家里|I don't remember this|she doesn't store that here|don't forget this
what does off the record mean|don't save the file yet|we had an off the record interview
he said it off the record and they printed it|don't remember the password?|do you not remember it
刚才那句你都忘了吗|我把刚才说的都忘了|老师刚才说的我忘了|别忘了刚才那句|刚才那条删了吗|上一条街右转
I forgot what I just said|don't forget what I just said|did you delete my last message?
I can't remember what I just said|forget what he said about the car|for the record, I was there
"""


def _each(lines: str) -> list[str]:
    return [one for line in lines.split("\n") for one in line.split("|") if one]


@pytest.mark.parametrize("text", _each(ASKS))
def test_a_message_that_asks_not_to_be_kept_is_known(text: str) -> None:
    assert is_off_the_record(text)


@pytest.mark.parametrize("text", _each(ASKS_OF_THE_LAST))
def test_one_may_mean_the_message_before(text: str) -> None:
    assert drops_the_last(text)
    assert is_off_the_record(text)


@pytest.mark.parametrize("text", _each(ASKS))
def test_one_may_mean_itself_alone(text: str) -> None:
    assert drops_the_last(text) is (text in ("刚才说的不要记",))


@pytest.mark.parametrize("text", _each(ASKS_NOT))
def test_a_reminder_and_what_is_said_of_others_is_none(text: str) -> None:
    assert not is_off_the_record(text)


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
