"""A real sentence-transformers model of a megabyte, made on the spot: no download, no network.

Token vectors are random and fixed by the seed, so a text lies near another that shares its tokens,
and nothing is known of meaning. That is enough for everything but quality.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import probes
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import Language

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENGLISH = (
    "Anna prefers green tea over coffee",
    "what does Anna like to drink",
    "the printer needs new paper",
    "the quick brown fox jumps over the lazy dog",
    *(text for pair in probes()[Language.ENGLISH] for text in pair),
)
"""Their words become tokens. Chinese is left in characters: a sentence would become one token."""


def common_characters() -> list[str]:
    """The 3755 characters of GB 2312's first level, Latin letters and digits."""
    cells = [bytes((row, cell)) for row in range(0xB0, 0xD8) for cell in range(0xA1, 0xFF)]
    han = [cell.decode("gb2312", errors="ignore") for cell in cells]
    return [character for character in (*han, *"abcdefghijklmnopqrstuvwxyz0123456789") if character]


def tiny_tokenizer(corpus: Iterable[str] = ENGLISH) -> Tokenizer:
    """Trained on ``corpus``; its first token stands for what is unknown."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=6000,
        special_tokens=["[UNK]"],
        initial_alphabet=common_characters(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def make_tiny_model(
    folder: Path,
    *,
    dim: int = 64,
    seed: int = 0,
    corpus: Iterable[str] = ENGLISH,
    prompts: dict[str, str] | None = None,
) -> Path:
    """Save a model (static embeddings over a BPE tokenizer trained on ``corpus``) to ``folder``.

    Another ``seed`` gives another model of the same dimension. Needs sentence-transformers.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

    tokenizer = tiny_tokenizer(corpus)
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(tokenizer.get_vocab_size(), dim, generator=generator).numpy()
    weights[tokenizer.token_to_id("[UNK]")] = 0.0  # else all that is unknown looks alike
    static = StaticEmbedding(tokenizer, embedding_weights=weights)
    model = SentenceTransformer(modules=[static, Normalize()], device="cpu", prompts=prompts)
    model.save(str(folder), create_model_card=False)
    return folder
