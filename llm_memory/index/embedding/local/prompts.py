"""What a model wants to read before a query and before a document. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Prompts(NamedTuple):
    """Put in front of the text; may be empty."""

    query: str
    document: str


_QUERY_NAMES = ("query", "retrieval_query", "search_query", "Retrieval-query")
_DOCUMENT_NAMES = (
    "document", "passage", "retrieval_document", "search_document", "Retrieval-document", "corpus",
)  # fmt: skip

_FAMILIES = (
    # Well-known models whose files do not name their prompts, from their model cards.
    (("e5-small",), Prompts("query: ", "passage: ")),
    (("e5-base",), Prompts("query: ", "passage: ")),
    (("e5-large",), Prompts("query: ", "passage: ")),
    (("bge-", "-zh"), Prompts("为这个句子生成表示以用于检索相关文章：", "")),
)


def prompts_of(
    defined: Mapping[str, str | None], default_name: str | None, model_name: str
) -> Prompts:
    """The model's own prompts; else those of its family; else none.

    Args:
        defined: ``SentenceTransformer.prompts``; a name may be there without a prompt.
        default_name: ``SentenceTransformer.default_prompt_name``.
        model_name: As configured, for the family.
    """
    default = (defined.get(default_name) if default_name else None) or ""
    query = _first(defined, _QUERY_NAMES)
    document = _first(defined, _DOCUMENT_NAMES)
    if query or document or default:
        return Prompts(query or default, document or default)
    lowered = model_name.lower()
    for parts, prompts in _FAMILIES:
        if all(part in lowered for part in parts):
            return prompts
    return Prompts("", "")


def _first(defined: Mapping[str, str | None], names: tuple[str, ...]) -> str:
    return next((prompt for name in names if (prompt := defined.get(name))), "")
