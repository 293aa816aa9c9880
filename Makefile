# Everything a person types. Each target makes the environment first when the lock has changed.
#
#   make demo                 run everything on http://localhost:8000
#   make demo PORT=9000       on another port (HOST=0.0.0.0 for other machines)
#   make demo ARGS=--check    start, ask one priority, print it, stop
#   make test ARGS="-k decay" the test suite, in parallel
#   make lint fmt bench clean install lock

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
HOST ?= 127.0.0.1
# Two workers on small machines and on big ones alike: the database is the shared part.
JOBS ?= 2
ARGS ?=

# Enough of a production environment to check the settings; nothing connects to it.
LINT_ENV := APPORTION_SECRET_KEY=$$($(BIN)/python -c "import secrets; print(secrets.token_urlsafe(60))") \
	DATABASE_URL=postgresql://lint@127.0.0.1:1/lint REDIS_URL=redis://127.0.0.1:1/0 \
	APPORTION_ALLOWED_HOSTS=apportion.example APPORTION_VAR_DIR=$(CURDIR)/var/lint

.PHONY: help install install-base demo test lint fmt bench clean lock

help:
	@sed -n 's/^#   //p' Makefile

# ---------------------------------------------------------------- environment

# The stamp holds the lock's checksum and the interpreter's version: an unchanged lock costs no
# pip run, and a changed interpreter makes the environment anew.
define ENSURE
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
		echo "No $(PYTHON) here. Install Python 3.11 or newer, or: make PYTHON=/path/to/python3" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Apportion needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
			"Try: make PYTHON=python3.12" >&2; exit 1; }
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh requirements/install.sh $(1) >&2
endef

install:
	$(call ENSURE,dev)

install-base:
	$(call ENSURE,base)

lock:
	$(call ENSURE,dev)
	$(BIN)/python -m pip install --quiet 'pip-tools~=7.6'
	requirements/compile.sh $(ARGS)

# ---------------------------------------------------------------- running

demo: install-base
	@exec $(BIN)/python -m config.supervisor --host $(HOST) --port $(PORT) $(ARGS)

test: install
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

bench: install-base
	$(BIN)/python -m bench $(ARGS)

# ---------------------------------------------------------------- quality

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@mkdir -p var/lint
	$(LINT_ENV) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(LINT_ENV) $(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

fmt: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	@if [ -x $(BIN)/python ] && [ -d var ]; then \
		$(BIN)/python -m config.supervisor --stop && \
		$(BIN)/python -m config.services stop --test >/dev/null; fi
	rm -rf var $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
