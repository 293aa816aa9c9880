"""Notices about budgets: a threshold was reached, or money is spent faster than planned."""

from accounting.budget_events import BudgetAlerted
from ledger.types import RecordedEvent
from notices.registry import Draft, Holders, Look, kind, leads


@kind(
    "budget.alerted",
    label="A budget speaks up",
    about="A budget of an account that you lead, or that you finance, reached a threshold, will "
    "not last by the forecast, or is spent faster than it allows.",
    on=(BudgetAlerted,),
)
def alerted(event: RecordedEvent, look: Look) -> Draft:
    """To the leads and to the nearest who finance the account: both can change something."""
    data: BudgetAlerted = event.data
    account = look.name(data.account_id)
    currency = data.currency
    body = f"{data.spent:,} of {data.amount:,} {currency} are spent"
    body += "." if data.forecast is None else f"; the forecast is {data.forecast:,} {currency}."
    return Draft(
        to=(leads(data.account_id), Holders(data.account_id, ("finance",))),
        title=_title(account, data),
        body=f"{body} The period began on {data.period_start} and ends before {data.period_end}. "
        "The page of the budget shows which days were dear; finance may change the amount.",
        link=("budget", str(data.budget_id)),
    )


def _title(account: str, data: BudgetAlerted) -> str:
    if data.kind == "spent":
        return f"{account} has spent {data.figure:.0f} % of its budget"
    if data.kind == "forecast":
        return f"{account} is forecast to spend {data.figure:.0f} % of its budget"
    days = data.rule.split("/")[0]
    return f"{account} has spent for {days} days {data.figure:.1f} times what its budget allows"
