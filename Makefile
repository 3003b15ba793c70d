# make demo and make test do all their own set-up from a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
KERNELS := $(shell find src/podium/kernels -name '*.py' -o -name '*.pxd')
WORKERS ?= 2
# Tests share the cores by processes; threads of linear algebra beside them would only wait for each other.
test test-checked long: export OPENBLAS_NUM_THREADS := 1

.PHONY: demo demo-judge app test test-checked long lint bench bench-full figures measure pictures mutate docs docs-versions clean

demo: $(VENV)/.kernels  ## rank the bundled example, print the leaderboard and write report.html
	$(BIN)/podium rank examples/chess-1948.csv --report report.html --title "World championship 1948"

demo-judge: $(VENV)/.kernels $(VENV)/.judge  ## a simulated model on this machine judges the bundled essays: no network, no key
	mkdir -p build/demo-judge
	rm -f build/demo-judge/essays.db*
	$(BIN)/python examples/simulated_model.py $(BIN)/podium judge examples/street-essays.csv \
		--db build/demo-judge/essays.db --question "Which essay argues better?" --base-url URL --model simulated \
		--price-in 1 --price-out 4 --repeat 0.02 --report build/demo-judge/report.html --seed 1
	$(BIN)/podium campaign export calls --db build/demo-judge/essays.db -o build/demo-judge/calls.jsonl

app: $(VENV)/.kernels $(VENV)/.app  ## a campaign on the bundled essays in the browser; links are printed once, in build/app/links.txt too
	mkdir -p build/app
	test -f build/app/campaign.db || $(BIN)/podium campaign new examples/street-essays.csv --db build/app/campaign.db \
		--title "Street essays" --question "Which essay argues better?" --judges 3 --target 20 > build/app/links.txt
	cat build/app/links.txt
	$(BIN)/podium serve --db build/app/campaign.db

test: $(VENV)/.kernels $(VENV)/.test  ## everything: unit, property, docs, types, layers
	$(BIN)/python -m sphinx -q -W -b html docs build/docs
	$(BIN)/python scripts/narrow.py build/docs
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -n $(WORKERS) -q --ignore=tests/fuzz
	$(MAKE) test-checked

# Kernels run without bounds checks. Here they are compiled with them, into a package of its own, and the property tests
# and strange inputs run against that. CHECKED=address adds the address sanitizer, which also sees what goes through
# pointers (GCC or Clang; slower). PODIUM_FUZZ=20000 asks for more strange inputs than the usual 1500.
CHECKED ?= 1
CHECKED_ROOT := build/checked-$(CHECKED)
ifeq ($(CHECKED),address)
CHECKED_ENV := LD_PRELOAD=$$($(or $(CC),cc) -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0
endif

test-checked: $(VENV)/.kernels $(VENV)/.test  ## property tests and strange inputs against kernels with bounds checks
	mkdir -p $(CHECKED_ROOT)
	find $(CHECKED_ROOT) -name '*.py' -delete
	PODIUM_CHECKED=$(CHECKED) $(BIN)/python setup.py --quiet build --build-lib $(CHECKED_ROOT) --build-temp $(CHECKED_ROOT)-temp --parallel 2
	$(CHECKED_ENV) PYTHONPATH=$(CURDIR)/$(CHECKED_ROOT) PODIUM_CHECKED=$(CHECKED) $(BIN)/python -m pytest -n $(WORKERS) -q \
		-W error::pytest.PytestUnraisableExceptionWarning -m 'hypothesis or fuzz or checked' tests

TURNS ?= 10
long: $(VENV)/.kernels $(VENV)/.test  ## the long form: fresh inputs for every property, TURNS=10 times over, and 20,000 strange inputs
	for turn in $$(seq $(TURNS)); do $(BIN)/python -m pytest -n $(WORKERS) -q --ignore=tests/fuzz -m hypothesis --hypothesis-profile=long || exit 1; done
	PODIUM_FUZZ=20000 PODIUM_FUZZ_FIRST=$$(date +%s) $(MAKE) test-checked

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(VENV)/.kernels $(VENV)-bench/.installed  ## side by side with other packages, in minutes
	$(VENV)-bench/bin/python -m benchmarks.run

bench-full: $(VENV)/.kernels $(VENV)-bench/.installed  ## the long scenarios too
	$(VENV)-bench/bin/python -m benchmarks.run --full

figures: $(VENV)/.installed  ## rewrite every figure of README and docs from the kept results, with their day and commit; measures nothing
	$(BIN)/python -m benchmarks.figures

measure: $(VENV)/.kernels $(VENV)-bench/.installed  ## every command that README and docs quote, then figures: hours; DATA=FOLDER of public data
	$(VENV)-bench/bin/python -m benchmarks.measure $(if $(DATA),--data $(DATA))

PICTURES ?= docs
pictures: $(VENV)/.kernels $(VENV)/.test  ## run every demo and take a picture of what it shows (Chromium); PICTURES=FOLDER
	mkdir -p $(PICTURES)
	$(BIN)/python scripts/pictures.py $(PICTURES)

ROOMS ?= metrics
SEED ?= 0
mutate: $(VENV)/.kernels $(VENV)/.test  ## change the source at random and name the changes that no test notices; ROOMS=metrics SEED=0
	$(BIN)/python scripts/mutate.py $(ROOMS) --count 60 --seed $(SEED) --lines

docs: $(VENV)/.kernels $(VENV)/.test
	$(BIN)/python -m sphinx -W -b html docs build/docs
	$(BIN)/python scripts/narrow.py build/docs

docs-versions: $(VENV)/.kernels $(VENV)/.test  ## the docs of every tag v* and of the working tree side by side, in build/docs-versions
	$(BIN)/python scripts/versions.py build/docs-versions

$(VENV)/.installed: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group build
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@ $(VENV)/.compiled

# An edited kernel stays stale until rebuilt, so every target that runs code depends on this. The install has compiled
# them already: what is no newer is not compiled twice.
$(VENV)/.kernels: $(VENV)/.installed $(KERNELS)
	@test -z "$$(find setup.py $(KERNELS) -newer $(VENV)/.compiled 2>&1)" || $(BIN)/python setup.py --quiet build_ext --inplace --parallel 2
	touch $@ $(VENV)/.compiled

$(VENV)/.app: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[serve]'
	touch $@

$(VENV)/.judge: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[judge]'
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	touch $@

# The rivals ask for other versions of what we use, so they live in an environment of their own.
$(VENV)-bench/.installed: $(VENV)/.installed benchmarks/requirements.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-bench/bin/python -m pip install --quiet --group build
	$(VENV)-bench/bin/python -m pip install --quiet --no-build-isolation --editable '.[serve,judge,cluster]'
	while read -r rival; do $(VENV)-bench/bin/python -m pip install --quiet "$$rival" || true; done < benchmarks/requirements.txt
	touch $@

clean:
	rm -rf build $(VENV) $(VENV)-bench src/*.egg-info
	find src/podium/kernels -name '*.so' -delete
