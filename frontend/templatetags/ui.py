"""`{% load ui %}`: icons, bars and swatches as SVG; the CSP allows no inline style."""

import math

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from frontend.numbers import percent

register = template.Library()

SERIES_COUNT = 8
DEPTH_SHOWN_MAX = 8


@register.simple_tag
def icon(name: str) -> SafeString:
    """A decorative icon; the text beside it, or an aria-label, says what it means."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        static("vendor/bootstrap-icons/icons.svg"),
        name,
    )


@register.simple_tag
def bar(actual: float, target: float, scale: float = 1.0) -> SafeString:
    """Use as a bar, the share as a mark on it; what lies beyond the mark has another color.

    Args:
        actual, target: fractions on one scale.
        scale: the fraction at the right end.
    """
    actual, target = (0.0 if math.isnan(value) else value for value in (actual, target))
    full = scale if scale > 0 else 1.0
    width, mark = (min(value / full, 1.0) * 100 for value in (actual, target))
    return format_html(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        'aria-label="{} used of a share of {}">'
        '<rect class="track" y="1" width="100" height="8"/>'
        '<rect class="actual" y="1" width="{}" height="8"/>'
        '<rect class="beyond" x="{}" y="1" width="{}" height="8"/>'
        '<line class="target" x1="{}" x2="{}" y1="0" y2="10"/></svg>',
        percent(actual),
        percent(target),
        f"{min(width, mark):.2f}",
        f"{mark:.2f}",
        f"{max(width - mark, 0):.2f}",
        f"{mark:.2f}",
        f"{mark:.2f}",
    )


@register.simple_tag
def swatch(index: int) -> SafeString:
    """The color of a series beside its name."""
    return format_html(
        '<svg class="swatch" aria-hidden="true"><rect class="s{}"/></svg>', index % SERIES_COUNT
    )


@register.filter
def depth_class(depth: int) -> str:
    """Indentation of a tree's row; deep levels share the last one."""
    return f"d{min(depth, DEPTH_SHOWN_MAX)}"
