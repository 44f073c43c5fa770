"""What the code dictates in docs/: all of configuration.md, the quotes in troubleshooting.md.

    python scripts/make_docs.py

A test sees to it that what is committed is what this writes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import checkout
import yaml

checkout.register()

from astrbot_plugin_scoped_memory.core.config import read_config  # noqa: E402

DOCS = checkout.ROOT / "docs"
CONFIGURATION = DOCS / "configuration.md"
TROUBLESHOOTING = DOCS / "troubleshooting.md"
CHINESE, ENGLISH = "zh-CN", "en-US"
_LONG: dict[str, dict[str, str]] = yaml.safe_load(
    (checkout.ROOT / "scripts" / "settings.yaml").read_text(encoding="utf-8")
)
"""By setting and language, what the panel's hint has no room for."""

_TYPES = {
    "bool": "开关 (on/off)",
    "int": "整数 (whole number)",
    "string": "文本 (text)",
    "dict": "键值表 (table)",
}
_HEAD = """\
# 设置 · Settings

<!-- 由 scripts/make_docs.py 从 _conf_schema.json 和 scripts/settings.yaml 生成，请不要手改。 -->

在面板的插件页打开本插件的配置。保存后插件会重新加载，从下一条消息起生效。
写错的值不会让插件出错：改用默认值或最接近的值，日志和 `/memory status` 会说明。
哪台机器用哪个嵌入模型，见[选哪个模型](models.md)。

Open the plugin's configuration in the panel. Saving reloads the plugin; the next message obeys.
A bad value is never fatal: the default or the nearest value is used, and the log says so.
Which embedding model fits which machine: [models.md](models.md) (Chinese).
"""
_EXTREME = 10**9
_QUOTE = re.compile(
    r"(?P<head>^## [^\n]*`(?P<code>[a-z_.]+)`[^\n]*\n\n)(?:>[^\n]*\n)*", re.MULTILINE
)

_COUNTED = re.compile(r"\{\w+:[^|{}]*\|([^{}]*)\}")
"""The words that go with a count, of which a quote shows the plural."""


def configuration() -> str:
    """docs/configuration.md."""
    schema = _json("_conf_schema.json")
    pieces = [_HEAD, _table(schema)]
    for name, setting in schema.items():
        if setting["type"] == "object":
            pieces.append(
                f"## {_words(setting, name)}\n\n面板里收在 `{name}` 一栏，先打开“显示高级设置”。\n"
            )
            inner = setting["items"].items()
            pieces += [_section(f"{name}.{key}", item, level=3) for key, item in inner]
        else:
            pieces.append(_section(name, setting, level=2))
    return "\n".join(pieces)


def _table(schema: Mapping[str, Any]) -> str:
    lines = ["| 设置 | | 默认 |", "| --- | --- | --- |"]
    for name, setting in leaves(schema):
        lines.append(f"| `{name}` | {_words(setting, name)} | {_default(setting)} |")
    return "\n".join(lines) + "\n"


def leaves(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every setting that holds a value, by its dotted name."""
    for name, setting in schema.items():
        if setting["type"] == "object":
            yield from ((f"{name}.{key}", item) for key, item in setting["items"].items())
        else:
            yield name, setting


def _section(name: str, setting: Mapping[str, Any], *, level: int) -> str:
    about = [_TYPES[setting["type"]], f"默认 (default) {_default(setting)}"]
    if setting["type"] == "int":
        low, high = bounds(name)
        about.append(f"范围 (range) {low}–{high}")
    lines = [f"{'#' * level} `{name}` {_words(setting, name)}", "", " · ".join(about), ""]
    long = _LONG.get(name, {})
    if hint := long.get("zh") or setting.get("hint"):
        lines += [_escaped(hint), ""]
    if "options" in setting:
        lines += [*_options(name, setting), ""]
    if hint := long.get("en") or _english(name).get("hint"):
        lines += [_escaped(hint), ""]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """`text` with no HTML tags in it: Markdown would swallow `<id>`."""
    return text.replace("<", "\\<")


def _words(setting: Mapping[str, Any], name: str) -> str:
    return f"{setting['description']} · {_english(name)['description']}"


def _options(name: str, setting: Mapping[str, Any]) -> Iterator[str]:
    yield "| 值 | 面板上 | in the panel |"
    yield "| --- | --- | --- |"
    english = _english(name)["labels"]
    for value, label, label_english in zip(
        setting["options"], setting["labels"], english, strict=True
    ):
        yield f"| `{value}` | {label} | {label_english} |"


def _default(setting: Mapping[str, Any]) -> str:
    value = setting["default"]
    return "空 (empty)" if value == "" else f"`{json.dumps(value, ensure_ascii=False)}`"


def bounds(name: str) -> tuple[int, int]:
    """What a number far too low and one far too high become when they are read."""
    low, high = (_read_as(name, value) for value in (-_EXTREME, _EXTREME))
    return low, high


def _read_as(name: str, value: int) -> int:
    raw: Mapping[str, Any] = {name.rsplit(".", 1)[-1]: value}
    if "." in name:
        raw = {name.split(".", 1)[0]: raw}
    (warning,) = read_config(raw).warnings
    return int(str(dict(warning.params)["used"]))


def _english(name: str) -> Mapping[str, Any]:
    found = _json(f".astrbot-plugin/i18n/{ENGLISH}.json")["config"]
    for part in name.split("."):
        found = found[part]
    return dict(found)


def troubleshooting(text: str) -> str:
    """`text` with the quote below each ``## … `code` `` heading renewed from the plugin's texts."""
    groups = {language: _texts(language) for language in (CHINESE, ENGLISH)}

    def quote(match: re.Match[str]) -> str:
        group, _, code = match["code"].rpartition(".")
        texts = (groups[language][group or "notice"][code] for language in (CHINESE, ENGLISH))
        said = [_COUNTED.sub(r"\1", text) for text in texts]
        return match["head"] + f"> {said[0]}\n>\n> {said[1]}\n"

    return _QUOTE.sub(quote, text)


def _texts(language: str) -> Mapping[str, Mapping[str, str]]:
    files = (checkout.ROOT / "llm_memory" / "i18n" / language).glob("*.yaml")
    found: dict[str, Mapping[str, str]] = {}
    for file in files:
        found |= yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def _json(path: str) -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads((checkout.ROOT / path).read_text(encoding="utf-8"))
    return loaded


def main() -> None:
    """Writes both documents."""
    _write(CONFIGURATION, configuration())
    _write(TROUBLESHOOTING, troubleshooting(TROUBLESHOOTING.read_text(encoding="utf-8")))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
