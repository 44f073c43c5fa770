"""Rejects texts not worth a memory: too short, a title alone, filler, only code, or a mere guess.

Rejecting a text that the speaker wanted kept costs more than keeping a line of chatter: a text is
rejected only if *all* of it is chatter or code, or if the speaker calls it a guess and hedges it.
"""

from __future__ import annotations

import json
import re

from ...models.data_models import RejectReason
from ...text.lazy_pattern import lazy_pattern
from ...text.scripts import WIDE, fold
from .console_text import is_command, is_search_result

_LEAST = 4
"""A Han character, kana or Hangul syllable counts two, any other letter or digit one."""


# One piece of chatter. Longest first: the rest after a piece must be chatter, too.
_FILLER = lazy_pattern(
    r"(?:"
    r"不好意思|没关系|没问题|不客气|不用谢|知道了?啦?|明白了?|了解了?|收到了?|谢谢(?:你们?|您|"
    r"大家|啦|了)?|"
    r"多谢|感谢(?:你|您)?|辛苦了?|早上好|中午好|下午好|晚上好|早安|晚安|午安|你们?好|您好|大家好|"
    r"在吗|"
    r"在不在|再见|拜拜|回头见|好嘞|好呀|好吧|好[的滴哒]?|行吧?|可以的?|是的?|对的?|没事|不用了?|"
    r"真的吗?|这样啊?|那就这样|就这样|随便|不知道|那|笑死(?:我了?)?|23{3,}|6{3,}|"
    r"[嗯哦噢喔啊呃额唔诶欸哎唉哈呵嘿嘻嘛呀吧呢啦了哇的]|"
    r"はい|うん|ええ|ありがとう(?:ございます)?|了解(?:です|しました)?|おはよう|こんにちは|"
    r"(?:no problem|you'?re welcome|you are welcome|thank you(?: (?:so|very) much)?|"
    r"thanks(?: a lot)?|thank u|okey[ -]?dokey|"
    r"good (?:morning|afternoon|evening|night)|see you(?: later)?|got it|i see|sounds good|"
    r"all right|"
    r"never ?mind|of course|no worries|i don'?t know|idk|okay|ok|thx|ty|sure|yes|yeah|yep|yup|"
    r"nope|no|"
    r"great|cool|fine|nice|good|perfect|awesome|alright|right|hello|hi+|hey+|bye|goodbye|lol|lmao|"
    r"(?:ha){2,}h?|(?:he){2,}|hm+|um+|uh+|oh+|ah+|wow|please|understood|noted|roger|done|well|so|"
    r"and|"
    r"then|k|kk)(?![a-z0-9])"
    r")"
)
_HEDGE = lazy_pattern(
    r"可能|也许|或许|大概|大约|好像|似乎|应该|说不定|没准|估计|我猜|猜|恐怕|不一定|不确定|"
    r"不太?清楚|"
    r"谁知道|(?:maybe|perhaps|possibly|probably|presumably|likely|might(?: be)?|could be|i guess|"
    r"i suppose|i think|i(?:'m| am) guessing|not sure|who knows|kind of|sort of|"
    r"it depends)(?![a-z])"
)
# Words without content of their own beside a hedge.
_LITTLE = lazy_pattern(
    r"我们?|你们?|他们?|她们?|它|是|会|有|这样?|那样?|也|都|就|还|不|很|太|觉得|感觉|"
    r"(?:i|it|is|so|that|this|he|she|they|we|you|be|do|does|yes|no|but|or|a|the|not|will|"
    r"would)(?![a-z])"
)
_GUESS = lazy_pattern(
    r"我(?:只是|就是|也是)?(?:瞎|乱)?猜|我估计|我也?不太?(?:确定|清楚|敢肯定)|"
    r"\b(?:i guess|i suppose|i(?:'m| am) (?:just )?guessing|my guess|just a guess|"
    r"i(?:'m| am) not (?:really )?sure|not sure)\b",
    re.IGNORECASE,
)
_DOUBT = lazy_pattern(
    r"可能|也许|或许|大概|好像|似乎|说不定|没准|吧|"
    r"\b(?:maybe|perhaps|possibly|probably|might|may|could)\b",
    re.IGNORECASE,
)
_WORRY = lazy_pattern(r"是否|要不要|该不该|\b(?:whether|sure (?:if|about))\b", re.IGNORECASE)
_LONGEST_GUESS = 80


def flaw(judgment: str) -> RejectReason | None:
    """Returns why a text is not worth a memory, None if it is."""
    words = _words(judgment)
    if _covered(words, _FILLER):
        return RejectReason.FILLER
    if _is_empty_guess(words) or _is_guess(judgment):
        return RejectReason.SPECULATION
    if _weight(words) < _LEAST or _is_title(judgment):
        return RejectReason.TOO_SHORT
    return RejectReason.CODE if is_code(judgment) else None


def _words(text: str) -> str:
    """Returns the text in lower case, with a single blank for signs other than apostrophes."""
    folded = fold(text).replace("’", "'")
    kept = (c if c.isalnum() or c == "'" else " " for c in folded)
    return " ".join("".join(kept).split())


def _weight(words: str) -> int:
    letters = words.replace(" ", "").replace("'", "")
    return len(letters) + len(WIDE.findall(letters))


def _covered(words: str, *pieces: re.Pattern[str]) -> bool:
    """True if the text consists of such pieces only. One pass; no piece is tried twice."""
    at = 0
    while at < len(words):
        if words[at] == " ":
            at += 1
            continue
        ends = (match.end() for piece in pieces if (match := piece.match(words, at)))
        end = max(ends, default=at)
        if end == at:
            return False
        at = end
    return True


