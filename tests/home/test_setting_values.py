"""The language of a machine."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.home import setting_values as module

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("said", "language"),
    [("zh_CN.UTF-8", "zh"), ("zh", "zh"), ("en_US.UTF-8", "en"), ("C.UTF-8", "en"), ("", "en")],
)
def test_the_language_is_the_machines(
    said: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", said)
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setattr(module.locale, "getlocale", lambda: (None, None))
    assert module.spoken("auto") == language
