# aqmlab: `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SIMULATOR := python/aqmlab/page/simulator.wasm
RUST_TESTS := cargo test --quiet --workspace --exclude aqmlab-py
# Untracked files are included, because a new discipline adds a file.
RUST := $(shell git ls-files --cached --others --exclude-standard '*.rs' Cargo.toml 'crates/*/Cargo.toml' 2>/dev/null)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | \
	  while IFS=$$'\t' read -r target text; do printf '  make %-14s %s\n' "$$target" "$$text"; done

tools: ## check that Python, venv and Rust are installed
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'Python 3.11 or newer is needed: apt-get install python3 python3-venv  (or https://www.python.org)' >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "Python's venv is needed: apt-get install python3-venv" >&2; exit 2; }
	@printf '1.88\n%s\n' "$$(cargo --version 2>/dev/null | cut -d' ' -f2)" | sort -CV || { \
	  echo "Rust 1.88 or newer is needed: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2; exit 2; }

$(READY): pyproject.toml Cargo.lock $(RUST)
	@$(MAKE) --no-print-directory tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'building aqmlab (a few minutes the first time) ...' >&2
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	  $(BIN)/python -m pip install --verbose --disable-pip-version-check --editable '.[dev]' 2>&1 | tee "$$log" | \
	  sed -un 's/^ *\(Compiling [^ ]*\).*/  \1/p' >&2 || { tail -n 60 "$$log" >&2; exit 1; }
	@touch $@

setup: $(READY) ## build everything into .venv

$(SIMULATOR): $(RUST) tools/simulator_wasm.sh
	@tools/simulator_wasm.sh

# The toolchain is checked before `setup`, which takes minutes.
page-tools: tools
	@test -f $(SIMULATOR) || tools/simulator_wasm.sh --check

page: page-tools setup $(SIMULATOR) ## compile the simulator for browsers and write page.html
	@$(BIN)/aqmlab page --no-open --out page.html

demo: setup ## run key experiments of two papers and a TEACUP config, and print the paths of the reports
	@$(BIN)/aqmlab demo examples/teacup/household.py

test: setup $(SIMULATOR) ## run all tests except the long ones, and boot one virtual machine if possible
	@$(RUST_TESTS)
	@$(BIN)/python -m pytest -n auto --dist worksteal

compiled-tests: ## compile the tests of Rust without running them
	@$(RUST_TESTS) --no-run

# Installs an extra of pyproject.toml without a build of the package itself.
install_extra = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"], sep="\n")' | \
	  xargs -d '\n' $(BIN)/python -m pip install --quiet --disable-pip-version-check

dist: setup $(SIMULATOR) ## build a wheel and an sdist into dist, and test the wheel without a compiler
	@$(call install_extra,dist)
	@$(BIN)/python tools/dist.py
	@$(BIN)/python -m pytest -m dist tests/dist

docs: setup ## build the documentation site into target/docs/site, strictly
	@$(call install_extra,docs)
	@$(BIN)/python tools/documentation/build.py

soak: setup $(SIMULATOR) ## run the long tests, the fuzzers and make dist
	@$(call install_extra,fuzz) || echo 'warning: the packages of [fuzz] cannot be installed: see above' >&2
	@$(BIN)/python tools/soak.py

fuzz: setup ## fuzz the readers of captures and trials, for a minute each
	@$(BIN)/python fuzz/run.py

coverage: setup ## print the share of lines of Rust and Python that the tests run (needs LLVM's tools)
	@$(BIN)/python tools/coverage_report.py

kernel: setup ## build the kernel engine's boot image, and print its files and versions
	@$(BIN)/aqmlab kernel build

test-kernel: setup ## boot the kernel engine's virtual machine (needs QEMU and a kernel image)
	@$(BIN)/python -m pytest -m 'vm or boot' tests/engines/kernel

lint: setup ## check formatting, lints, types and the order of imports
	@rustfmt --check --edition 2024 $$(git ls-files '*.rs')
	@cargo clippy --quiet --workspace --all-targets -- -D warnings
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@told=$$($(BIN)/lint-imports --no-logo --no-cache 2>&1) || { echo "$$told"; exit 1; }

fmt: ## format everything
	@rustfmt --edition 2024 $$(git ls-files '*.rs')
	@$(BIN)/ruff format --quiet .

bench: setup ## measure speed and memory, next to ns-3 and csg-htsim (HTSIM=FOLDER), and the page
	@HTSIM='$(HTSIM)' $(BIN)/python bench/run.py
	@$(BIN)/python bench/page.py

golden: setup ## rewrite the golden digests (review the diff)
	@$(BIN)/python tests/golden/regenerate.py

mutants: setup ## change the code that measures and judges, and list the changes that no test notices
	@tools/mutants.sh $(BIN)

clean: ## remove what was built
	rm -rf target $(VENV) dist

clean-results: ## remove all campaigns in results and demo
	rm -rf results demo

.PHONY: help tools setup page-tools page demo test compiled-tests dist docs soak fuzz coverage kernel test-kernel lint fmt bench golden mutants clean clean-results
