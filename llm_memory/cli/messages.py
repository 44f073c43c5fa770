"""What is said at the command line, in the language of the person there."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Final

from ..models.said import Said, Spoken
from ..models.transfer import RefusedLine, TransferFault

DONE, FAILED, MISUSED, PARTLY = 0, 1, 2, 3
"""Exit codes: all was done, nothing was, what was asked cannot be done, all but some lines."""
_FAULTS: Final[dict[str, Said]] = {
    TransferFault.NOT_FOUND: Said("没有这个文件：{}", "no such file: {}"),
    TransferFault.NOT_A_FILE: Said(
        "不是普通文件（链接也不行）：{}", "not a plain file (a link is not allowed either): {}"
    ),
    TransferFault.UNREADABLE: Said("读不了：{}", "cannot be read: {}"),
    TransferFault.NO_HEADER: Said(
        "第 1 行不是 scoped-memory 的文件头，不是导出的文件",
        "line 1 is not the header of a scoped-memory file, so this is not an exported file",
    ),
    TransferFault.NEWER: Said(
        "是更新的版本导出的，请先升级插件：{}",
        "it was exported by a newer version, upgrade the plugin first: {}",
    ),
    TransferFault.NOT_WRITTEN: Said("没能写入磁盘：{}", "could not be written to disk: {}"),
}
_LANGUAGE: Final[ContextVar[Spoken]] = ContextVar("language", default="en")


class Refusal(Exception):
    """Nothing was done; the text says why, in the language that is spoken."""

    def __init__(self, zh: str, en: str) -> None:
        super().__init__(words(zh, en))


def speak(language: Spoken) -> None:
    """Set the language of what is said from now on."""
    _LANGUAGE.set(language)


def words(zh: str | Said, en: str = "") -> str:
    """Returns the line in the language that is spoken. Without ``en`` it is the same in both."""
    said = zh if isinstance(zh, Said) else Said(zh, en or zh)
    return said.text(_LANGUAGE.get())


def say(zh: str | Said, en: str = "") -> None:
    """Print a line for the caller."""
    sys.stdout.write(f"{words(zh, en)}\n")


def say_value(zh: str, en: str, value: object) -> None:
    """Print a line with what something is called, and what it is."""
    said = words(value) if isinstance(value, Said) else value
    say(f"{zh}：{said}", f"{en}: {said}")


def say_json(content: object) -> None:
    """Print what scripts read; what JSON does not know is its text."""
    say(json.dumps(content, ensure_ascii=False, indent=2, default=str))


def fail(zh: str | Said, en: str = "", *, code: int = FAILED) -> int:
    """Print why nothing was done. Returns the exit code for that."""
    sys.stderr.write(f"{words(zh, en)}\n")
    return code


def agrees(zh: str, en: str) -> bool:
    """Ask the person at the terminal. Returns True for a yes."""
    sys.stderr.write(f"{words(zh, en)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes", "是", "要"}


def warn(texts: Iterable[Said]) -> None:
    """Print what was passed over."""
    for text in texts:
        fail(f"注意：{text.zh}", f"note: {text.en}")


def shown(text: str) -> str:
    """Returns what can stand on a terminal: what is stored may hold control characters."""
    return "".join(c for c in text if c == "\n" or unicodedata.category(c)[0] != "C")


def fault_text(code: str, detail: str) -> str:
    """Why a file was not taken or not written."""
    return words(_FAULTS.get(code, Said(f"{code}: {{}}", f"{code}: {{}}"))).format(detail)


def tell_lines(lines: Sequence[RefusedLine], refused: int, *, cut_short: bool) -> int:
    """Say which lines were refused, and why; the exit code."""
    for line in lines:
        why = line.rejected.reason if line.rejected else line.fault
        detail = f" ({line.detail})" if line.detail else ""
        say_value(f"第 {line.number} 行没有收下", f"line {line.number} refused", f"{why}{detail}")
    if more := refused - len(lines):
        say(f"还有 {more} 行没有收下", f"{more} more lines refused")
    if cut_short:
        say("文件没有最后一行，像是没有写完或没有复制完", "the file has no last line: cut short?")
    return PARTLY if refused or cut_short else DONE
