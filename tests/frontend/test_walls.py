"""Charlie works for another tenant that has accounts and people of the same names. Whatever he
asks for of acme does not exist."""

import pytest

from ledger import scope
from ledger.queries import history
from ledger.sql import server_cursor
from tenancy.commands.people import LinkLogin
from tests.world import record


@pytest.fixture
def charlie(acme, globex, browse):
    acme.use(record("secret-job"))
    return browse(globex, "charlie")


@pytest.mark.parametrize(
    "page",
    [
        "/fairshare/nlp/bob",
        "/fairshare?open=research",
        "/usage?account=research",
        "/usage?person=bob",
        "/ledger?account=research",
        "/ledger?person=bob",
        "/settings/people?account=research",
    ],
)
def test_names_of_another_tenant_do_not_exist(charlie, page):
    assert charlie.get(page).status_code == 404


def test_ids_of_another_tenant_do_not_exist(charlie, acme):
    with scope.reading(acme.id), server_cursor() as cursor:
        event = history(acme.id).rows[0].id
        batch = cursor.execute("SELECT id FROM accounting_usagebatch").fetchone()[0]
    token = acme.token().split("_")[2]
    for page in (
        f"/ledger/{event}",
        f"/usage/batches/{batch}",
        f"/settings/tokens/{token}/revoke",
    ):
        assert charlie.get(page).status_code == 404, page
    assert charlie.post(f"/settings/tokens/{token}/rotate").status_code == 404


def test_pages_and_search_show_only_the_own_tenant(charlie):
    for page in ("/", "/fairshare", "/usage", "/ledger", "/settings/people", "/search?q=b"):
        answer = charlie.get(page)
        content = answer.content.decode()
        assert answer.status_code == 200, page
        assert "Acme" not in content and "secret-job" not in content and "Bob" not in content


def test_the_switch_takes_only_organizations_of_the_login(charlie, acme, globex):
    assert charlie.post("/organization", {"organization": str(acme.id)}).status_code == 404
    assert charlie.post("/organization", {"organization": "x"}).status_code == 404
    assert b"Globex" in charlie.get("/").content


def test_one_login_in_two_organizations_switches_between_them(acme, globex, browse):
    client = browse(acme, "otto")
    assert b"Globex" not in client.get("/").content
    globex.person("otto", "nlp")
    globex.run(LinkLogin(person_id=globex.people["otto"], user_id=acme.users["otto"].pk))
    page = client.get("/").content.decode()
    assert "Acme</option>" in page and "Globex</option>" in page
    client.post("/organization", {"organization": str(globex.id)})
    assert "selected>Globex" in client.get("/").content.decode()
