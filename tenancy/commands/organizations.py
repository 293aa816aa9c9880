"""Create a tenant."""

import re
from dataclasses import dataclass
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ledger.errors import Conflict, Invalid
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from tenancy import events
from tenancy.domain.roles import SYSTEM_ONLY

ROOT_NAME = "root"
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,48}")
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOrganization:
    """A new tenant with its root account. The context's organization id becomes its id."""

    slug: str
    name: str
    currency: str
    time_zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationMade:
    """Ids of what was made."""

    organization_id: UUID
    root_account_id: UUID


@handles(CreateOrganization, permission=SYSTEM_ONLY)
def create_organization(command: CreateOrganization, unit: Unit) -> OrganizationMade:
    """Check the four facts, then record the organization and its root account."""
    _check(command)
    root_id = unit.new_id()
    unit.record(
        events.OrganizationCreated(
            organization_id=unit.organization_id,
            slug=command.slug,
            name=command.name,
            currency=command.currency,
            time_zone=command.time_zone,
            root_account_id=root_id,
        ),
        events.AccountOpened(
            account_id=root_id,
            name=ROOT_NAME,
            description=command.name,
            parent_id=None,
            shares=1,
        ),
    )
    return OrganizationMade(organization_id=unit.organization_id, root_account_id=root_id)


def _check(command: CreateOrganization) -> None:
    if not _SLUG.fullmatch(command.slug):
        raise Invalid(
            "slug_malformed",
            "A slug has 1 to 49 lower-case letters, digits and hyphens.",
            field="slug",
        )
    if not _CURRENCY.fullmatch(command.currency):
        raise Invalid(
            "currency_malformed", "A currency is three capital letters.", field="currency"
        )
    try:
        ZoneInfo(command.time_zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise Invalid(
            "time_zone_unknown",
            f"{command.time_zone!r} is not an IANA time zone such as Europe/Berlin.",
            field="time_zone",
        ) from error
    with server_cursor() as cursor:
        # Across organizations no row lock can make the slug unique for two calls at once.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%b, 0))", (f"slug:{command.slug}",)
        )
        taken = cursor.execute(
            "SELECT tenancy_organization_by_slug(%b)", (command.slug,)
        ).fetchone()[0]
    if taken is not None:
        raise Conflict(
            "slug_taken", f"An organization {command.slug} exists already.", field="slug"
        )
