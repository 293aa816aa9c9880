"""`{% load capacity %}`: a pool's picture as SVG; the CSP allows no inline style."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from frontend.capacity import Picture

register = template.Library()


@register.simple_tag
def strip(picture: Picture, name: str) -> SafeString:
    """The stacked bar. Its table twin holds the same numbers."""
    total = picture.total or 1
    rects, x = [], 0.0
    for part in picture.parts:
        width = part.units / total * 100
        if width:
            rects.append((part.kind, f"{x:.3f}", f"{width:.3f}", f"{part.title}: {part.units:,}"))
        x += width
    return format_html(
        '<svg class="strip" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        'aria-label="{}: {}"><rect class="k-free" width="100" height="10"/>{}</svg>',
        name,
        picture.words,
        format_html_join(
            "",
            '<rect class="k-{}" x="{}" width="{}" height="10"><title>{}</title></rect>',
            rects,
        ),
    )


@register.simple_tag
def key(kind: str) -> SafeString:
    """The color of a part beside its name."""
    return format_html(
        '<svg class="swatch" aria-hidden="true"><rect class="k-{}"/></svg>',
        kind,
    )
