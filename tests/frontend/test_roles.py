"""Who sees which page, and what a refusal says."""

import re
from urllib.parse import unquote

import pytest

from tests.world import NOW, record

PAGES = (
    "/",
    "/fairshare",
    "/fairshare/nlp/bob",
    "/usage?account=nlp",
    "/ledger?account=nlp",
    "/settings/people?account=nlp",
    "/settings/tokens",
    "/search?q=n",
)
WANT = {
    # name: status by page, in the order of PAGES
    "otto": (200, 200, 200, 200, 200, 200, 200, 200),
    "uma": (200, 200, 200, 200, 200, 200, 403, 200),
    "alice": (200, 200, 200, 200, 200, 200, 403, 200),
    "bob": (200, 200, 200, 200, 403, 200, 403, 200),
    "nina": (200, 403, 403, 403, 403, 403, 403, 403),
}


@pytest.mark.parametrize("name", WANT)
def test_each_role_sees_its_pages(acme, browse, name):
    acme.use(record("a"))
    acme.person("nina")
    client = browse(acme, name)
    assert tuple(client.get(page).status_code for page in PAGES) == WANT[name]


@pytest.mark.parametrize("page", PAGES)
def test_nobody_unknown_sees_anything(acme, client, page):
    answer = client.get(page)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/?next=")


def test_a_part_of_a_page_asked_for_after_signing_out_is_a_401(acme, client):
    # The script then loads the whole page, which leads to sign-in and back.
    assert client.get("/", headers={"HX-Request": "true"}).status_code == 401


def test_a_refusal_says_which_role_is_needed(acme, browse):
    page = browse(acme, "alice").get("/settings/tokens")
    assert page.status_code == 403
    assert b"token:write" in page.content and b"operator" in page.content
    assert unquote(page["X-Problem"]).startswith("This needs the permission token:write")


def test_a_choice_that_is_none_names_those_there_are_and_the_page_without_it(acme, browse):
    page = browse(acme, "alice").get("/usage?pool=nowhere")
    words = page.content.decode()
    assert page.status_code == 400
    assert "it is one of a100, h100, or left out." in unquote(page["X-Problem"])
    assert 'href="/usage">' in words and "The page without these choices" in words


@pytest.mark.parametrize(
    "page",
    ["/usage", "/showback", "/settings/people", "/preemption/taken", "/accounts/nlp/quota"],
)
def test_the_way_to_an_account_links_only_where_one_may_look(acme, browse, page):
    address = page if "nlp" in page else f"{page}?account=nlp"
    ways = {}
    for name in ("alice", "otto"):
        text = browse(acme, name).get(address).content.decode()
        way = text.split('<ol class="breadcrumb">')[1].split("</ol>")[0]
        assert "research" in way and "nlp" in way
        ways[name] = "root</a>" in way, "research</a>" in way
    assert ways == {"alice": (False, False), "otto": (True, True)}


def test_no_link_leads_a_member_or_lead_to_a_refusal(acme, browse):
    acme.use(record("a"), now=NOW)
    for name in ("bob", "alice", "otto"):
        client = browse(acme, name)
        for page in PAGES:
            found = client.get(page)
            if found.status_code != 200:
                continue
            inside = found.content.decode().split("<main")[1].split("</main")[0]
            for link in set(re.findall(r'href="(/[^"#]+)', inside)):
                answer = client.get(link.replace("&amp;", "&"))
                assert answer.status_code == 200, (name, page, link)


def test_a_role_for_nobody_asks_for_whom(acme, browse):
    sent = {"account": "nlp", "person": "", "role": "lead"}
    page = browse(acme, "otto").post("/settings/people/grant", sent, follow=True)
    assert b"Say who: a short name." in page.content


def test_a_lead_sees_nothing_of_accounts_beside(acme, browse):
    client = browse(acme, "alice")
    assert client.get("/usage?account=vision").status_code == 403
    assert client.get("/ledger?account=vision").status_code == 403
    assert client.get("/fairshare/vision/bob").status_code == 403


def test_everybody_may_ask_why_about_themselves(acme, browse):
    # Bob works in vision too, where he holds no role.
    assert browse(acme, "bob").get("/fairshare/vision/bob").status_code == 200


def test_people_of_other_accounts_are_counted_but_not_named_in_the_tree(acme, browse):
    acme.person("vera", "vision")
    page = browse(acme, "alice").get("/fairshare?open=vision").content.decode()
    assert "vera" not in page.lower()
    assert "2 not shown to you" in page
    assert "Vera" in browse(acme, "otto").get("/fairshare?open=vision").content.decode()


def test_somebody_on_no_account_is_told_whom_to_ask(acme, browse):
    acme.person("nina")
    page = browse(acme, "nina").get("/").content.decode()
    assert "You are on no account yet" in page


def test_a_login_without_organization_is_told_so(db, client, django_user_model):
    client.force_login(django_user_model.objects.create_user("ghost@example.org", "x"))
    page = client.get("/")
    assert page.status_code == 403
    assert b"belongs to no organization" in page.content


def test_somebody_who_only_works_here_sees_the_tree_and_themselves(acme, browse):
    acme.person("nina", "nlp")
    client = browse(acme, "nina")
    page = client.get("/").content.decode()
    assert "My fair-share factor" in page and "/usage?account" not in page
    assert client.get("/fairshare/nlp/nina").status_code == 200
    assert client.get("/fairshare/nlp/bob").status_code == 403
    tree = client.get("/fairshare").content.decode()
    assert "Nina" in tree and "Bob" not in tree
