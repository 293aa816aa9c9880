"""`{% load reclaim %}`: words of use-it-or-lose-it."""

from typing import Any

from django import template

from frontend import reclaim_words
from preemption.domain.reclaim import Stage

register = template.Library()


@register.filter
def rule_share(value: Any) -> str:
    """A share that a rule sets, as a percentage."""
    return reclaim_words.share(value)


@register.filter
def stage_word(stage: Stage) -> str:
    """A stage of a trial as the board names it."""
    return reclaim_words.STAGES["watched" if stage.name == "watch" else stage.name][0]


@register.filter
def left_alone(why: str) -> str:
    """Why a guarantee is not judged."""
    return reclaim_words.LEFT_ALONE[why]
