"""The SQL text of the forward weight, run by PostgreSQL, against Python's."""

import random

import pytest
from django.db import connection

from accounting.domain.decay import (
    LANDMARK_SECONDS,
    HalfLife,
    forward_weight,
    quanta_of,
    sql_epoch,
    sql_forward_weight,
)

DAY = 86_400
QUERY = f"""
    select {sql_epoch(end="r.stop", half_life_seconds="r.h")},
           {
    sql_forward_weight(rate="r.rate", start="r.start", end="r.stop", half_life_seconds="r.h")
}
    from unnest(%s::float8[], %s::float8[], %s::float8[], %s::float8[])
         with ordinality as r(rate, start, stop, h, place)
    order by r.place
"""


@pytest.mark.django_db
def test_postgresql_weighs_as_python_does() -> None:
    """From a microsecond to decades, any half-life, either side of a landmark; no under- or
    overflow, which PostgreSQL would raise. 15 digits survive the cast to numeric."""
    chance = random.Random(7)
    records = []
    for _ in range(2000):
        half_life = HalfLife.from_days(chance.choice([1, 7, 14, 365, chance.randint(1, 365)]))
        start = LANDMARK_SECONDS + chance.uniform(-1000, 4000) * DAY
        length = chance.choice([0.0, 1e-6, 1.0, 3600.0, 10.0 ** chance.uniform(-3, 9)])
        rate = chance.choice([0.0, 1.0, 2.5, chance.uniform(0, 1e4)])
        records.append((rate, start, start + length, half_life))
    columns = [list(column) for column in zip(*records, strict=True)]
    columns[3] = [float(half_life.seconds) for half_life in columns[3]]
    with connection.cursor() as cursor:
        cursor.execute(QUERY, columns)
        rows = cursor.fetchall()
    for (rate, start, end, half_life), (epoch, weight) in zip(records, rows, strict=True):
        ours = forward_weight(rate=rate, start=start, end=end, half_life=half_life)
        assert epoch == ours.epoch
        assert quanta_of(weight) == pytest.approx(ours.quanta, rel=1e-13, abs=1)
