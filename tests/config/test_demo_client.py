"""var/demo.json and the question that `make demo ARGS=--check` asks."""

import json
from pathlib import Path

import pytest

from config.demo_client import DemoFile, request_of_curl
from config.processes import ServiceError

CURL = (
    "curl -s -X POST http://localhost:8000/api/v1/priorities -H 'Authorization: Bearer apn_x'"
    """ -H 'Content-Type: application/json' -d '{"jobs": [{"key": "j1"}]}'"""
)


def test_curl_line_as_a_request() -> None:
    request = request_of_curl(CURL)
    assert request.get_method() == "POST"
    assert request.full_url == "http://localhost:8000/api/v1/priorities"
    assert request.get_header("Authorization") == "Bearer apn_x"
    assert json.loads(request.data) == {"jobs": [{"key": "j1"}]}  # type: ignore[arg-type]  # bytes


def test_curl_line_without_an_address() -> None:
    with pytest.raises(ServiceError, match="No address"):
        request_of_curl("curl -s")


def test_the_file_speaks_of_the_port_in_use(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    login = {"email": "ana@example.org", "password": "p", "role": "lead"}
    path.write_text(json.dumps({"logins": [login], "token": "apn_x", "curl": CURL}))
    demo = DemoFile.read(path, base_url="http://localhost:9000")
    assert demo is not None
    assert "http://localhost:9000/api/v1/priorities" in demo.curl
    assert demo.logins[0].email == "ana@example.org"


def test_no_file_yet(tmp_path: Path) -> None:
    assert DemoFile.read(tmp_path / "demo.json", base_url="http://x") is None
