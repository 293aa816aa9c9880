"""`ledger verify` notices files that are no longer what was attached."""

import psycopg
import pytest

from ledger import verification
from quota.commands.requests import Attach


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE quota_attachmentcontent SET content = 'hullo'",
            "The bytes of plan.txt are not those that were attached",
        ),
        ("DELETE FROM quota_attachmentcontent", "The bytes of plan.txt are gone"),
    ],
)
def test_bytes_that_changed_or_went_are_found(owner: psycopg.Connection, desk, statement, said):
    it = desk.ask("nlp", 60)
    desk.run(Attach(request_id=it.request_id, name="plan.txt", content=b"hello"), by="alice")
    assert verification.verify(desk.place.id).clean
    owner.execute(statement)
    findings = verification.verify(desk.place.id).findings
    assert [(one.check, one.problem) for one in findings] == [("attachments", said)]
