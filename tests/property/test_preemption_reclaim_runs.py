"""What a trial says over past use is what runs do that come every hour over the same use."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hypothesis import given, settings

from preemption.domain.reclaim import Justification, QuotaHistory, ReclaimRule, latest, stages
from preemption.domain.series import UseSeries, seconds
from tests.property.test_preemption_reclaim import GUARANTEE, RULE, START, at, blocks, flat, spans

Told = tuple[str, datetime, int, int]


@dataclass
class Runs:
    """Runs at every full hour, which know what was recorded and what came before them."""

    units: list[int | None]
    rule: ReclaimRule
    maintenance: list[tuple[datetime, datetime]]
    justifications: list[Justification]
    exempt: list[tuple[datetime, datetime]]
    guarantee: int = GUARANTEE
    judged_from: datetime = START
    watched_at: datetime | None = None
    told: list[Told] = field(default_factory=list)

    def all(self) -> list[Told]:
        for hour in range(1, len(self.units) + 1):
            self.run(hour)
        return self.told

    def run(self, hour: int) -> None:
        now = at(hour)
        if now < self.judged_from or self.units[hour - 1] is None:
            return
        if any(low <= now < high for low, high in (*self.maintenance, *self.exempt)):
            return
        ends = [each.end for each in self.justifications if each.start <= now]
        self.judged_from = max([self.judged_from, *ends])
        if now < self.judged_from:
            if self.watched_at is not None:
                self.note("justified", now, 0)
            self.watched_at = None
            return
        known = UseSeries.hourly(seconds(START), self.units[:hour])
        history = QuotaHistory(
            guarantee=self.guarantee,
            use=known,
            judged_from=self.judged_from,
            maintenance=self.maintenance,
        )
        stage = latest(history, self.rule, watched_at=self.watched_at)
        if stage is None:
            return
        if stage.name == "demoted":
            self.guarantee = stage.guarantee
            self.judged_from = now + timedelta(seconds=self.rule.cooldown_seconds)
        self.watched_at = now if stage.name == "watch" else None
        self.note(stage.name, now, stage.units)

    def note(self, name: str, now: datetime, units: int) -> None:
        self.told.append((name, now, units, self.guarantee))


def between(found: list[tuple[int, int]]) -> list[tuple[datetime, datetime]]:
    return [(at(low), at(low + length)) for low, length in found]


@given(blocks, spans, spans)
@settings(max_examples=150, deadline=None)
def test_a_trial_says_what_runs_every_hour_do(found, maintenance, exempt):
    units = flat(found)
    if None in units:  # the end of a gap decides whether it is bridged: a run cannot know yet
        units = [n or 0 for n in units]
    whole = QuotaHistory(
        guarantee=GUARANTEE,
        use=UseSeries.hourly(seconds(START), units),
        judged_from=START,
        maintenance=between(maintenance),
        exempt=between(exempt),
    )
    said = [(one.name, one.at, one.units, one.guarantee) for one in stages(whole, RULE)]
    did = Runs(units, RULE, between(maintenance), [], between(exempt)).all()
    assert said == did


@given(blocks, spans)
@settings(max_examples=150, deadline=None)
def test_so_it_does_with_justifications(found, held):
    """Approved when they begin; one that nobody was waiting for is no stage."""
    units = [n or 0 for n in flat(found)]
    reasons = [Justification(start=low, end=high) for low, high in between(held)]
    whole = QuotaHistory(
        guarantee=GUARANTEE,
        use=UseSeries.hourly(seconds(START), units),
        judged_from=START,
        justifications=reasons,
    )
    said = [(one.name, one.at, one.units, one.guarantee) for one in stages(whole, RULE)]
    did = Runs(units, RULE, [], reasons, []).all()
    assert said == did
