"""What is asked of the process that holds the index and the model: a function a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ..embedding.bundled.bundled_model import BundledModel
from ..embedding.remote_model import OpenedModel, Which
from ..ports import VectorStore
from ..rules.common_part import apart_from
from . import wire

_PAGE: Final = 1000


class Served(NamedTuple):
    """What lives in the process. ``load`` imports Chroma."""

    load: Callable[[], None]
    store: VectorStore
    model: BundledModel
    local: OpenedModel


class Rows(NamedTuple):
    """A part of an answer that is numbers: float32, by rows."""

    shape: list[int]
    body: bytes


type Call = Callable[[Served, Mapping[str, Any], bytes], Iterator[Any]]
"""What is served, arguments, body; each part of the answer: ``Rows``, or what JSON can say."""


def _load(served: Served, _args: Mapping[str, Any], _: bytes) -> Iterator[None]:
    served.load()
    yield None


def _use(served: Served, args: Mapping[str, Any], _: bytes) -> Iterator[bool]:
    if args["fingerprint"] is not None:
        served.store.name_for(wire.fingerprint_from_wire(args["fingerprint"]))
    yield served.store.use(args["collection"])


def _upsert(served: Served, args: Mapping[str, Any], body: bytes) -> Iterator[None]:
    served.store.upsert(
        wire.records_from_wire(args["records"]), wire.rows_from_wire(args["shape"], body)
    )
    yield None


def _delete(served: Served, args: Mapping[str, Any], _: bytes) -> Iterator[None]:
    served.store.delete(wire.keys_from_wire(args["keys"]))
    yield None


def _hashes(served: Served, _args: Mapping[str, Any], _: bytes) -> Iterator[Any]:
    said = wire.hashes_to_wire(served.store.hashes())
    for start in range(0, len(said), _PAGE):  # the receiver may do other work between two
        yield said[start : start + _PAGE]


def _query(served: Served, args: Mapping[str, Any], body: bytes) -> Iterator[Any]:
    vector = wire.rows_from_wire(args["shape"], body)
    found = served.store.query(vector, wire.filter_from_wire(args["filter"]), args["k"])
    yield wire.neighbours_to_wire(found)


def _query_text(served: Served, args: Mapping[str, Any], body: bytes) -> Iterator[Any]:
    scope_filter = wire.filter_from_wire(args["filter"])
    common = wire.rows_from_wire(args["shape"], body)
    vector = apart_from(served.model.query(args["text"]), common)
    # If the process dies from here on the index is to blame, and not the model.
    yield Rows(*wire.rows_to_wire(vector))
    yield wire.neighbours_to_wire(served.store.query(vector, scope_filter, args["k"]))


def _announce(served: Served, args: Mapping[str, Any], _: bytes) -> Iterator[None]:
    served.model.announce(args["text"])
    yield None


def _load_model(served: Served, _args: Mapping[str, Any], _: bytes) -> Iterator[Any]:
    yield wire.fingerprint_to_wire(served.model.load())


def _embed(served: Served, args: Mapping[str, Any], _: bytes) -> Iterator[Rows]:
    embed = served.model.queries if args["is_query"] else served.model.documents
    yield Rows(*wire.rows_to_wire(embed(args["texts"])))


def _open_local(served: Served, args: Mapping[str, Any], _: bytes) -> Iterator[Any]:
    which, model = served.local.open(Which(*args["which"]))
    yield [which, model.prompts, model.variant]


def _encode_local(served: Served, args: Mapping[str, Any], _: bytes) -> Iterator[Rows]:
    rows = served.local.encode(Which(*args["which"]), args["texts"], args["prompt"])
    yield Rows(*wire.rows_to_wire(rows))


def _plain(call: Callable[..., Any], *names: str) -> Call:
    def answer(served: Served, args: Mapping[str, Any], _: bytes) -> Iterator[Any]:
        yield call(served.store, *(args[name] for name in names))

    return answer


CALLS: Final[Mapping[str, Call]] = {
    "load": _load,
    "open": _plain(lambda store: store.open()),
    "collections": _plain(lambda store: list(store.collections())),
    "use": _use,
    "drop": _plain(lambda store, name: store.drop(name), "collection"),
    "upsert": _upsert,
    "delete": _delete,
    "hashes": _hashes,
    "count": _plain(lambda store: store.count()),
    "query": _query,
    "query_text": _query_text,
    "announce": _announce,
    "worn": _plain(lambda store: store.worn()),
    "discard": _plain(lambda store, reason: store.discard(reason), "reason"),
    "reset": _plain(lambda store: store.reset()),
    "close": _plain(lambda store: store.close()),
    "load_model": _load_model,
    "embed": _embed,
    "open_local": _open_local,
    "encode_local": _encode_local,
}
