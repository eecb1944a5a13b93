# The doors. Needs make and a Python >= 3.10 with venv: `make test PYTHON=python3.12` to choose one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
MINUTES ?= 60
SEED ?= 1
TRIALS ?= 50

# The tests start thousands of commands: each compiles florc once, not every time, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/bytecode

.PHONY: help test lint cases faults fuzz fuzz-bytes sweep demo bench clean

help:
	@echo "make demo    record a sample, add a probe to a copy of it, replay it"
	@echo "make test    all tests, and the pure rooms' on the other Pythons found here"
	@echo "make lint    ruff and mypy"
	@echo "make cases   the whole-program cases alone"
	@echo "make faults  kills, full disks, flipped bits...: TRIALS=50 of each FAULTS='kill-record copied'"
	@echo "make fuzz    generated programs against plain Python: MINUTES=60 SEED=1"
	@echo "make fuzz-bytes  what reads bytes, guided by coverage: MINUTES=60"
	@echo "make sweep   a probe at every statement position of the samples and cases: SWEEP='digits_cnn --every 3'"
	@echo "make bench   what florc costs and saves, measured: BENCH='--quick --workloads masked_lm'"
	@echo "make clean   remove the virtual environments and caches"

$(STAMP): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "florc needs Python >= 3.10; choose one with PYTHON=..."; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

test: $(STAMP)
	$(PYTHON) tests/pure_rooms.py
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

cases: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/test_cases.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

faults: $(STAMP)
	PYTHONPATH=. $(BIN)/python -m tests.reliability.trials --trials $(TRIALS) --workers $(WORKERS) \
		--json $(or $(RESULTS),faults.json) $(FAULTS)

fuzz: $(STAMP)
	PYTHONPATH=. $(BIN)/python -m tests.fuzz.campaign --minutes $(MINUTES) --seed $(SEED)

fuzz-bytes: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	PYTHONPATH=. $(BIN)/python -m tests.fuzz.byte_campaign --minutes $(MINUTES)

sweep: $(STAMP)
	PYTHONPATH=. $(BIN)/python -m tests.sweep --workers $(WORKERS) $(SWEEP)

bench: $(STAMP)
	$(BIN)/python -m benchmarks.environments
	$(BIN)/python -m benchmarks $(BENCH)
	$(BIN)/python -m benchmarks.report
	$(BIN)/python -m benchmarks.queries
	$(BIN)/python -m benchmarks.journal

demo: $(STAMP)
	@$(BIN)/python samples/demo.py

clean:
	rm -rf .venv .venv-3.* .bench build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
