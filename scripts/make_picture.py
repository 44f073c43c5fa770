"""The picture in the README: a chat that a run of the demo really had.

    python scripts/make_picture.py [TRANSCRIPT]

Without a transcript (the output of `make demo ARGS=--exit`) the demo is run first. Needs chromium
and a font with Chinese characters, such as Noto Sans CJK.
"""

import html
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "demo.png"
WIDTH = 1200

FAMILY = "aiocqhttp:GroupMessage:777"
FATHER = "aiocqhttp:FriendMessage:1002"
COMPANY = "aiocqhttp:GroupMessage:888"
FILE = "memory/scopes/家人/preferences.md"
LAST_STEP = 5  # what follows in the story is about other memories

_CHROMIUM = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_STEP = re.compile(r"【(\d+)/\d+】(.*)")
_PLACE = re.compile(r"  ▸ (\S+)")
_MAPPING = re.compile(r"    (\S+:\S+:\S+) → (\S+)")
_SAID = re.compile(r"    (注入|工具|机器人)：(.*)")
_WORDS = re.compile(r"    (\S.*?) · (.+?)：(.*)")
_FILE = re.compile(r"  ── (.+)")


@dataclass(slots=True)
class Turn:
    """One message as the transcript tells it; `said` maps 注入, 工具 and 机器人 to their lines."""

    step: int
    umo: str
    place: str = ""
    who: str = ""
    text: str = ""
    said: list[tuple[str, list[str]]] = field(default_factory=list)

    def of(self, kind: str) -> Iterator[str]:
        """The texts of one kind."""
        return ("\n".join(lines) for name, lines in self.said if name == kind)


@dataclass(slots=True)
class Transcript:
    """What is needed of the demo's output."""

    scopes: dict[str, str] = field(default_factory=dict)
    steps: dict[int, str] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    started: str = ""

    def at(self, umo: str) -> list[Turn]:
        """The turns of one conversation in the part of the story that the picture shows."""
        return [turn for turn in self.turns if turn.umo == umo and turn.step <= LAST_STEP]


def read(lines: Iterable[str]) -> Transcript:
    """Parse the demo's output."""
    transcript = Transcript()
    file: list[str] | None = None
    for line in lines:
        if match := _FILE.fullmatch(line):
            file = transcript.files.setdefault(match[1], [])
        elif file is not None and line.startswith("     "):
            file.append(line[5:])
        else:
            _read_story(transcript, line)
    return transcript


def _read_story(transcript: Transcript, line: str) -> None:
    turn = transcript.turns[-1] if transcript.turns else None
    if match := _STEP.fullmatch(line):
        transcript.steps[int(match[1])] = match[2]
    elif match := _PLACE.fullmatch(line):
        transcript.turns.append(Turn(max(transcript.steps), match[1]))
    elif turn is None:
        if match := _MAPPING.fullmatch(line):
            transcript.scopes[match[1]] = match[2]
        elif line.startswith("已启动："):
            transcript.started = line.removeprefix("已启动：")
    elif match := _SAID.fullmatch(line):
        turn.said.append((match[1], [match[2]]))
    elif not turn.text and (match := _WORDS.fullmatch(line)):
        turn.place, turn.who, turn.text = match.groups()
    elif line.startswith("        ") and turn.said:
        turn.said[-1][1].append(line[8:])


def page(transcript: Transcript) -> str:
    """The picture as HTML."""
    note = f'<div class="note">{_text(transcript.steps[3])}</div>'
    columns = [
        _column(transcript, FAMILY),
        _column(transcript, FATHER, before=note),
        _column(transcript, COMPANY),
    ]
    content = "\n".join(transcript.files[FILE]).strip()
    return f"""<!doctype html><meta charset="utf-8"><style>{_STYLE}</style><body>
<div class="columns">{"".join(columns)}</div>
<div class="file"><div class="path">{_text(FILE)}</div><pre>{_text(content)}</pre></div>
<div class="foot">{_text(transcript.started)} · make demo</div>
</body>"""


def _column(transcript: Transcript, umo: str, *, before: str = "") -> str:
    turns = transcript.at(umo)
    if not turns:
        raise LookupError(f"nothing was said in {umo}")
    scope = transcript.scopes[umo]
    kind = "family" if scope == transcript.scopes[FAMILY] else "other"
    head = (
        f'<div class="head"><b>{_text(_title(turns[0]))}</b>'
        f'<span class="scope">域：{_text(scope)}</span>'
        f'<div class="umo">{_text(umo)}</div></div>'
    )
    return f'<div class="column {kind}">{head}{before}{"".join(map(_turn, turns))}</div>'


def _title(turn: Turn) -> str:
    return turn.place if turn.place != "私聊" else f"私聊 {turn.umo.rpartition(':')[2]}"


