"""Addresses of the pages. They hold what is shown, so that they can be shared."""

from django.urls import include, path

from frontend.views import fairshare, ledger, organization, overview, people, search, tokens, usage

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
