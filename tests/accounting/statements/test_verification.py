"""Whatever is changed in a closed month by somebody with the power to, is found."""

import pytest

from ledger import verification
from tests import world
from tests.accounting import sample_statements
from tests.ledger.tampering import changes, undetected
from tests.world import Tenant


@pytest.fixture
def closed(owner) -> Tenant:
    """acme with October closed."""
    acme = world.acme()
    sample_statements.closed(acme)
    return acme


@pytest.mark.parametrize("table", ["accounting_statementline", "accounting_statementpart"])
def test_every_column_of_a_closed_month_is_covered(closed, owner, table):
    columns = changes(owner, table)
    if "about" in columns:  # it is empty in the sample, and a day later would be, too
        columns["about"] = "'2026-01-01'"
    one = f"WHERE ctid = (SELECT ctid FROM {table} LIMIT 1)"
    statements = {
        name: f"UPDATE {table} SET {name} = {value} {one}" for name, value in columns.items()
    }
    statements["removed"] = f"DELETE FROM {table} {one}"
    statements["removed all"] = f"DELETE FROM {table}"
    for change in ('{"line_no": 77}', '{"chunk": 77}', '{"month": "2026-07-01"}'):
        statements[f"planted {change}"] = (
            f"INSERT INTO {table} SELECT (r.x).* FROM (SELECT "
            f"jsonb_populate_record(r, '{change}') AS x FROM {table} r LIMIT 1) r"
        )

    def found(_: str) -> bool:
        return "statements" in {one.check for one in verification.verify(closed.id).findings}

    assert verification.verify(closed.id).findings == []
    assert undetected(owner, table, statements, found) == []
