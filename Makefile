# Everything runs in .venv, which the first target that needs it sets up: Python 3.11+ with venv is all that must be there.
#   make demo          compile examples/gating.irc to machine code, run it, check it
#   make test          lint, types, unit, numeric and FileCheck tests; of long tests some cases, always the same
#   make test-all      the same with all cases, but for families that take minutes
#   make test-times    seconds of CPU time of the tests of make test, by file and by test
#   make fuzz          tests that draw programs and numbers, with others than make test's and FUZZ (20) times as many
#   make test-opinfo   PyTorch's operators through torch.compile, with all samples; docs/torch-operators.md has the table
#   make test-opinfo-windows  those of convolutions, pools, resampling, padding and norms, in f64 too; build/windows.json has the counts
#   make test-onnx     the node tests of the package onnx, all of them; docs/onnx-operators.md has the table
#   make test-tiles    TILES (2000) drawn tile programs on the simulator, and the table of what they are: hours on two cores
#   make test-lowest   tests without torch on the lowest versions of the dependencies
#   make wheel-test    builds the wheel and tries it in an environment of its own
#   make gpu-test      tests/gpu, where there is a GPU
#   make test-cutlass  what irc-opt -t cutlass writes, compiled by nvcc (half a minute a file), and run where there is a GPU
#   make test-sweep    hours: the kernels of all rows of the benchmarks, what every pass prints of all examples, gone on from, all
#                      programs of tests/gpu on the simulator, and all cases of all numeric tests
#   make sizes         files and lines by folder, or with SUBJECTS=1 by subject; SINCE=REV puts those of a commit beside them
#   make machine-code  the machine code of the benchmarks' kernels, compared with that at the commit SINCE=REV; SUITES="gemm memory" are some
#   make bench         speed of the kernels, where there is a GPU
#   make bench-compile speed of the compiler

PYTHON ?= python3
FUZZ ?= 20
TILES ?= 2000
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.irc-installed
TESTING := $(VENV)/.irc-test-installed
BUILD := build
LOCK := constraints/lock.txt
LOWEST_TESTS := $(patsubst %,tests/unit/test_%.py,bench_suites commands cuda_cache cuda_printer installation irc_opt layout \
  layout_algebra language_roundtrip name runtime suite_kernels) tests/numerics/test_simulated_examples.py
PYTESTS := tests/unit tests/numerics tests/operators
PIP := -m pip --quiet --disable-pip-version-check

.PHONY: demo test lint format unit lit fuzz docs bench bench-compile gpu-test test-opinfo test-opinfo-windows test-onnx test-tiles test-cutlass test-sweep test-all test-times sizes machine-code test-lowest wheel-test clean

demo: $(RUNTIME)
	$(BIN)/irc-compile examples/gating.irc -o $(BUILD)/gating
	$(BIN)/irc-run examples/gating.irc --check

test: $(TESTING)
	$(MAKE) --jobs=2 lint lit
	$(MAKE) unit

lint: $(TESTING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --cache-dir $(BUILD)/import-linter --no-logo

unit: $(TESTING)
	$(BIN)/python -m pytest $(PYTESTS) -q -n auto

test-times: $(TESTING)
	PYTHONPATH=tests $(BIN)/python -m pytest $(PYTESTS) -q -n auto -p times

lit: $(TESTING)
	$(BIN)/lit -q tests/lit

fuzz: $(TESTING)
	IRC_FUZZ=$(FUZZ) $(BIN)/python -m pytest tests/unit tests/numerics -q -n auto -m 'hypothesis or fuzz' --timeout 7200

format: $(TESTING)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(RUNTIME)
	$(BIN)/irc-docs

test-opinfo: $(TESTING)
	$(BIN)/python tests/operators/sweep.py --records $(BUILD)/operators.jsonl --table docs/torch-operators.md --at-least 250

test-opinfo-windows: $(TESTING)
	$(BIN)/python tests/operators/sweep.py --windows --dtype f32 --dtype bf16 --dtype f64 --records $(BUILD)/windows.jsonl --json $(BUILD)/windows.json

test-onnx: $(TESTING)
	cd tests/operators && ../../$(BIN)/python onnx_sweep.py --table ../../docs/onnx-operators.md

test-tiles: $(TESTING)
	PYTHONPATH=tests $(BIN)/python -m numerics.sweep_tiles --count $(TILES) --records $(BUILD)/tiles.jsonl

gpu-test: $(TESTING)
	$(BIN)/python -m pytest tests/gpu -q

test-cutlass: $(TESTING)
	$(BIN)/python -m pytest tests/cutlass -q

test-all: export IRC_TESTS = all
test-all: test

test-sweep: $(TESTING)
	IRC_TESTS=all IRC_SWEEP=all $(BIN)/python -m pytest tests/unit/test_suite_kernels.py tests/numerics -q -n auto

sizes: $(RUNTIME)
	@$(BIN)/python -m irc_tools.sizes $(if $(SINCE),--since $(SINCE)) $(if $(SUBJECTS),--subjects)

machine-code: $(RUNTIME)
	@$(BIN)/python -m irc_tools.machine_code $(if $(SINCE),--since $(SINCE)) $(SUITES:%=--suite %)

bench: $(RUNTIME)
	$(BIN)/irc-bench --suite memory --suite gemm --suite random

bench-compile: $(RUNTIME)
	$(BIN)/irc-bench-compile

test-lowest:
	$(PYTHON) -m venv --clear $(BUILD)/lowest
	$(BUILD)/lowest/bin/python $(PIP) install --constraint constraints/lowest.txt --editable '.[test-lowest]'
	$(BUILD)/lowest/bin/python -m pytest -q -n auto $(LOWEST_TESTS)
	$(BUILD)/lowest/bin/lit -q tests/lit

wheel-test:
	rm -rf $(BUILD)/wheel
	$(PYTHON) -m venv $(BUILD)/wheel/env
	$(BUILD)/wheel/env/bin/python $(PIP) wheel --no-deps --wheel-dir $(BUILD)/wheel .
	$(BUILD)/wheel/env/bin/python $(PIP) install --constraint $(LOCK) $(BUILD)/wheel/*.whl
	tests/wheel/run $(BUILD)/wheel/env/bin

clean:
	rm -rf $(BUILD) .pytest_cache .ruff_cache .hypothesis

# The stamps say which dependencies the environment has; a changed pyproject.toml or lock file installs again.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "irc needs Python 3.11 or newer; set PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): pyproject.toml $(LOCK) | $(VENV)/bin/python
	$(BIN)/python $(PIP) install --constraint $(LOCK) --editable .
	@touch $@

$(TESTING): pyproject.toml $(LOCK) | $(VENV)/bin/python
	$(BIN)/python $(PIP) install --constraint $(LOCK) --editable '.[test]'
	@touch $@ $(RUNTIME)
