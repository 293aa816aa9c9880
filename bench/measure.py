"""Timing, medians and the table. Ratios are against a ceiling measured in the same run."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path


@dataclass(slots=True)
class Result:
    """One line of the table. `ok` None means there is no bound to keep."""

    name: str
    value: float
    unit: str
    bound: str = ""
    ok: bool | None = None
    note: str = ""


@dataclass(slots=True)
class Report:
    """All results of a run; printed, written as JSON, compared with the run before."""

    results: list[Result] = field(default_factory=list)

    def add(
        self, name: str, value: float, unit: str, *, at_most=None, at_least=None, note=""
    ) -> None:
        """Note a result and whether it keeps its bound."""
        bound, ok = "", None
        if at_most is not None:
            bound, ok = f"<= {at_most}", value <= at_most
        if at_least is not None:
            bound, ok = f">= {at_least}", value >= at_least
        self.results.append(Result(name, value, unit, bound, ok, note))
        print(_line(self.results[-1], None), flush=True)

    def finish(self, directory: Path) -> bool:
        """Print the table with the change since the last run, write JSON; True if all is kept."""
        directory.mkdir(parents=True, exist_ok=True)
        earlier = sorted(directory.glob("*.json"))
        before = {}
        if earlier:
            before = {r["name"]: r["value"] for r in json.loads(earlier[-1].read_text())["results"]}
        heads = ("benchmark", "value", "unit", "bound", "kept")
        print("\n{:<58} {:>12} {:<10} {:<10} {:<5} since last".format(*heads))
        for result in self.results:
            print(_line(result, before.get(result.name)))
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        payload = {"at": stamp, "results": [asdict(result) for result in self.results]}
        (directory / f"{stamp}.json").write_text(json.dumps(payload, indent=2) + "\n")
        return all(result.ok is not False for result in self.results)


def _line(result: Result, before: float | None) -> str:
    kept = {None: "", True: "yes", False: "NO"}[result.ok]
    change = f"{result.value / before - 1:+.0%}" if before else ""
    note = f"  {result.note}" if result.note else ""
    return (
        f"{result.name:<58} {result.value:>12.3f} {result.unit:<10} {result.bound:<10} "
        f"{kept:<5} {change}{note}"
    )


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_seconds(work: Callable[[], object], *, rounds: int) -> float:
    """Median over `rounds` calls."""
    return statistics.median(seconds(work) for _ in range(rounds))
