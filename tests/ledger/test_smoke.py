import pytest
@pytest.mark.django_db
def test_x():
    from django.db import connection
    c=connection.cursor(); c.execute("select current_user, ledger_current_organization()"); print(c.fetchone())
