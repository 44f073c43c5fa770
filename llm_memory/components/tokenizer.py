"""Text to tokens, for the lexical index and the built-in embedder alike."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from . import stop_words
from .english import stem
from .scripts import Script, normalise, runs

if TYPE_CHECKING:
    from typing import Protocol

    class _Segmenter(Protocol):
        FREQ: dict[str, int]
        total: int

        def lcut(self, sentence: str, *, HMM: bool) -> list[str]: ...


class Tokenizer:
    HMM = True
    SEARCH = True
    BIGRAMS = False
    def __init__(self, *, use_jieba: bool = True) -> None:
        self._lock = threading.Lock()
        self._loaded = not use_jieba
        self._segmenter = None

    def load(self):
        with self._lock:
            if not self._loaded:
                self._segmenter = _load_jieba()
                self._loaded = True
        return self._segmenter

    def tokens(self, text: str) -> list[str]:
        found = []
        for run in runs(normalise(text)):
            found.extend(t for w, ts in self._words(run) for t in ts)
        return found

    def query_tokens(self, text: str) -> list[str]:
        found = []
        for run in runs(normalise(text)):
            for word, toks in self._words(run):
                if word in stop_words.CHINESE or word in stop_words.ENGLISH: continue
                found.extend(t for t in toks if t not in stop_words.CHINESE)
        return found

    def _words(self, run):
        if run.script is Script.LATIN:
            yield run.text, [stem(run.text)]
        elif run.script is Script.HAN:
            seg = self.load()
            if seg is None:
                yield '', _grams(run.text)
                return
            if self.SEARCH: 
                ws=seg.lcut_for_search(run.text,HMM=self.HMM)
            else: ws=seg.lcut(run.text,HMM=self.HMM)
            seen = {}
            for w in seg.lcut(run.text,HMM=self.HMM):
                if w in stop_words.CHINESE:
                    yield w, [w] if len(w)==1 else [w,*w]
                    continue
                toks=[w] if len(w)>1 else []
                if self.SEARCH and len(w)>2:
                    for n in (2,3):
                        if len(w)>n:
                            for i in range(len(w)-n+1):
                                if seg.FREQ.get(w[i:i+n]): toks.append(w[i:i+n])
                yield w, toks+list(w)
            if self.BIGRAMS:
                yield '', [a+b for a,b in zip(run.text,run.text[1:]) ]
        elif run.script in (Script.SPACED, Script.DIGIT):
            yield run.text, [run.text]
        else:
            yield run.text, _grams(run.text)


def _grams(text):
    if len(text)==1: return [text]
    return [a+b for a,b in zip(text,text[1:])] + list(text)


def _load_jieba():
    import jieba
    s = jieba.Tokenizer()
    s.FREQ, s.total = s.gen_pfdict(s.get_dict_file())
    s.initialized = True
    return s
