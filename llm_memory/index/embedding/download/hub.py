"""A model hub, or a mirror of it, as far as a download needs it. Blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

_TIMEOUT: Final = 30.0
_PIECE: Final = 1 << 18
_LONGEST_LISTING: Final = 1 << 24
"""Bytes. The longest of a hub's are a tenth of it; one without an end would fill the memory."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """``digest`` is the SHA-256 of a large file; of a small one the SHA-1 that git gives it."""

    path: str
    size: int
    digest: str
    is_large: bool


class Hub:
    """A model's repository, at the hub or at a mirror of it."""

    def __init__(self, endpoint: str, name: str, token: str) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._name = quote(name)
        self._token = token
        self._commit = ""

    def files(self) -> dict[str, HubFile]:
        """All files by their path, of the commit that is the newest now."""
        with self._open(f"api/models/{self._name}/revision/main?blobs=true") as answer:
            listing = json.loads(answer.read(_LONGEST_LISTING))
        self._commit = str(listing["sha"])
        return {file.path: file for file in map(_file, listing["siblings"]) if _is_safe(file.path)}

    def read(self, file: HubFile, start: int) -> Iterator[tuple[int, bytes]]:
        """Pieces of a file and where they belong; the hub may begin before ``start``."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        path = f"{self._name}/resolve/{quote(self._commit)}/{quote(file.path)}"
        with self._open(path, headers) as answer:
            at = start if answer.status == 206 else 0
            while piece := answer.read(_PIECE):
                yield at, piece
                at += len(piece)

    def _open(self, path: str, headers: dict[str, str] | None = None) -> Any:
        # The address is the owner's own, checked where it was read.
        request = Request(f"{self._endpoint}/{path}", headers=headers or {})  # noqa: S310
        if self._token:  # not for the servers that the hub sends us on to
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        return build_opener(SafeRedirects).open(request, timeout=_TIMEOUT)


class SafeRedirects(HTTPRedirectHandler):
    """Follows to web servers alone, and from an encrypted connection to no open one: whoever reads
    that could put hashes of their own into a listing."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        schemes = {"https"} if req.type == "https" else {"http", "https"}
        if urlsplit(newurl).scheme not in schemes:
            raise HTTPError(newurl, code, "redirected to where nobody follows", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _file(entry: dict[str, Any]) -> HubFile:
    large = entry.get("lfs") or {}
    digest = large.get("sha256") or entry.get("blobId") or ""
    size = large.get("size") or entry.get("size") or 0
    return HubFile(str(entry["rfilename"]), int(size), str(digest), bool(large))


def _is_safe(path: str) -> bool:
    parts = path.split("/")
    return not any(part in {"", ".", ".."} or "\\" in part or ":" in part for part in parts)
