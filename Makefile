# make demo and make test do all their own set-up from a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
KERNELS := $(wildcard src/podium/kernels/*.py src/podium/kernels/*/*.py src/podium/kernels/*/*.pxd)
WORKERS ?= 2

.PHONY: demo test lint bench bench-full docs clean

demo: $(VENV)/.kernels  ## rank the bundled example, print the leaderboard and write report.html
	$(BIN)/podium rank examples/chess-1948.csv --report report.html --title "World championship 1948"

test: $(VENV)/.kernels $(VENV)/.test  ## everything: unit, property, docs, types, layers
	$(BIN)/python -m sphinx -q -W -b html docs build/docs
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -n $(WORKERS) -q

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(VENV)/.kernels $(VENV)-bench/.installed  ## side by side with other packages, in minutes
	$(VENV)-bench/bin/python -m benchmarks.run

bench-full: $(VENV)/.kernels $(VENV)-bench/.installed  ## the long scenarios too
	$(VENV)-bench/bin/python -m benchmarks.run --full

docs: $(VENV)/.kernels $(VENV)/.test
	$(BIN)/python -m sphinx -W -b html docs build/docs

$(VENV)/.installed: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group build
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@

# An edited kernel stays stale until rebuilt, so every target that runs code depends on this.
$(VENV)/.kernels: $(VENV)/.installed $(KERNELS)
	$(BIN)/python setup.py --quiet build_ext --inplace --parallel 2
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	touch $@

# The rivals ask for other versions of what we use, so they live in an environment of their own.
$(VENV)-bench/.installed: $(VENV)/.installed benchmarks/requirements.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-bench/bin/python -m pip install --quiet --group build
	$(VENV)-bench/bin/python -m pip install --quiet --no-build-isolation --editable .
	while read -r rival; do $(VENV)-bench/bin/python -m pip install --quiet "$$rival" || true; done < benchmarks/requirements.txt
	touch $@

clean:
	rm -rf build $(VENV) $(VENV)-bench src/podium/kernels/*.so src/podium/kernels/*/*.so src/*.egg-info
