"""From drafts to rows: who gets what, each person once, and what of it goes out by mail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django.urls import NoReverseMatch, reverse

from ledger.ids import new_id
from ledger.sql import server_cursor
from notices.registry import BODY_LENGTH_MAX, TITLE_LENGTH_MAX, Draft, Holders

DIGEST_HOUR = 8
"""When the daily letter goes out, in the organization's time zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A draft with what makes it unique.

    Attributes:
        source: the event or date behind it.
        author_id: who caused it, and is not told.
        unless: sources that have made it pointless: whoever was told those is not told this.
        mailed: whether it may go out by mail; old news only stand in the list.
    """

    kind: str
    source: str
    draft: Draft
    author_id: UUID | None = None
    unless: tuple[str, ...] = ()
    mailed: bool = True


_INSERT = """
WITH given AS (
    SELECT * FROM unnest(%b::uuid[], %b::uuid[], %b::text[], %b::text[], %b::text[], %b::text[],
                         %b::text[], %b::timestamptz[], %b::text[], %b::bool[])
    AS g(id, person_id, kind, source, title, body, link, deadline, unless, mailed)
), made AS (
    INSERT INTO notices_notice (organization_id, id, person_id, kind, source, title, body, link,
                                deadline, made_at)
    SELECT %b, g.id, g.person_id, g.kind, g.source, g.title, g.body, g.link, g.deadline, %b
    FROM given g WHERE NOT EXISTS (
        SELECT 1 FROM notices_notice o WHERE o.organization_id = %b AND o.kind = g.kind
        AND o.person_id = g.person_id AND o.source = ANY(string_to_array(g.unless, ' ')))
    ON CONFLICT DO NOTHING RETURNING id, person_id, kind
), mailed AS (
    INSERT INTO notices_mail (organization_id, notice_id, person_id, state, due_at, attempts,
                              message_id, problem)
    SELECT %b, m.id, m.person_id, 'waiting',
           CASE s.mail WHEN 'daily' THEN %b::timestamptz ELSE %b::timestamptz END, 0, '', ''
    FROM made m JOIN given g ON g.id = m.id
    JOIN tenancy_person p ON p.organization_id = %b AND p.id = m.person_id AND p.email <> ''
    LEFT JOIN notices_setting s ON s.organization_id = %b AND s.person_id = m.person_id
    WHERE g.mailed AND s.mail IS DISTINCT FROM 'none' AND NOT EXISTS (
        SELECT 1 FROM notices_mute x WHERE x.organization_id = %b
        AND x.person_id = m.person_id AND x.kind = m.kind)
)
SELECT count(*) FROM made
"""


def write(organization_id: UUID, items: Sequence[Item], *, now: datetime, zone: ZoneInfo) -> int:
    """Write what is new of the items, in their order; returns how many notices that made.

    Runs in the caller's transaction. Whatever was written before, by this worker or another, is
    left as it is: the unique key decides.
    """
    rows = _addressed(organization_id, items)
    if not rows:
        return 0
    here = organization_id
    with server_cursor() as cursor:
        cursor.execute(
            _INSERT,
            (
                *([*column] for column in zip(*rows, strict=True)),
                *(here, now, here, here, next_digest(now, zone), now, here, here, here),
            ),
        )
        return cursor.fetchone()[0]


def next_digest(now: datetime, zone: ZoneInfo) -> datetime:
    """When the next daily letter goes out: today's hour if it is to come, else tomorrow's."""
    local = now.astimezone(zone)
    day = local.date() if local.time() < time(DIGEST_HOUR) else local.date() + timedelta(days=1)
    return datetime.combine(day, time(DIGEST_HOUR), tzinfo=zone)


def _addressed(organization_id: UUID, items: Sequence[Item]) -> list[tuple]:
    groups = sorted(
        {one for item in items for one in item.draft.to if isinstance(one, Holders)}, key=repr
    )
    holders = _holders(organization_id, groups) if groups else {}
    rows = []
    for item in items:
        people: dict[UUID, None] = {}
        for one in item.draft.to:
            found = holders[one] if isinstance(one, Holders) else (one.person_id,)
            people.update(dict.fromkeys(person for person in found if person))
        spared = item.draft.but if item.draft.also_author else item.draft.but | {item.author_id}
        rows += [_row(item, person_id) for person_id in people if person_id not in spared]
    return rows


def _row(item: Item, person_id: UUID) -> tuple:
    draft = item.draft
    return (
        new_id(),
        person_id,
        item.kind,
        item.source,
        # One line: it becomes the subject of a letter.
        " ".join(draft.title.split())[:TITLE_LENGTH_MAX],
        draft.body.strip()[:BODY_LENGTH_MAX],
        _path(draft),
        draft.deadline,
        " ".join(item.unless),
        item.mailed,
    )


def _path(draft: Draft) -> str:
    view, *parts = draft.link
    query = f"?{urlencode(draft.query)}" if draft.query else ""
    try:
        return f"{reverse(view, args=parts)}{query}"
    except NoReverseMatch:
        # A page that is not there must not keep everybody from being told.
        return reverse("notices")


def _holders(organization_id: UUID, groups: Sequence[Holders]) -> dict[Holders, list[UUID]]:
    """Everybody behind each group, by one query for all."""
    found: dict[Holders, list[UUID]] = {group: [] for group in groups}
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT w.n, m.person_id FROM unnest(%b::int[], %b::uuid[], %b::text[], %b::bool[]) "
            "  AS w(n, account_id, roles, nearest) "
            "JOIN tenancy_organization o ON o.id = %b "
            "JOIN tenancy_account a ON a.organization_id = o.id "
            "  AND a.id = coalesce(w.account_id, o.root_account_id) "
            "CROSS JOIN LATERAL ("
            "  SELECT m.person_id, array_position(a.ancestors, m.account_id) AS depth, "
            "    max(array_position(a.ancestors, m.account_id)) OVER () AS deepest "
            "  FROM tenancy_membership m WHERE m.organization_id = o.id "
            "  AND m.account_id = ANY(a.ancestors) "
            "  AND m.role = ANY(string_to_array(w.roles, ','))) m "
            "WHERE NOT w.nearest OR m.depth = m.deepest ORDER BY 1, 2",
            (
                [*range(len(groups))],
                [group.account_id for group in groups],
                [",".join(group.roles) for group in groups],
                [group.nearest for group in groups],
                organization_id,
            ),
        ).fetchall()
    for n, person_id in rows:
        found[groups[n]].append(person_id)
    return found
