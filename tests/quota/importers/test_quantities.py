"""Kubernetes quantities as whole units."""

from fractions import Fraction

import pytest

from quota.importers.quantities import BadQuantity, parse, whole_units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64", 64),
        ("9.5", Fraction(19, 2)),
        ("500m", Fraction(1, 2)),
        ("2000m", 2),
        ("1Ti", 2**40),
        ("1T", 10**12),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("2Ei", 2**61),
        ("25e-1", Fraction(5, 2)),
        (".5", Fraction(1, 2)),
        ("3.", 3),
    ],
)
def test_values(text, value):
    assert parse(text) == value


@pytest.mark.parametrize("text", ["", "-1", "x", "1 Gi", "1K", "1ki", "0x10", "1e", "NaN", "1mi"])
def test_what_is_no_quantity(text):
    with pytest.raises(BadQuantity):
        parse(text)


@pytest.mark.parametrize(
    ("text", "resource", "units"),
    [
        ("64", "cpu", 64),
        ("64000m", "cpu", 64),
        ("1Ti", "memory", 1024),
        ("36Gi", "memory", 36),
        ("1024Mi", "hugepages-2Mi", 1),
        ("2", "nvidia.com/gpu", 2),
        ("0", "memory", 0),
    ],
)
def test_units_of_pools(text, resource, units):
    assert whole_units(text, resource) == units


@pytest.mark.parametrize(
    ("text", "resource", "said"),
    [("500m", "cpu", "0.5 units"), ("512Mi", "memory", "0.5 Gi"), ("64G", "memory", "whole Gi")],
)
def test_parts_of_units_are_refused_with_the_reason(text, resource, said):
    with pytest.raises(BadQuantity, match=said):
        whole_units(text, resource)
