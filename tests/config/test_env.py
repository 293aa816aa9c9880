"""Values from the environment: what is accepted, and that a refusal names the variable."""

from pathlib import Path

import pytest

from config.env import (
    BadEnvironment,
    env_bool,
    env_choice,
    env_int,
    env_list,
    env_secret,
    env_str,
)

SECRET = "s" * 40


@pytest.mark.parametrize(
    ("raw", "want"),
    [("1", True), ("TRUE", True), (" on ", True), ("0", False), ("no", False), ("", False)],
)
def test_switch(raw: str, want: bool) -> None:
    assert env_bool("X", not want, environ={"X": raw}) is want


def test_absent_switch_is_its_default() -> None:
    assert env_bool("X", True, environ={}) is True


@pytest.mark.parametrize("raw", ["maybe", "2", "-"])
def test_switch_refuses_other_words(raw: str) -> None:
    with pytest.raises(BadEnvironment, match="X="):
        env_bool("X", environ={"X": raw})


@pytest.mark.parametrize("raw", ["1.5", "ten", "1e3", "-1", "101"])
def test_number_refuses_what_is_not_whole_or_out_of_bounds(raw: str) -> None:
    with pytest.raises(BadEnvironment, match="X="):
        env_int("X", 5, maximum=100, environ={"X": raw})


def test_number() -> None:
    assert env_int("X", 5, environ={"X": " 42 "}) == 42
    assert env_int("X", 5, environ={"X": ""}) == 5


def test_words_are_trimmed_and_empty_ones_dropped() -> None:
    assert env_list("X", environ={"X": " a, b,,c ,"}) == ["a", "b", "c"]


def test_choice_lists_what_is_allowed() -> None:
    with pytest.raises(BadEnvironment, match="json, console"):
        env_choice("X", "json", choices=("json", "console"), environ={"X": "xml"})


def test_required_text_is_named() -> None:
    with pytest.raises(BadEnvironment, match="Set X"):
        env_str("X", environ={"X": "  "})


def test_secret_must_be_given() -> None:
    with pytest.raises(BadEnvironment, match="Set X to a random secret"):
        env_secret("X", environ={})


def test_short_secret_is_refused_without_showing_it() -> None:
    with pytest.raises(BadEnvironment) as refusal:
        env_secret("X", environ={"X": "hunter2"})
    assert "hunter2" not in str(refusal.value)


def test_secret_from_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    assert env_secret("X", environ={"X_FILE": str(file)}) == SECRET


def test_secret_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadEnvironment, match="X_FILE="):
        env_secret("X", environ={"X_FILE": str(tmp_path / "none")})


def test_secret_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadEnvironment, match="not both"):
        env_secret("X", environ={"X": SECRET, "X_FILE": str(tmp_path)})
