"""Jobs that teams ask for over the demo's days: when, who, how large, how long. Pure, seeded."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from demo.organization import people_of
from demo.values import Rhythm, Stream

HOUR: Final = timedelta(hours=1)
BUSIEST: Final = (0.46, 0.27, 0.17, 0.1, 0.08)
"""How a team's jobs fall on its people, the busiest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedJob:
    """A job as it is asked for. ``ends_badly`` jobs stop early and are labelled failed."""

    stream: Stream
    person: str
    units: int
    submitted_at: datetime
    duration: timedelta
    ends_badly: bool


def services(
    stream: Stream, *, since: datetime, until: datetime, seed: str
) -> Iterator[tuple[WantedJob, datetime]]:
    """The replicas of a service, without a break: each is replaced by a release now and then.

    ``jobs_per_day`` of the stream is read as the number of replicas. Gives each job with its
    start; the last of each replica ends after ``until``.
    """
    for replica in range(round(stream.jobs_per_day)):
        rng = random.Random(f"{seed}/{stream.account}/{stream.pool}/{stream.workload}/{replica}")
        start = since - _hours(rng.uniform(0, stream.hours_median))
        while start < until:
            duration = _duration(stream, rng)
            if start + duration > since:
                yield _job(stream, rng, start, duration, ends_badly=False), start
            start += duration


def batch(
    stream: Stream, *, since: datetime, until: datetime, zone: tzinfo, seed: str
) -> Iterator[WantedJob]:
    """Jobs in the order of submission, following the stream's rhythm in local time."""
    rng = random.Random(f"{seed}/{stream.account}/{stream.pool}/{stream.workload}")
    intensity = _intensity(stream.rhythm, rng)
    mean = _weekly_mean(stream.rhythm)
    hour = since
    while hour < until:
        wanted = stream.jobs_per_day / 24 * intensity(hour.astimezone(zone)) / mean
        moments = sorted(rng.uniform(0, 3600) for _ in range(_poisson(rng, wanted)))
        for seconds in moments:
            submitted_at = hour + timedelta(seconds=int(seconds))
            duration = _duration(stream, rng)
            ends_badly = rng.random() < 0.07
            if ends_badly:
                duration = max(timedelta(minutes=1), duration * rng.uniform(0.02, 0.5))
            if submitted_at <= until:
                yield _job(stream, rng, submitted_at, _whole(duration), ends_badly=ends_badly)
        hour += HOUR


def fresh(stream: Stream, *, now: datetime, seed: str) -> Iterator[WantedJob]:
    """Jobs handed in during the last two hours that nobody has looked at yet.

    They make sure that some jobs of every team wait, on a quiet Sunday too.
    """
    rng = random.Random(f"{seed}/fresh/{stream.account}/{stream.pool}/{stream.workload}")
    for _ in range(rng.randint(2, 5)):
        submitted_at = now - timedelta(seconds=rng.randint(20, 7200))
        yield _job(stream, rng, submitted_at, _duration(stream, rng), ends_badly=False)


def _job(
    stream: Stream,
    rng: random.Random,
    submitted_at: datetime,
    duration: timedelta,
    *,
    ends_badly: bool,
) -> WantedJob:
    people = people_of(stream.account)
    return WantedJob(
        stream=stream,
        person=rng.choices(people, weights=BUSIEST[: len(people)])[0],
        units=rng.choices(list(stream.units), weights=list(stream.units.values()))[0],
        submitted_at=submitted_at.astimezone(UTC).replace(microsecond=0),
        duration=duration,
        ends_badly=ends_badly,
    )


def _duration(stream: Stream, rng: random.Random) -> timedelta:
    hours = rng.lognormvariate(math.log(stream.hours_median), stream.hours_spread)
    return _whole(_hours(min(max(hours, 0.05), stream.hours_max)))


def _hours(hours: float) -> timedelta:
    return _whole(timedelta(hours=hours))


def _whole(duration: timedelta) -> timedelta:
    return timedelta(seconds=int(duration.total_seconds()))


def _poisson(rng: random.Random, mean: float) -> int:
    """Knuth's way; the means here are small."""
    limit, count, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        count += 1
        product *= rng.random()
    return count


def _weight(rhythm: Rhythm, weekday: int, hour: int) -> float:
    """Relative submissions in an hour of a local week, Monday 0."""
    weekend = weekday >= 5
    match rhythm:
        case "office" | "bursts":
            if weekend:
                return 0.12 if 9 <= hour < 23 else 0.04
            lunch = 0.6 if hour == 12 else 1.0
            slow_friday = 0.75 if weekday == 4 and hour >= 14 else 1.0
            return lunch * slow_friday if 8 <= hour < 19 else 0.15 if hour >= 19 else 0.05
        case "evenings":
            return 1.0 if 18 <= hour < 23 else 0.06
        case "nights":
            return 1.0 if hour >= 20 or hour < 5 else 0.08 if not weekend else 0.4
        case "weekends":
            return 1.0 if weekend or (weekday == 4 and hour >= 16) else 0.12
        case _:
            return 1.0


def _weekly_mean(rhythm: Rhythm) -> float:
    hours = [(weekday, hour) for weekday in range(7) for hour in range(24)]
    return sum(_weight(rhythm, *moment) for moment in hours) / len(hours)


def _intensity(rhythm: Rhythm, rng: random.Random) -> Callable[[datetime], float]:
    """The weekly rhythm, some drift from week to week, and for bursts quiet and loud weeks."""
    if rhythm == "bursts":
        cycle = [0.25, 0.5, 1.1, 2.15]
        turn = rng.randrange(4)
        weeks = [cycle[(turn + week) % 4] * rng.uniform(0.85, 1.15) for week in range(60)]
    else:
        weeks = [rng.uniform(0.85, 1.15) for _ in range(60)]

    def at(moment: datetime) -> float:
        week = moment.isocalendar().week % len(weeks)
        return _weight(rhythm, moment.weekday(), moment.hour) * weeks[week]

    return at
