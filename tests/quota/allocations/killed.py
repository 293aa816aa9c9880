"""A process that admits jobs and kills itself: `python -m tests.quota.allocations.killed`."""

from datetime import UTC, datetime

from tests.killing import Call, Calls, serve_calls

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def admission(number: int) -> Call:
    """A companion set over two pools, a job of one pool, one that is denied."""
    from quota import wire
    from quota.commands.admissions import AdmitBatch

    both = [wire.PoolNeed(pool=pool, units=2) for pool in ("a100", "h100")]
    who = {"account": "nlp", "person": "bob"}
    requests = (
        wire.Ask(key=f"{number}-both", needs=both, **who),
        wire.Ask(key=f"{number}-one", pool="h100", units=3, **who),
        wire.Ask(key=f"{number}-huge", pool="h100", units=1_000, **who),
    )
    return Call(AdmitBatch(requests=requests), NOW)


def release(number: int) -> Call:
    """The end of what was admitted: another job rises into its guarantee."""
    from quota import wire
    from quota.commands.allocations import ReleaseAllocations

    keys = (f"{number}-both", f"{number}-one")
    messages = tuple(wire.ReleaseMessage(key=key) for key in keys)
    return Call(ReleaseAllocations(messages=messages), NOW)


CALLS: Calls = {"admit": admission, "release": release}


if __name__ == "__main__":
    serve_calls(CALLS)
