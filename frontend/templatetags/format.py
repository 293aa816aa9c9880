"""`{% load format %}`: `frontend.numbers` as filters, and instants as `<time>` elements."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from frontend import numbers
from ledger.instants import on_clock

register = template.Library()

register.filter("on_clock", on_clock)

for _name in (
    "units",
    "several",
    "amount",
    "plain",
    "unit_hours",
    "percent",
    "factor",
    "level",
    "place",
    "shares",
    "ratio",
    "duration",
):
    register.filter(_name, getattr(numbers, _name))


@register.filter
def instant(value: datetime | None, zone: ZoneInfo) -> SafeString | str:
    """An instant in the organization's zone; nothing for None."""
    if value is None:
        return numbers.NONE
    return format_html(
        '<time datetime="{}" class="nowrap">{}</time>',
        value.isoformat(),
        numbers.instant(value, zone),
    )


@register.filter
def moment(value: datetime | None, zone: ZoneInfo) -> SafeString | str:
    """An instant to the minute, the exact one on hover; nothing for None."""
    if value is None:
        return numbers.NONE
    return format_html(
        '<time datetime="{}" title="{}" class="nowrap">{}</time>',
        value.isoformat(),
        numbers.instant(value, zone),
        numbers.moment(value, zone),
    )


@register.simple_tag
def ago(value: datetime | None, page) -> SafeString | str:
    """A relative time with the absolute one on hover; counts on in the browser."""
    if value is None:
        return "never"
    return format_html(
        '<time datetime="{}" title="{}" class="nowrap" data-relative>{}</time>',
        value.isoformat(),
        numbers.instant(value, page.zone),
        numbers.ago(value, page.now),
    )
