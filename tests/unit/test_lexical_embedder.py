"""The built-in embedder finds what shares words, and nothing where nothing is shared."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.components import dictionary_cache
from astrbot_plugin_scoped_memory.llm_memory.components.dictionary_cache import load_words
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.lexical import LexicalEmbedder
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.term_weights import TermWeights
from astrbot_plugin_scoped_memory.llm_memory.components.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.llm_memory.components.word_counts import WordCounts
from astrbot_plugin_scoped_memory.llm_memory.composition import lexical_embedder

MEMORIES = (
    "奶奶对花生过敏",
    "图书馆周一闭馆",
    "小明喜欢喝美式咖啡",
    "公司周五下午三点开周会",
    "服务器的端口是8443",
    "Anna prefers green tea over coffee",
)
TOKENIZER = Tokenizer()
EMBEDDERS = {
    "jieba": LexicalEmbedder(TOKENIZER),
    "characters": LexicalEmbedder(Tokenizer(use_jieba=False)),
}


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> LexicalEmbedder:
    return EMBEDDERS[request.param]


async def found(embedder: LexicalEmbedder, query: str, memories: tuple[str, ...]) -> list[str]:
    """Memories at or above the floor, best first."""
    similarity = await embedder.embed_documents(memories) @ await embedder.embed_query(query)
    order = np.argsort(-similarity)
    return [memories[i] for i in order if similarity[i] >= embedder.floor]


@pytest.mark.parametrize(
    ("query", "memory"),
    [
        ("给奶奶做饭，菜里能放花生吗", "奶奶对花生过敏"),
        ("周会是几点", "公司周五下午三点开周会"),
        ("图书馆哪天不开门", "图书馆周一闭馆"),
        ("服务器用哪个端口", "服务器的端口是8443"),
        ("8443 是什么的端口", "服务器的端口是8443"),
        ("小明爱喝什么", "小明喜欢喝美式咖啡"),
        ("what does Anna like to drink", "Anna prefers green tea over coffee"),
        ("does Anna take coffee or TEA?", "Anna prefers green tea over coffee"),
    ],
)
async def test_a_question_finds_its_memory(
    embedder: LexicalEmbedder, query: str, memory: str
) -> None:
    assert (await found(embedder, query, MEMORIES))[:1] == [memory]


@pytest.mark.parametrize("who", ["", "小明: ", "Anna: "])
@pytest.mark.parametrize(
    "query",
    [
        "今天天气怎么样",
        "你好",
        "讲个笑话",
        "最近怎么样",
        "帮我写一首诗",
        "今天吃什么",
        "hello there",
        "good morning!",
        "help me write a python script",
        "tell me a joke",
        "🎉",
        "？",
        "",
    ],
)
async def test_small_talk_finds_nothing(embedder: LexicalEmbedder, query: str, who: str) -> None:
    memories = tuple(f"{who}{memory}" for memory in MEMORIES)
    assert await found(embedder, query, memories) == []


async def test_only_the_query_forgets_its_stop_words(embedder: LexicalEmbedder) -> None:
    memories = ("The Who played in Leeds", "奶奶对花生过敏")
    assert await found(embedder, "who played in Leeds", memories) == ["The Who played in Leeds"]


async def test_a_query_without_a_word_is_similar_to_nothing(embedder: LexicalEmbedder) -> None:
    query = await embedder.embed_query("🎉 …")
    assert not (await embedder.embed_documents([*MEMORIES, "🎉", ""]) @ query).any()


async def test_a_memory_without_a_word_is_similar_only_to_itself(
    embedder: LexicalEmbedder,
) -> None:
    vectors = await embedder.embed_documents(["🎉", "👍", "🎉", *MEMORIES])
    similarity = vectors @ vectors[0]
    assert similarity[2] == pytest.approx(1.0, abs=1e-6)
    assert abs(similarity[1]) < 0.8
    assert not similarity[3:].any()
    assert float(vectors[0] @ await embedder.embed_query("花生")) == 0.0


async def test_vectors_do_not_depend_on_what_else_was_embedded() -> None:
    tokenizer = Tokenizer(use_jieba=False)
    fresh, used = LexicalEmbedder(tokenizer), LexicalEmbedder(tokenizer)
    await used.embed_documents(["花生 花生 花生 peanut"] * 50)
    assert np.array_equal(await fresh.embed_query("花生"), await used.embed_query("花生"))


async def test_a_kept_dictionary_changes_no_bit_of_a_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = EnginePaths.under(tmp_path)
    plain, keeping = EMBEDDERS["jieba"], lexical_embedder(paths)
    fingerprint = await plain.prepare()
    assert await keeping.prepare() == fingerprint
    await keeping.close()
    assert [path.name for path in paths.index.iterdir()] == ["dictionary.bin"]
    monkeypatch.delattr(dictionary_cache, "digest")  # the lines are not read again
    kept = lexical_embedder(paths)
    assert await kept.prepare() == fingerprint
    texts = [*MEMORIES, "研究生命的起源，下雨天留客天留我不留", "鷄𠮷野家"]
    assert np.array_equal(await kept.embed_documents(texts), await plain.embed_documents(texts))
    for text in texts:
        assert np.array_equal(await kept.embed_query(text), await plain.embed_query(text))
    await kept.close()


async def test_without_jieba_the_fingerprint_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = await EMBEDDERS["jieba"].prepare()
    monkeypatch.setitem(sys.modules, "jieba", None)
    degraded = await LexicalEmbedder(Tokenizer()).prepare()
    assert (degraded.model, degraded.dim) == (whole.model, whole.dim)
    assert degraded.revision != whole.revision


async def test_the_dimension_is_part_of_the_fingerprint() -> None:
    small = LexicalEmbedder(Tokenizer(use_jieba=False), dim=256)
    assert (await small.prepare()).dim == 256
    assert (await small.embed_query("花生")).shape == (256,)


def test_a_dimension_without_room_for_words_is_refused() -> None:
    with pytest.raises(ValueError, match="34"):
        LexicalEmbedder(Tokenizer(use_jieba=False), dim=34)


SMALL = load_words(io.BytesIO("的 300000\n花生 900\n公司 45000\n".encode()), None)


@pytest.mark.parametrize("dictionary", [None, SMALL], ids=["without", "small"])
@given(text=st.text())
def test_every_token_has_a_positive_weight(dictionary: WordCounts | None, text: str) -> None:
    weigh = TermWeights(dictionary)
    for token in Tokenizer(use_jieba=False).tokens(text):
        assert 0.0 < weigh(token) <= 1.3


def test_rare_words_weigh_more_than_common_and_function_words_least() -> None:
    weigh = TermWeights(TOKENIZER.dictionary())
    assert weigh("花生") > weigh("公司") > weigh("的")
    assert weigh("花生") > weigh("花")
    assert weigh("lisbon") > weigh("tim") > weigh("the")
    assert weigh("8443") > weigh("3")
