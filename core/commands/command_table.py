"""The commands of ``/memory`` as AstrBot registers them. AstrBot waits for the import of this
module, so the functions behind the names stand in ``commands.py``."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """``name`` stands behind ``/memory``; AstrBot keeps by it what an owner changed in its panel.
    ``aliases`` are further names, divided by blanks; ``doc`` is what the panel says of it;
    ``english`` is the alias that English texts use in place of ``name``."""

    name: str
    aliases: str
    doc: str
    english: str = ""

    def called(self, language: str) -> str:
        """Returns the name that help and replies use: the first alias is the Chinese one."""
        return (self.english or self.name) if language == "en" else self.aliases.split()[0]


COMMANDS = (
    Row("help", "帮助", "怎么用这些指令"),
    Row("status", "状态", "记忆插件的状态"),
    Row("scope", "域", "这里归哪个域、为什么；管理员后面写域名就换：/memory scope <域>"),
    Row("join", "加入", "请管理员让这里归一个域：/memory join <域>"),
    Row("list", "列表", "这里看得到的最新记忆"),
    Row("todo", "待办", "还没做完的事"),
    Row("search", "搜索 搜寻 查找 找 find", "搜索记忆：/memory search <词>"),
    Row("why", "为什么", "上一次为什么想起了这些，或什么也没想起；后面写 前 2，看更早的"),
    Row("add", "记住", "记住一句话：/memory add <内容>"),
    Row(
        "forget", "忘记 删除 delete remove", "忘记一条（本人或管理员，能撤销）：/memory forget <号>"
    ),
    Row("pause", "暂停", "这里什么也不记、不想起（群里由管理员发）：/memory pause [多久]"),
    Row("resume", "继续 取消暂停 unpause", "暂停以后接着记"),
    Row("reflect", "反思", "马上读这里等着读的对话，从中学习（管理员）"),
    Row(
        "letters",
        "搁置 failed",
        "读不成的对话（管理员）：/memory failed [retry [批号] | drop <批号>]",
        "failed",
    ),
    Row("edit", "改写 修改", "改写一条（管理员，能撤销）：/memory edit <号> <内容>"),
    Row("move", "移动", "移到另一个域（管理员，能撤销）：/memory move <号> <域>"),
    Row("yes", "是 是的 确认 confirm", "问过你要不要做的，就做；管理员：确认警告里等着确认的"),
    Row("no", "否 不 不要 取消 算了 拒绝 cancel reject", "问过你要不要做的，不做了"),
    Row("export", "导出", "把这里看得到的记忆导出成文件（管理员）"),
    Row("import", "导入", "把 imports/ 里的文件导入这里的域（管理员）：/memory import <文件名>"),
    Row("backup", "备份", "把全部记忆、会话表和设置写成一个文件（管理员）"),
    Row("restore", "还原", "从备份的文件还原，先说会变什么（管理员）：/memory restore <文件名>"),
    Row("undo", "撤销 恢复 找回", "撤销自己上一次的忘记、改写、移动或带来：/memory undo [编号]"),
    Row(
        "decide",
        "决定",
        "提议、接受、否决、取代、撤回决定（管理员）：/memory decide [accept <编号>]",
    ),
    Row(
        "soul",
        "语气 人格",
        "这里的人格学到的说话习惯；管理员改它：/memory soul [propose <想要的>|apply|undo]",
    ),
    Row(
        "sleep",
        "整理 tidy",
        "现在就做一次夜间整理，再发一次看结果（管理员）：/memory tidy [now|status]",
        "tidy",
    ),
    Row(
        "migrate",
        "迁移",
        "旧记忆收进来得怎样（管理员）：/memory migrate [dry-run|start|undo|take-back <批次>]",
    ),
)
