"""Chroma as a server: our collections on it, told from everybody else's by our owner id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ...errors import EngineClosed, IndexUnavailable, StateUnavailable
from ...storage.imports import import_whole
from .collections import our_names
from .connection import worn_out
from .faults import translated
from .session import VERSION, Session

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.config import System
    from chromadb.types import Collection as Model

DEADLINE: Final = 4.0
"""Seconds without a byte from the server. A query takes milliseconds, a batch of writes tens."""
_SPOKEN: Final = "1."
"""The versions that a server may have: those of the client's own API."""


class ChromaServer:
    """A connection to a server. Not for two threads at once: its store sees to that."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        owner: Callable[[], str],
        *,
        seconds: float = DEADLINE,
    ) -> None:
        """
        Args:
            url: ``http(s)://host[:port][/path]``; empty where the owner's setting is unusable.
            headers: For a proxy in front of the server, which has no authentication of its own.
            owner: Who we are: the same at each start, and of no other installation. Asked once.
            seconds: See DEADLINE.
        """
        self._url = url
        self._headers = headers
        self._ask_owner = owner
        self._seconds = seconds
        self._owner = ""
        self._system: System | None = None
        self._session: Session | None = None
        self._given_up = ""
        self._set_aside = ""
        self._removed = 0

    @property
    def owner(self) -> str:
        """Raises IndexUnavailable if the state cannot be read."""
        if not self._owner:
            try:
                self._owner = self._ask_owner()
            except (StateUnavailable, EngineClosed) as error:
                raise IndexUnavailable(str(error), code="no_owner") from error
        return self._owner

    @property
    def set_aside(self) -> str:
        return self._set_aside

    def open(self) -> Server:
        """Import Chroma (a second or more), look who answers.

        After an error nothing is held, and open may be called again.

        Raises:
            IndexUnavailable: Chroma is missing, or the server down, slow, of another version, or
                behind a proxy that denies us; the code says which.
        """
        if not self._url:
            raise IndexUnavailable("chroma_url is no address", code="server_address")
        try:
            with translated("opening the index"):
                return self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> Server:
        owner = self.owner
        server = Server(self._api())
        server.check_version()
        self._set_aside = ""
        if self._given_up:
            for name in our_names(server, owner):
                server.delete_collection(name)
            self._set_aside, self._given_up, self._removed = self._given_up, "", 0
        return server

    def _api(self) -> ServerAPI:
        import_whole("chromadb.api.fastapi")
        from chromadb.api.fastapi import FastAPI
        from chromadb.config import Settings, System

        # Not HttpClient: it asks the server four things before anybody could give it a deadline,
        # and leaves its system in a cache as long as the process lives.
        settings = Settings(
            # All that matters is said here: what is not, the bot's environment and .env decide.
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=self._url,
            chroma_server_http_port=urlsplit(self._url).port or 80,  # wanted, and not used
            chroma_server_ssl_enabled=False,  # the URL says
            # Its session asks nothing; ours checks certificates. Reading them takes 45 ms.
            chroma_server_ssl_verify=False,
            chroma_server_api_default_path="/api/v2",
            chroma_server_headers=None,
            chroma_client_auth_provider=None,
        )
        self._system = System(settings)
        api = self._system.instance(FastAPI)
        self._system.start()
        api._session.close()  # nothing else gives it a deadline
        api._session = self._session = Session(self._headers, seconds=self._seconds)
        return api

    def asking(self) -> None:
        pass

    def writing(self, size: int) -> None:
        pass  # its disk is its own

    def removed(self, count: int) -> None:
        self._removed += count

    def worn(self, living: int) -> bool:
        return worn_out(self._removed, living)

    def discard(self, reason: str) -> None:
        """Our collections go when the server is opened again."""
        self._given_up = reason

    def clear(self) -> None:
        pass  # nothing of it is on our own disk

    def close(self) -> None:
        """Let go of the connections. Idempotent."""
        session, self._session = self._session, None
        system, self._system = self._system, None
        with suppress(Exception):
            if session is not None:
                session.close()
        with suppress(Exception):
            if system is not None:
                system.stop()


class Server:
    """The few calls of Chroma's client that a store makes, over a server."""

    def __init__(self, api: ServerAPI) -> None:
        self._api = api

    def check_version(self) -> None:
        """Raises IndexUnavailable: what answers is no Chroma of our time."""
        try:
            version = self._api.get_version()
        except IndexUnavailable:
            raise
        except Exception as error:
            message = f"no Chroma answers there ({type(error).__name__})"
            raise IndexUnavailable(message, code=VERSION) from error
        if not (isinstance(version, str) and version.startswith(_SPOKEN)):
            raise IndexUnavailable(f"version {str(version)[:20]!r}", code=VERSION)

    def list_collections(self) -> list[Model]:
        """Everybody's."""
        return list(self._api.list_collections())

    def get_collection(self, name: str, *, embedding_function: None) -> Collection:
        """One that is there."""
        return self._collection(self._api.get_collection(name), embedding_function)

    def create_collection(
        self,
        name: str,
        *,
        configuration: Mapping[str, Any],
        metadata: Mapping[str, str | int],
        embedding_function: None,
    ) -> Collection:
        """A new one; an error if there is one of that name."""
        model = self._api.create_collection(
            name, configuration=dict(configuration), metadata=dict(metadata)
        )
        return self._collection(model, embedding_function)

    def delete_collection(self, name: str) -> None:
        """Everything in it, too."""
        self._api.delete_collection(name)

    def _collection(self, model: Model, embedding_function: None) -> Collection:
        from chromadb.api.models.Collection import Collection

        return Collection(
            client=self._api,
            model=model,
            embedding_function=embedding_function,
            data_loader=None,
        )