def _turn(turn: Turn) -> str:
    injected = next(turn.of("注入"))
    if injected == "（无）":
        pieces = ['<div class="added none">没有附上记忆</div>']
    else:
        pieces = [f'<div class="added"><i>调用模型之前附上</i><pre>{_text(injected)}</pre></div>']
    pieces += [f'<div class="tool"><i>工具</i> {_text(result)}</div>' for result in turn.of("工具")]
    asked = _bubble(turn.who, turn.text, "person")
    return asked + "".join(pieces) + _bubble("机器人", next(turn.of("机器人")), "bot")


def _bubble(who: str, text: str, kind: str) -> str:
    face = f'<div class="face">{_text(who[:1])}</div>'
    said = f'<div class="who">{_text(who)}</div><div class="bubble">{_text(text)}</div>'
    return f'<div class="row {kind}">{face}<div>{said}</div></div>'


def _text(text: str) -> str:
    return html.escape(text, quote=False)


_STYLE = """
* { box-sizing: border-box; margin: 0; }
body { width: 1200px; padding: 20px; background: #e9ecef; color: #212529;
  font: 16px/1.5 "Noto Sans CJK SC", "WenQuanYi Zen Hei", sans-serif; }
.columns { display: grid; grid-template-columns: repeat(3, 1fr); gap: 14px; }
.column { background: #f6f7f8; border-radius: 10px; padding-bottom: 14px; overflow: hidden; }
.head { background: #fff; padding: 10px 14px; border-top: 4px solid var(--c); margin-bottom: 10px; }
.family { --c: #2f9e44; } .other { --c: #1971c2; }
.scope { float: right; background: var(--c); color: #fff; border-radius: 10px; padding: 0 10px;
  font-size: 14px; }
.umo { font: 13px/1.5 "DejaVu Sans Mono", monospace; color: #868e96; }
.row { display: flex; gap: 8px; padding: 6px 14px; }
.face { flex: none; width: 34px; height: 34px; border-radius: 17px; background: #ced4da;
  text-align: center; line-height: 34px; font-size: 15px; }
.who { font-size: 13px; color: #868e96; }
.bubble { display: inline-block; background: #fff; border-radius: 4px 12px 12px 12px;
  padding: 6px 12px; }
.bot { flex-direction: row-reverse; text-align: right; }
.bot .face { background: #74c0fc; }
.bot .bubble { background: #d0ebff; border-radius: 12px 4px 12px 12px; text-align: left; }
.added, .tool { margin: 4px 14px 4px 56px; border: 1px dashed #adb5bd; border-radius: 6px;
  padding: 6px 10px; font-size: 13px; color: #495057; overflow-wrap: anywhere; }
.family .added:not(.none) { border: 1px solid #2f9e44; background: #ebfbee; }
.none { color: #868e96; }
i { font-style: normal; font-weight: bold; }
pre { font: 13px/1.55 "Noto Sans Mono CJK SC", "WenQuanYi Zen Hei Mono", monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.note { text-align: center; font-size: 13px; color: #868e96; padding: 2px 0 4px; }
.file { background: #fff; border-left: 4px solid #2f9e44; border-radius: 0 10px 10px 0;
  margin-top: 14px; padding: 10px 16px; }
.path { font-weight: bold; font-size: 14px; margin-bottom: 4px; }
.file pre { font-size: 14px; }
.foot { text-align: right; font-size: 12px; color: #868e96; padding-top: 8px; }
"""
_MEASURE = "<script>document.title = document.documentElement.scrollHeight</script>"


def draw(markup: str, target: Path) -> None:
    """Renders the page to a PNG as high as the page is."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "page.html"
        place.write_text(markup + _MEASURE, encoding="utf-8")
        dom = _chromium(Path(folder) / "first", ["--dump-dom", "--window-size=1200,200"], place)
        measured = re.search(r"<title>(\d+)</title>", dom)
        if measured is None:
            raise RuntimeError("the page could not be measured")
        size = f"--window-size={WIDTH},{measured[1]}"
        shot = Path(folder) / "page.png"
        _chromium(Path(folder) / "second", [f"--screenshot={shot}", size], place)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(shot, target)


def _chromium(profile: Path, arguments: Sequence[str], place: Path) -> str:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise FileNotFoundError("chromium is not installed")
    command = [program, *_CHROMIUM, f"--user-data-dir={profile}", *arguments, place.as_uri()]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=90)
    return done.stdout


def _run_demo() -> str:
    command = [sys.executable, str(ROOT / "scripts" / "demo.py"), "--exit"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    told = Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else _run_demo()
    draw(page(read(told.splitlines())), TARGET)
    print(TARGET)
