"""What management commands share: which organization an operator means."""

from ledger import scope
from ledger.errors import Invalid, NotFound
from tenancy import queries
from tenancy.queries import OrganizationFacts

_NAMED_MAX = 20


def organization_meant(slug: str | None) -> OrganizationFacts:
    """The organization with this slug, or the only one there is.

    Raises:
        NotFound: no such organization, or none at all.
        Invalid: several, and no slug to choose by.
    """
    if slug:
        organization_id = queries.organization_id_by_slug(slug)
        if organization_id is None:
            raise NotFound(
                "organization_unknown", f"There is no organization {slug}.", field="organization"
            )
        return _facts(organization_id)
    ids = scope.organization_ids()
    if not ids:
        raise NotFound("organization_unknown", "There is no organization yet.")
    if len(ids) > 1:
        slugs = sorted(_facts(organization_id).slug for organization_id in ids[:_NAMED_MAX])
        raise Invalid(
            "organization_missing",
            f"There are {len(ids)} organizations. Say which: {', '.join(slugs)}.",
            field="organization",
        )
    return _facts(ids[0])


def _facts(organization_id) -> OrganizationFacts:
    with scope.reading(organization_id):
        return queries.organization(organization_id)
