# Everything runs from a fresh checkout with Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo
# Two processes; each runs half of the files in order, and takes over tests of the other when done.
PYTEST ?= --numprocesses 2 --dist worksteal
# The tests start hundreds of processes: the program and the tests are compiled once.
TEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

.PHONY: demo test thorough install bench bench-quick fuzz faults readers mutants truth lint docs lock clean

demo: install
	@$(BIN)/longeval demo $(DEMO)

test: $(VENV)/.dev
	@$(TEST) $(PYTEST)

thorough: $(VENV)/.dev
	@LONGEVAL_THOROUGH=1 $(TEST) $(PYTEST)

install: $(VENV)/.core

bench: $(VENV)/.dev
	@$(BIN)/python -m tests.bench

bench-quick: $(VENV)/.dev
	@$(BIN)/python -m tests.bench --quick

fuzz: $(VENV)/.dev
	@$(BIN)/python -m tests.fuzz $(COUNT)

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Without --quiet, which hides the warnings that --strict looks for.
docs: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the manual is in site/index.html; its commands are run by make test"

# The versions of requirements.lock, in two steps: the program with its extras, what its tests need.
$(VENV)/.core: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

lock: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --extra evaluation --extra baseline --extra classification \
		--extra explore pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --all-extras --group dev -c requirements.lock \
		pyproject.toml -o requirements-dev.lock

clean:
	@rm -rf demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info

readers: $(VENV)/.dev
	@$(BIN)/python -m tests.readers

faults: $(VENV)/.dev
	@$(BIN)/python -m tests.faults

# Plants changes of known cause in simulated worlds and prints what the drift checks say of each.
truth: $(VENV)/.dev
	@$(BIN)/python -m tests.truth --seeds $(or $(SEEDS),0 1 2 3 4 5 6 7 8 9) $(TRUTH)

mutants: $(VENV)/.dev
	@$(BIN)/python -m tests.mutants $(or $(PACKAGE),builder/clicks) --count $(or $(COUNT),60) \
		--seed $(or $(SEED),1) $(if $(TESTS),--tests $(TESTS))
