"""First answers are kept for a month, then a key is free again."""

from datetime import timedelta

from ledger import scope
from ledger.receipts import KEPT_DAYS, forget_old
from ledger.sql import server_cursor
from tenancy.commands.people import AddPerson
from tests.world import NOW


def keys(organization_id):
    with scope.reading(organization_id), server_cursor() as cursor:
        cursor.execute("SELECT key FROM ledger_receipt")
        return {row[0].rpartition("/")[2] for row in cursor}


def test_old_receipts_go_and_young_ones_stay(acme):
    acme.run(AddPerson(name="old"), idempotency_key="k1")
    acme.run(AddPerson(name="young"), idempotency_key="k2", now=NOW + timedelta(days=1))
    later = NOW + timedelta(days=KEPT_DAYS, hours=1)
    assert forget_old(acme.id, now=later) == 1
    assert keys(acme.id) == {"k2"}
    assert forget_old(acme.id, now=later) == 0


def test_receipts_of_another_tenant_are_left_alone(acme, globex):
    globex.run(AddPerson(name="old"), idempotency_key="k1")
    assert forget_old(acme.id, now=NOW + timedelta(days=400)) == 0
    assert keys(globex.id) == {"k1"}
