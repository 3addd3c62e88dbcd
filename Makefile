# Everything runs in .venv, which the first target that needs it sets up: Python 3.11+ with venv is all that must be there.
#   make demo          compile examples/gating.irc to machine code, run it, check it
#   make test          lint, types, unit, numeric and FileCheck tests
#   make gpu-test      tests/gpu, where there is a GPU
#   make bench         speed of the kernels, where there is a GPU
#   make bench-compile speed of the compiler

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.irc-installed
TESTING := $(VENV)/.irc-test-installed
BUILD := build

.PHONY: demo test lint format unit lit docs bench bench-compile gpu-test clean

demo: $(RUNTIME)
	$(BIN)/irc-compile examples/gating.irc -o $(BUILD)/gating
	$(BIN)/irc-run examples/gating.irc --check

test: lint unit lit

lint: $(TESTING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

unit: $(TESTING)
	$(BIN)/python -m pytest tests/unit tests/numerics -q -n auto

lit: $(TESTING)
	$(BIN)/lit -q tests/lit

format: $(TESTING)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(RUNTIME)
	$(BIN)/irc-docs

gpu-test: $(TESTING)
	$(BIN)/python -m pytest tests/gpu -q

bench: $(RUNTIME)
	$(BIN)/irc-bench --suite memory --suite gemm --suite random

bench-compile: $(RUNTIME)
	$(BIN)/irc-bench-compile

clean:
	rm -rf $(BUILD) .pytest_cache .ruff_cache .hypothesis

# The stamps say which dependencies the environment has; a changed pyproject.toml installs again.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "irc needs Python 3.11 or newer; set PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(TESTING): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(RUNTIME)
