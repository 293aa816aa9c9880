"""`manage.py whatif reclaim`: the stages, and a named place for every fault."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ledger.errors import Invalid
from preemption.whatif import reclaim

WEEKS_3 = [0] * 504


def question(**more: Any) -> dict[str, Any]:
    return {
        "quota": {"guaranteed": 500, "price": 2},
        "use": {"start": "2026-11-01T00:00:00Z", "units": WEEKS_3},
        **more,
    }


def ask(**more: Any) -> dict[str, Any]:
    return reclaim.answer(json.dumps(question(**more)).encode())


def shown(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(stage["stage"], stage["at"]) for stage in answer["stages"]]


def test_the_worked_case() -> None:
    answer = ask()
    assert shown(answer) == [
        ("watch", "2026-11-03T00:00:00Z"),
        ("demoted", "2026-11-04T00:00:00Z"),
    ]
    assert answer["recommendation"]["idle_cost"] == "504000"
    assert (answer["guaranteed"], answer["exempt"]) == (0, False)
    assert answer["stages"][1]["until"] == "2026-11-18T00:00:00Z"


def test_every_rule_can_be_changed() -> None:
    rule = {
        "threshold_percent": 50,
        "window_hours": 10,
        "watch_hours": 4,
        "clear_margin_percent": 0,
        "cooldown_hours": 5,
        "gap_seconds_max": 0,
        "unknown_hours_max": 0,
        "justification_hours_max": 1,
    }
    use = {"start": "2026-11-01T00:00:00Z", "units": [49] * 26}
    answer = ask(quota={"guaranteed": 100}, use=use, rule=rule)
    assert shown(answer) == [
        ("watch", "2026-11-01T04:00:00Z"),
        ("demoted", "2026-11-01T10:00:00Z"),
    ]
    assert answer["stages"][0]["utilisation"] == 0.49


def test_samples_maintenance_justification_and_decisions() -> None:
    answer = ask(
        use={
            "samples": [{"at": "2026-11-01T00:00:00+01:00", "units": 0}],
            "until": "2026-12-01T00:00:00Z",
            "hold_seconds": 2_592_000,
        },
        maintenance=[{"start": "2026-11-01T00:00:00Z", "end": "2026-11-02T00:00:00Z"}],
        justifications=[{"start": "2026-11-03T12:00:00Z", "end": "2026-11-05T00:00:00Z"}],
        decisions=[{"at": "2026-11-09T00:00:00Z", "decision": "restore"}],
    )
    assert shown(answer)[:3] == [  # nobody had to be told of the justification: none was watched
        ("watch", "2026-11-07T00:00:00Z"),
        ("demoted", "2026-11-08T00:00:00Z"),
        ("restored", "2026-11-09T00:00:00Z"),
    ]


def test_exempt_and_unknown() -> None:
    assert ask(quota={"guaranteed": 5, "exempt": True})["stages"] == []
    nothing = ask(use={"start": "2026-11-01T00:00:00Z", "units": [None] * 200})
    assert (nothing["stages"], nothing["recommendation"]) == ([], None)


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"quota": {}}, "quota.guaranteed"),
        ({"quota": {"guaranteed": -1}}, "quota.guaranteed"),
        ({"quota": {"guaranteed": 1, "exempt": "no"}}, "quota.exempt"),
        ({"quota": {"guaranteed": 1, "limit": 2}}, "quota.limit"),
        ({"use": []}, "use"),
        ({"use": {"units": []}}, "use.start"),
        ({"use": {"start": "2026-11-01", "units": []}}, "use.start"),
        ({"use": {"start": "2026-11-01T00:00:00.5Z", "units": []}}, "use.start"),
        ({"use": {"start": "2026-11-01T00:00:00Z", "units": [1, 0.5]}}, "use.units[1]"),
        ({"use": {"samples": [], "until": "x"}}, "use.until"),
        (
            {"use": {"samples": [], "until": "2026-11-01T00:00:00Z", "units": []}},
            "use.units",
        ),
        (
            {
                "use": {
                    "samples": [{"at": "2026-11-02T00:00:00Z", "units": 1}],
                    "until": "2026-11-01T00:00:00Z",
                }
            },
            "use.samples[0].at",
        ),
        ({"rule": {"threshold_percent": 101}}, "rule.threshold_percent"),
        ({"rule": {"threshold_percent": 0.001}}, "rule.threshold"),
        ({"rule": {"window_hours": 0}}, "rule.window_hours"),
        ({"rule": {"watch_hours": 73}}, "rule.watch_hours"),
        ({"rule": {"grace": 1}}, "rule.grace"),
        (
            {"maintenance": [{"start": "2026-11-02T00:00:00Z", "end": "2026-11-02T00:00:00Z"}]},
            "maintenance[0].end",
        ),
        ({"decisions": [{"at": "2026-11-02T00:00:00Z", "decision": "x"}]}, "decisions[0].decision"),
    ],
)
def test_every_fault_names_its_place(more: dict[str, Any], place: str) -> None:
    with pytest.raises(Invalid) as caught:
        ask(**more)
    assert caught.value.field == place
    assert caught.value.code == "whatif_invalid"


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "question.json"
    file.write_text(json.dumps(question()))
    output = io.StringIO()
    call_command("whatif", "reclaim", str(file), stdout=output)
    assert json.loads(output.getvalue()) == ask()
    file.write_text("{}")
    with pytest.raises(CommandError, match="quota: is required"):
        call_command("whatif", "reclaim", str(file))
