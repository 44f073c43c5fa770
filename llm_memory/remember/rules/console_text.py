"""Recognises lines that are typed into a shell, and lines that a search has printed. Pure.

A command is told from prose by its second word: ``git push`` and ``pip install`` begin commands,
``git is`` does not; and prose has small words, which no command has.
"""

from __future__ import annotations

import re

from ...text.lazy_pattern import lazy_pattern

_COMMAND = lazy_pattern(
    r"""\s*(?:\$\s+)?(?:sudo\s+)?(?:
      systemctl\s+(?:start|stop|restart|reload|status|enable|disable|mask|unmask|daemon-reload)
    | service\s+[\w@.-]+\s+(?:start|stop|restart|reload|status)
    | (?:python3?\s+-m\s+)?pip3?\s+(?:install|uninstall|download|freeze|list|show|check)
    | (?:uv|poetry|conda|mamba|brew|apt|apt-get|yum|dnf|apk|gem|npm|pnpm|yarn|cargo|winget|choco)
      \s+(?:install|uninstall|add|remove|update|upgrade|ci|run|build|test|init|sync|search|pip)
    | go\s+(?:build|test|run|get|install|mod)\s+[\w.-]*[./][\w./@-]*
    | kubectl\s+(?:get|describe|apply|delete|logs|exec|rollout|scale|create|edit|patch|drain|cordon|
        uncordon|top|port-forward|config|label|annotate|cp|expose|set|run)
    | helm\s+(?:install|upgrade|uninstall|list|repo|rollback|template)
    | terraform\s+(?:init|plan|apply|destroy|import|validate|fmt)
    | docker(?:-compose|\s+compose)?\s+(?:run|ps|build|pull|push|exec|stop|start|restart|logs|rm|
        rmi|images|up|down|inspect|login|tag|volume|network|system|container|image)
    | git\s+(?:add|commit|push|pull|clone|checkout|switch|merge|rebase|fetch|status|log|diff|stash|
        reset|branch|tag|init|remote|cherry-pick|revert)
    | make\s+(?:install|all|clean|build)(?!\s+\S)
    | (?:cd|mkdir|rm|cat|chmod|chown|kill|ping|ssh|scp|source)\s+[\w.@~-]*[/~.][\w./~@:-]*
    | (?:reboot|shutdown)\s+(?:now|-)\S*
    )(?:\s+[A-Za-z0-9_./:@=,~^*{}'"<>\[\]+%-]+){0,8}\s*""",
    re.VERBOSE,
)
_PROSE = lazy_pattern(
    r"\b(?:is|are|was|were|be|the|a|an|to|for|with|when|if|and|or|but|on|in|of|by|because|before|"
    r"after|then|you|we|he|she|they|it|must|should|can|will|not|never|always|fails?|failed|works?|"
    r"breaks?|broke|hangs?|crash(?:es|ed)|takes?|needs?|instead)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\s*(?:&&|\|\||;|\|)\s*")
_FIELD = re.compile(r"\W*([^\W\d][\w ]{0,20}?)\s*[:：=]\s*(.*?)\W*")
_BETWEEN = re.compile(r"\s*[|·]\s*|[,;]\s+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?%?")
_SCORES = frozenset(
    ("score", "similarity", "distance", "relevance", "rank", "confidence", "相似度", "得分", "分数")
)
_PLACES = frozenset(
    ("source", "file", "filename", "path", "url", "line", "page", "chunk", "doc", "document", "id")
) | {"来源", "文件", "页码", "memory_id"}


def is_command(line: str) -> bool:
    """True for commands of a shell and nothing else."""
    return all(
        _COMMAND.fullmatch(one) and not _PROSE.search(one) for one in _JOINED.split(line.strip())
    )


def is_search_result(line: str) -> bool:
    """True for a line that only says how well something was found, and where:
    ``score: 0.83 | source: notes.md``."""
    fields = [_FIELD.fullmatch(piece) for piece in _BETWEEN.split(line.strip())]
    found = [(one[1].casefold(), one[2]) for one in fields if one is not None]
    scored = [name in _SCORES and _NUMBER.fullmatch(value) is not None for name, value in found]
    placed = [name in _PLACES for name, _ in found]
    known = all(s or p for s, p in zip(scored, placed, strict=True))
    return len(found) == len(fields) and known and any(scored)
