"""`manage.py whatif reclaim`: what a rule would have done with a guarantee, and when.

The same pure code judges here and in operation. Documented field by field in
docs/operator/whatif.md.
"""

from typing import Any

from preemption.domain.reclaim import stages
from preemption.domain.worth import HOUR_SECONDS, recommend
from preemption.whatif.preempt import instant, money
from preemption.whatif.reclaim_document import Question, read


def answer(document: bytes) -> dict[str, Any]:
    """Question in JSON to answer as JSON-friendly values.

    Raises:
        Invalid: `whatif_invalid`, with the place of the fault in `field`.
    """
    question = read(document)
    found = stages(question.quota, question.rule)
    return {
        "exempt": question.quota.is_exempt,
        "guaranteed": found[-1].guarantee if found else question.quota.guarantee,
        "stages": [
            {
                "stage": stage.name,
                "at": instant(stage.at),
                "units": stage.units,
                "guaranteed": stage.guarantee,
                "utilisation": None if stage.utilisation is None else float(stage.utilisation),
                "p95": stage.p95,
                "in_use": stage.in_use,
                "until": instant(stage.until),
            }
            for stage in found
        ],
        "recommendation": _recommendation(question),
    }


def _recommendation(question: Question) -> dict[str, Any] | None:
    """Over the whole series, of the guarantee as it was given."""
    found = recommend(
        use=question.quota.use,
        guarantee=question.quota.guarantee,
        gap_seconds_max=question.rule.gap_seconds_max,
    )
    if found is None:
        return None
    return {
        "utilisation": float(found.utilisation),
        "p50": found.p50,
        "p95": found.p95,
        "peak": found.peak,
        "guaranteed": found.guarantee,
        "units": found.units,
        "idle_unit_hours": found.idle_unit_seconds / HOUR_SECONDS,
        "idle_cost": money(found.idle_cost(question.price)),
        "known_hours": found.known_seconds / HOUR_SECONDS,
    }
