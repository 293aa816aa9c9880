"""A row in every table of rates."""

from decimal import Decimal

from accounting.commands.rates import PriceWish, PublishRateCard, SetRateGrade
from tests.world import Tenant


def publish(tenant: Tenant, price: str = "2", **values) -> None:
    """One price for every tier of h100, from now on unless said otherwise, and one grade."""
    lines = (PriceWish(flavor="h100-80gb", list_price=Decimal(price)),)
    tenant.run(PublishRateCard(lines=lines, **values), reason="test")
    nlp = tenant.accounts["nlp"]
    tenant.run(SetRateGrade(account_id=nlp, grade="academic"), reason="test")
