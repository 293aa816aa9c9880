"""Requests and reviews among 10,000 accounts and 100,000 past requests: as many statements as with
a handful, and none that reads a big table from end to end."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from ledger import scope
from ledger.sql import server_cursor
from quota.commands.pools import ResizePool
from quota.commands.reviews import FollowUpRequests
from tests import world
from tests.quota.requests.conftest import DAY, Desk, staffed
from tests.world import NOW

ACCOUNTS = 10_000
PAST = 100_000
BIG = ("quota_request", "quota_requestdecision", "quota_requestcomment")

_ACCOUNTS = """
INSERT INTO tenancy_account SELECT (jsonb_populate_record(a, jsonb_build_object(
    'id', n.id, 'name', 'team-' || n.n, 'ancestors', a.ancestors[1:cardinality(a.ancestors) - 1]
    || n.id))).* FROM tenancy_account a,
(SELECT n, gen_random_uuid() AS id FROM generate_series(1, %s) n) n WHERE a.id = %s
"""
_REQUESTS = """
INSERT INTO quota_request SELECT (r).* FROM (
    SELECT jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'account_id', a.id,
        'submitted_at', r.submitted_at - n.n * interval '9 days')) AS r
    FROM quota_request r, generate_series(1, %s / %s) n, tenancy_account a
    WHERE r.id = %s AND a.organization_id = r.organization_id AND a.name LIKE 'team-%%') made
"""
_QUOTAS = """
INSERT INTO quota_quota SELECT (q).* FROM (
    SELECT jsonb_populate_record(q, jsonb_build_object('account_id', a.id, 'guaranteed', 1)) AS q
    FROM quota_quota q, tenancy_account a
    WHERE a.organization_id = q.organization_id AND a.name LIKE 'team-%%') made
"""
_PEOPLE = """
INSERT INTO tenancy_person SELECT (p).* FROM (
    SELECT jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'user_id', null,
        'name', 'p' || n, 'email', 'p' || n || '@example.org')) AS p
    FROM tenancy_person p, generate_series(1, %s) n WHERE p.id = %s) made
"""
_DECISIONS = """
INSERT INTO quota_requestdecision SELECT (d).* FROM (
    SELECT jsonb_populate_record(d, jsonb_build_object('event_id', gen_random_uuid(),
        'request_id', r.id, 'account_id', r.account_id, 'decided_at', r.submitted_at)) AS d
    FROM quota_requestdecision d, quota_request r
    WHERE d.request_id = %s AND r.state = 'rejected' AND r.id <> d.request_id) made
"""
_COMMENTS = """
INSERT INTO quota_requestcomment (organization_id, id, request_id, author_id, text,
    mentioned_ids, said_at)
SELECT organization_id, gen_random_uuid(), id, requester_id, 'why?', '{}', submitted_at
FROM quota_request WHERE state = 'rejected'
"""


def grow(owner: psycopg.Connection, desk: Desk, past) -> None:
    """Past requests of many teams, as rows."""
    owner.execute("SET session_replication_role = replica")
    owner.execute(_ACCOUNTS, (ACCOUNTS, desk.place.accounts["nlp"]))
    owner.execute(_REQUESTS, (PAST, ACCOUNTS, past.request_id))
    owner.execute(_QUOTAS)
    owner.execute(_PEOPLE, (ACCOUNTS, desk.place.people["bob"]))
    owner.execute(_DECISIONS, (past.request_id,))
    owner.execute(_COMMENTS)
    owner.execute("SET session_replication_role = origin")
    owner.execute("ANALYZE")


@contextmanager
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, object]]]:
    """Every read that is made, with its values."""
    seen: list[tuple[str, object]] = []
    real = psycopg.Cursor.execute

    def execute(self, query, params=None, **rest):
        if isinstance(query, str) and query.lstrip()[:6].upper() in ("SELECT", "WITH A", "WITH R"):
            seen.append((query, params))
        return real(self, query, params, **rest)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Cursor, "execute", execute)
        yield seen


def read_whole(desk: Desk, seen: list[tuple[str, object]]) -> list[str]:
    """Plans that read a big table from end to end."""
    found = []
    with scope.reading(desk.place.id), server_cursor() as cursor:
        for query, params in seen:
            if not any(re.search(rf"\b{table}\b", query) for table in BIG):
                continue
            query = re.sub(r"\bFOR UPDATE\b", "", query)
            plan = [row[0] for row in cursor.execute(f"EXPLAIN {query}", params).fetchall()]
            if any(re.search(rf"Seq Scan on ({'|'.join(BIG)})\b", line) for line in plan):
                found.append(query + "\n" + "\n".join(plan))
    return found


def test_pages_ask_as_much_of_a_hundred_thousand_requests_as_of_three(owner, monkeypatch, browse):
    desk = staffed(world.acme())
    desk.people_only()
    past = desk.ask("nlp", 60)
    desk.reject(past, by="petra", reason="no")
    waits = desk.ask("nlp", 8)
    desk.place.run(ResizePool(pool_id=desk.place.pools["h100"], capacity=50_000), reason="more")
    desk.quotas.set("nlp", 1)
    alice, petra, uma = (browse(desk.place, name) for name in ("alice", "petra", "uma"))
    ask = "account=nlp&pool=h100&kind=boost&units=4&ends_at=2026-12-20&purpose=p"
    visits = (
        (alice, "/requests"),
        (uma, "/requests?state=over"),
        (uma, "/requests?account=research"),
        (alice, f"/requests/{waits.request_id}"),
        (petra, f"/requests/{waits.request_id}"),
        (petra, f"/requests/{waits.request_id}/decide?what=approve"),
        (petra, "/reviews"),
        (petra, "/reviews?account=research&pool=h100&kind=boost"),
        (uma, "/reviews/decisions"),
        (alice, f"/requests/new?{ask}"),
    )

    def visit() -> tuple[dict[str, int], list[tuple[str, object]]]:
        counts, everything = {}, []
        for client, address in visits:
            client.get(address)
            with statements(monkeypatch) as seen:
                answer = client.get(address)
            assert answer.status_code == 200, (address, answer.content.decode()[:2000])
            counts[address] = len(seen)
            everything += seen
        return counts, everything

    few, _ = visit()
    grow(owner, desk, past)
    many, everything = visit()
    with statements(monkeypatch) as seen:
        desk.place.run(FollowUpRequests(), now=NOW + DAY)
        desk.ask("nlp", 4, now=NOW + DAY)
    assert read_whole(desk, everything + seen) == []
    assert many == few
