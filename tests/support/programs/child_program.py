"""A child that answers, waits, dies, hangs and prints, for the tests of the protocol. It comes by
its file's name: the engine is ``llm_memory`` to it."""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_memory.index.child.program import Answer, Fault, Handlers, loading

type Fields = Mapping[str, Any]


def echo(fields: Fields, body: bytes) -> Answer:
    os.write(1, b"a library that has something to say")
    return {**fields, "pid": os.getpid()}, body


def wait(fields: Fields, body: bytes) -> Answer:
    with Path(fields["trace"]).open("a") as trace:
        trace.write(fields["name"])
    time.sleep(fields["seconds"])
    return {}, body


def fail(fields: Fields, body: bytes) -> Answer:
    code = fields["code"]
    if number := getattr(errno, code, 0):
        raise OSError(number, os.strerror(number))
    raise Fault(code, "no") if code == "full" else BaseException(code)  # a panic


def die(fields: Fields, body: bytes) -> Answer:
    time.sleep(fields.get("after", 0.0))
    loading("onnxruntime")
    if fields.get("held"):  # as a native library that keeps the interpreter to itself
        ctypes.PyDLL(None).sleep(600)
    os.abort()


def handlers() -> Handlers:
    return {"echo": echo, "wait": wait, "fail": fail, "die": die}
