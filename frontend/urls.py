"""Addresses of the pages. They hold what is shown, so that they can be shared."""

from django.urls import include, path

from frontend.views import (
    allocations,
    capacity,
    fairshare,
    ledger,
    organization,
    overview,
    people,
    pools,
    quota,
    search,
    tokens,
    usage,
)

urlpatterns = [
    path("accounts/", include("frontend.sign_in")),
    path("", overview.overview, name="overview"),
    path("organization", organization.switch, name="switch_organization"),
    path("search", search.search, name="search"),
    path("fairshare", fairshare.explorer, name="fairshare"),
    path("fairshare/<str:account>/<str:person>", fairshare.explanation, name="explanation"),
    path("usage", usage.usage, name="usage"),
    path("usage/records", usage.usage_records, name="usage_records"),
    path("usage/batches/<str:batch_id>", usage.batch, name="usage_batch"),
    path("capacity", capacity.capacity, name="capacity"),
    path("capacity/<str:name>", capacity.pool, name="capacity_pool"),
    path("capacity/<str:name>/edit", pools.edit_pool, name="pool_edit"),
    path("accounts/<str:account>/quota", quota.account_quota, name="account_quota"),
    path("accounts/<str:account>/quota/<str:pool>", pools.edit_quota, name="quota_edit"),
    path("allocations", allocations.allocation_list, name="allocations"),
    path("allocations/<path:key>", allocations.allocation, name="allocation"),
    path("ledger", ledger.events, name="ledger"),
    path("ledger/<str:event_id>", ledger.event, name="ledger_event"),
    path("settings/people", people.people, name="people"),
    path("settings/people/grant", people.grant, name="role_grant"),
    path("settings/people/revoke", people.revoke, name="role_revoke"),
    path("settings/tokens", tokens.tokens, name="tokens"),
    path("settings/tokens/issue", tokens.issue, name="token_issue"),
    path("settings/tokens/<str:token_id>/rotate", tokens.rotate, name="token_rotate"),
    path("settings/tokens/<str:token_id>/revoke", tokens.revoke, name="token_revoke"),
]
