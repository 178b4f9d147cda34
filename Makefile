# Two commands do everything: `make demo` and `make test`. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
TOOLS := $(VENV)/.tools
DEMO_KERNELS := $(VENV)/.demo-kernels
KERNELS := $(VENV)/.kernels
KERNEL_SOURCES := $(wildcard src/unveil/kernels/*.py)
# Not compiled: Python compiles what is imported, and most of these modules never are.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
# From the sources: beside it pip may be replacing the link to them.
COMPILE := PYTHONPATH=src $(BIN)/python -m unveil.kernels

# With bytecode kept, a package is compiled once and not by every process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test setup chromium postgresql studio check bench papers leaks first-hour accept thorough fuzz docs package constraints verify vulnerabilities clean

demo: $(RUNTIME) $(DEMO_KERNELS)
	@$(BIN)/unveil demo

studio: $(TOOLS) $(KERNELS)
	@test -f unveil-demo/hospital.csv || $(BIN)/unveil demo > /dev/null
	@$(BIN)/unveil studio unveil-demo

test: setup chromium postgresql
	@$(BIN)/python -m pytest -n auto --dist worksteal

setup: $(TOOLS) $(KERNELS)

chromium:
	@tests/browser/install-chromium

postgresql: chromium  # after it: apt-get serves one at a time
	@tests/database/install-postgresql

$(RUNTIME): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"unveil needs Python 3.11 or newer, this is {v[0]}.{v[1]}: make PYTHON=python3.11 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the pinned packages into $(VENV) …"
	@$(INSTALL) --editable .
	@touch $@

$(TOOLS): $(RUNTIME)
	@echo "installing the optional packages and the test tools …"
	@$(INSTALL) --editable '.[dev]'
	@touch $@

$(DEMO_KERNELS): $(RUNTIME) $(KERNEL_SOURCES)
	@# Numba does not see that a kernel of another file has changed: compile all of them again.
	@find src/unveil/kernels -name '*.nb[ic]' -delete
	@$(COMPILE) demo
	@touch $@

$(KERNELS): $(DEMO_KERNELS)
	@$(COMPILE)
	@touch $@

check: $(TOOLS)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --verbose > .lint-imports.log 2>&1 || { cat .lint-imports.log; rm -f .lint-imports.log; exit 1; }
	@rm -f .lint-imports.log; echo "imports keep the dependency order"

bench: setup
	@$(BIN)/python -m benchmarks

papers: setup
	@$(BIN)/python -m papers

leaks: setup
	@$(BIN)/python -m tests.leaks

accept: setup
	@$(BIN)/python -m tests.acceptance

first-hour: setup
	@$(BIN)/python -m tests.first_hour

thorough: setup chromium postgresql
	@UNVEIL_THOROUGH=1 $(BIN)/python -m pytest -n auto --dist worksteal

fuzz: setup
	@UNVEIL_THOROUGH=1 FUZZ_SECONDS=$${FUZZ_SECONDS:-30} $(BIN)/python -m pytest -rs tests/properties tests/faults tests/family/test_replay.py tests/statistical tests/unit/risk/composition --hypothesis-profile=fuzz -n auto

docs: $(RUNTIME)
	@$(INSTALL) --editable '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --config-file site/mkdocs.yml
	@echo "open build/docs/index.html"

package:
	@$(PYTHON) -m tests.stranger

# hashes.txt: of every file that a registry may hold of each pin, for all platforms.
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate --all-extras
constraints:
	@$(BIN)/python -m pip install --quiet uv
	@$(UV_COMPILE) pyproject.toml -o constraints.txt
	@$(UV_COMPILE) --generate-hashes --constraint constraints.txt pyproject.toml -o hashes.txt

# Whether the registry serves, for this machine, the files that were pinned: pip takes no other ones.
verify: $(RUNTIME)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --no-deps --only-binary :all: --require-hashes --requirement hashes.txt
	@echo "every pinned package has a hash that was noted"

vulnerabilities: $(TOOLS)
	@$(BIN)/python -m tests.vulnerabilities

clean:
	rm -rf $(VENV) .bench-venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