def _is_empty_guess(words: str) -> bool:
    hedged = _HEDGE.search(words) is not None
    return hedged and _covered(words, _FILLER, _HEDGE, _LITTLE)


def _is_guess(text: str) -> bool:
    """True if the speaker calls the text a guess, and hedges it once more in other words.

    A long text has content besides its guess; "not sure whether" is a worry, which is a fact.
    """
    if len(text) > _LONGEST_GUESS or _WORRY.search(text):
        return False
    return bool(_GUESS.search(text)) and bool(_DOUBT.search(_GUESS.sub(" ", text)))


def is_doubtful(text: str) -> bool:
    """True if a text has a word of doubt: perhaps, 可能."""
    return _DOUBT.search(text) is not None


_TITLE = re.compile(
    r"\s*#{1,6}\s+[^，。；：:,;!！?？]*|[^，。；,;!！?？]*[：:]\s*|\s*(?:[-=*_]\s?){3,}"
)


def _is_title(text: str) -> bool:
    """True for Markdown headings, rules and labels with nothing behind them."""
    return all(_TITLE.fullmatch(line) for line in text.strip().split("\n") if line.strip())


_FENCED = re.compile(r"\s*(```|~~~)[^\n]*\n.*\n?\s*\1\s*", re.DOTALL)
_STRONG = lazy_pattern(
    r"""\s*(?:
      (?:async\s+)?def\s+\w+\s*\(.*                                   # Python
    | class\s+\w+\s*(?:\([^)]*\))?\s*[:{]\s*
    | from\s+[\w.]+\s+import\s+[\w*(][\w\s,*().]*
    | import\s+[\w.]+(?:\s+as\s+\w+)?;?
    | @\w[\w.]*(?:\(.*\))?
    | (?:export\s+)?(?:async\s+)?function\b.*[({].*                   # JavaScript
    | (?:export\s+)?(?:const|let|var)\s+[\w{\[].*=.*
    | import\s+.+\s+from\s+['"].+['"];?
    | \#\s*(?:include|define|ifdef|ifndef|pragma)\b.*                 # C
    | (?:using\s+namespace\s+\w+|package\s+[\w.]+);?
    | (?:(?:public|private|protected|static|final|void|int|long|float|double|bool|boolean|char|
        string|String|auto|fn|func|struct|enum|interface|impl)\s+)+[\w<>\[\]*&]+\s*(?:\(.*|\{.*|=.*;)
    | (?:if|for|while|switch|elif|else\s+if|catch|with)\b[^\u4e00-\u9fff]*(?:\)\s*\{?|\{|\w\)?:)\s*
    | (?:if|for|while)\b[^\u4e00-\u9fff]*:\s*(?:pass|break|continue)\s*
    | [\w.$\[\]'"]+\s*(?:[-+*/%|&^]|<<|>>)?=\s*[^=].*;                # a = b;
    | [A-Za-z_]\w*\s*=\s*[\[({].*\sfor\s+\w+\s+in\s.*[\])}]          # a = [f(b) for b in c]
    | export\s+[A-Z][A-Z0-9_]*=\S*                                    # a shell's
    | (?:\$\s+)?(?:sudo\s+)?(?:ls|git|docker|kubectl|curl|wget|tar|chmod|chown|grep|find|ssh|scp|
        rsync|ps|df|du|rm|cp|mv|mkdir|pip3?|npm|apt(?:-get)?|python3?|systemctl|journalctl)
        (?:\s+[^\s\u4e00-\u9fff]+){0,9}\s+--?[A-Za-z][\w-]*(?:[=\s][^\u4e00-\u9fff]*)?
    | [A-Za-z_$][\w.$]*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*[;{]?        # call(x)
    | [A-Za-z_]\w*\s*(?:[-+*/%]?=|:=)\s*[A-Za-z_][\w.]*\(.*\);?       # x = call(y)
    | (?:</?[A-Za-z!][^<>]*>\s*)+                                      # markup
    | (?i:select\s.+\sfrom\s.+|insert\s+into\s.+|update\s+\w+\s+set\s.+|delete\s+from\s.+|
        (?:create|drop|alter)\s+table\s.+);
    | SELECT\s[^\u4e00-\u9fff]{1,400}\sFROM\s[^\u4e00-\u9fff]+
    )\s*""",
    re.VERBOSE,
)
_WEAK = lazy_pattern(
    r"\s*(?:[\[\](){};,]+|(?:return|else|try|finally|break|continue|pass|raise|throw|yield|end|"
    r"fi|done)"
    r"\b[^\u4e00-\u9fff]*[;:{}]?|\w+\s*[-+*/]?=\s*\S.*|(?:\#|//|/\*|\*|--|<!--|</?[A-Za-z]).*|"
    r"[^\u4e00-\u9fff]*[;{}])\s*"
)
_REMARK = re.compile(r"(?<=[;:){}\w])\s+(?:#|//)\s.*")
_LONGEST_CODE = 4_000


def is_code(text: str) -> bool:
    """True if a text is code or data without any prose.

    Every line must look like code, and one of them must be unmistakable: "from Beijing he moved"
    and "import duties rose" are prose, "from math import pi" is not.
    """
    stripped = text.strip()
    if _FENCED.fullmatch(stripped):
        return True
    if _is_json(stripped):
        return True
    lines = [_REMARK.sub("", line) for line in stripped[:_LONGEST_CODE].split("\n") if line.strip()]
    strong = [
        bool(_STRONG.fullmatch(line)) or is_command(line) or is_search_result(line)
        for line in lines
    ]
    if not any(strong):
        return False
    return all(
        is_strong or _WEAK.fullmatch(line) for line, is_strong in zip(lines, strong, strict=True)
    )


def _is_json(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
