"""Which questions ask for all of a topic, and which texts merely hold its word."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.questions.topic import (
    TopicQuestion,
    topic_questions,
)

pytestmark = pytest.mark.unit

PREFERENCES = """
我有什么偏好
我有哪些喜好？
我有什么忌口来着
请问我的偏好是什么
我的口味有哪些
列出我的所有偏好
帮我总结一下我的喜好
你还记得我的偏好吗
你知道我有哪些爱好吗
早上好！我有什么习惯？
我们都有什么爱好
what are my preferences
What are my preferences?
what are all of my preferences again
list my preferences please
can you show me my preferences
do you remember my likes and dislikes
what preferences have I told you about
what are my dietary restrictions
hey, what are our hobbies?
do I have any allergies
"""
SOME_PREFERENCES = """
我喜欢吃什么来着
我喜欢吃什么
我不喜欢什么
我讨厌什么呢
我最喜欢什么颜色
你还记得我爱喝什么吗
我喜欢的是什么
我对什么过敏
我喜欢听哪种音乐
我不吃什么
what do I like to eat
What do I like?
what food do I prefer
what am I allergic to?
what's my favorite color
what do I hate the most
"""
INSTRUCTIONS = """
你要遵守哪些规矩
你必须遵守什么规则
你需要遵守的有哪些规定吗？你要遵守哪些规定
有哪些规矩你要遵守
你有什么规矩
你的规则是什么
我给你定过哪些规矩
我给你定的规矩是什么
还记得我给你定的规矩吗
我跟你说过什么要求
我要求你遵守什么
我不许你不做什么？你必须做什么
要守哪些规矩来着
what rules did I give you
what instructions have I given you so far
which rules do you follow
what rules must you follow?
what are your rules
what are my instructions for you
what are the rules I gave you
do you remember the rules I gave you
list all of your rules
what did I tell you never to do
which rules apply to you
"""
TASKS = """
还有哪些待办
我还有哪些待办事项？
有什么待办
有没有未完成的任务
我今天有哪些任务
我还有什么事没做完
还有什么没做的
我的待办有哪些
待办清单有什么
列出我的待办
帮我看看还没做的待办？我的任务是什么
哪些任务还没完成
我今天要做什么
我还要做些什么事
any open tasks
any open tasks?
are there any pending tasks left
do I have any tasks today
what are my tasks
what are the open tasks
what tasks do I have
which tasks are still open
what's on my todo list
what's left to do
what do I still have to do this week
show me my open tasks
"""
OTHERS = """
任务栏怎么打开
任务管理器占用太高
这个游戏有什么任务
今天的任务完成了
我有一个任务想交给你
给我安排一个任务
主线任务怎么做
待办软件哪个好用
帮我把这件事加进待办
我喜欢这首歌
我喜欢你
我爱吃辣
我喜欢什么都不做
为什么我喜欢下雨天
他喜欢吃什么
你喜欢什么
你有什么爱好
大家喜欢这个方案吗
他有什么偏好
偏好设置在哪里
怎么改偏好设置
系统偏好设置打不开
养成好习惯的方法
这个习惯不好
这道题必须用公式
必须遵守交通规则
开车要遵守哪些规则
围棋的规则是什么
这个游戏有什么规矩
他不守规矩
你能做什么
我该做什么
公司有哪些规定
学校规定不能带手机
机器学习有哪些任务
我对你有什么要求都可以满足
我昨天喜欢上了什么都不想的感觉
the task manager is slow
kill the task
what tasks can you do
what are the tasks of a mayor
what do I need to do to install Python
any task queue library for Python
assign this task to Bob
what is a to-do app
I like this song
what do you like
what is it like
what are my preferences.json settings for
open the preferences window
set my preferences in Firefox
what are preferences in Xcode
my favorite song is on the radio
what are the rules of chess
what rules apply to tax returns
give me instructions for assembling the shelf
you must follow the rules of the road
what instructions does this CPU have
I followed your instructions
what do they like to eat
在那部电影里，我最喜欢哪个场景
in the office, what are my tasks

。？！
"""


def _lines(table: str) -> list[str]:
    return table.strip().splitlines()


@pytest.mark.parametrize(
    ("table", "topic", "narrowed"),
    [
        (PREFERENCES, Topic.PREFERENCES, False),
        (SOME_PREFERENCES, Topic.PREFERENCES, True),
        (INSTRUCTIONS, Topic.INSTRUCTIONS, False),
        (TASKS, Topic.TASKS, False),
    ],
)
def test_a_question_for_a_topic_is_known_as_one(table: str, topic: Topic, narrowed: bool) -> None:
    expected = (TopicQuestion(topic, narrowed),)
    wrong = {line: topic_questions(line) for line in _lines(table)}
    assert {line: found for line, found in wrong.items() if found != expected} == {}


def test_a_text_that_merely_holds_the_word_asks_for_no_topic() -> None:
    taken = {line: topic_questions(line) for line in OTHERS.splitlines()}
    assert {line: found for line, found in taken.items() if found} == {}


def test_two_questions_ask_for_two_topics() -> None:
    asked = topic_questions("我有什么偏好？还有哪些待办？")
    assert [one.topic for one in asked] == [Topic.PREFERENCES, Topic.TASKS]


def test_who_asks_for_all_and_for_a_part_asks_for_all() -> None:
    for text in ("我喜欢吃什么？我有什么偏好？", "我有什么偏好？我喜欢吃什么？"):
        assert topic_questions(text) == (TopicQuestion(Topic.PREFERENCES, False),)
