"""`make demo`: the story, played by a real AstrBot, readable for a person."""

import argparse
import asyncio
import contextlib
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .bot import BotDied
from .panel import USER, PanelError
from .rig import Rig
from .settings import PASSWORD
from .story import Outcome, Story
from .story_steps import CONFIG, MOTHER, STEPS, rehearse

WELCOME = """\
忆域 · Scoped Memory 演示
真实的 AstrBot，本机的脚本模型，OneBot v11 客户端；演示只用本机回环。
向量来自插件自带的小模型；没有安装 sentence-transformers（要 PyTorch，太大）。"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays the demo. Gives the exit status: 0, or 1 if any step of the story failed."""
    options = _options(arguments)
    try:
        return asyncio.run(_demo(options))
    except (BotDied, PanelError, TimeoutError) as error:
        _tell(f"没能启动：{error}")
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        _tell("\n再见。")
        return 130


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Plays the story in a real AstrBot.")
    parser.add_argument("--exit", action="store_true", help="end after the story; 1 if it failed")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="run in DIR and keep it")
    parser.add_argument("--port", type=int, metavar="N", help="the panel's port")
    return parser.parse_args(arguments)


async def _demo(options: argparse.Namespace) -> int:
    task = asyncio.current_task()
    if task is not None:
        with contextlib.suppress(NotImplementedError):  # Windows has no such signal to catch
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with contextlib.ExitStack() as stack:
        root: Path | None = options.keep
        if root is None:
            folder = tempfile.TemporaryDirectory(
                prefix="scoped-memory-", ignore_cleanup_errors=True
            )
            root = Path(stack.enter_context(folder))
        elif root.exists() and any(root.iterdir()):
            _tell(f"{root} 不是空文件夹；演示需要一个新的。")
            return 2
        return await _play(root.resolve(), port=options.port, leave=options.exit)


async def _play(root: Path, *, port: int | None, leave: bool) -> int:
    _tell(WELCOME)
    _tell(f"文件夹：{root}\n正在启动 AstrBot …")
    admins = [MOTHER.user_id]
    async with Rig(root, panel_port=port, admins=admins, config=CONFIG) as rig:
        version = await rig.bot.logged("AstrBot v")
        _tell(f"已启动：{version.rsplit(maxsplit=2)[-2]} {version.rsplit(maxsplit=2)[-1]}")
        _tell_login(rig)
        story = Story(rig, _tell)
        rehearse(story)
        outcomes = await story.play(STEPS)
        _tell("\n现在保存着它们的 Markdown 文件：")
        story.show_files()
        status = _summary(outcomes)
        if not leave:
            _tell("\nAstrBot 继续运行，按 Ctrl-C 结束。")
            _tell_login(rig)
            await _until_stopped()
    return status


def _tell_login(rig: Rig) -> None:
    _tell(f"面板：{rig.bot.panel_url}  用户名 {USER}  密码 {PASSWORD}")
    _tell(f"记忆：{rig.memory}")


def _summary(outcomes: Sequence[Outcome]) -> int:
    _tell("\n结果：")
    for outcome in outcomes:
        _tell(f"  {'✗' if outcome.problems else '✓'} {outcome.title}")
        for problem in outcome.problems:
            _tell(f"      {problem}")
    complete = len(outcomes) == len(STEPS) and not any(outcome.problems for outcome in outcomes)
    _tell("故事完整成立。" if complete else "故事没有成立。")
    return 0 if complete else 1


async def _until_stopped() -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: KeyboardInterrupt ends it
            loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    _tell("\n再见。")


def _tell(text: str) -> None:
    print(text, flush=True)
