"""The answer and the notice if the vault cannot be written."""

from __future__ import annotations

from ..errors import VaultWriteFailed
from ..models.data_models import Rejected, RejectReason
from ..models.status import Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard


def not_written(error: VaultWriteFailed, notices: NoticeBoard) -> Rejected:
    """Post a notice for the owner's status. Returns the answer for the caller."""
    params = {"detail": str(error)}
    notices.post(Notice(NoticeCode.VAULT_UNWRITABLE, params=params, severity=Severity.ERROR))
    return Rejected(RejectReason.NOT_WRITTEN, detail=str(error))
