# For newcomers: `make demo` and `make test` build their own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# deno, which checks the pages, must not look for updates of itself.
export DENO_NO_UPDATE_CHECK := 1
# Containers often set this; each of the hundred or so processes that tests start would then compile audiosim again.
unexport PYTHONDONTWRITEBYTECODE
# Tests at once, for two cores. Tests in general wait for servers and pages half of the time, fast tests rarely.
at_once = $(shell $(PYTHON) -c 'import os; print(max(2, $(1) * (os.cpu_count() or 1) // 2))')

.PHONY: help answers audit demo test test-fast test-lowest tools check found container docs format bench calibration mutants reproduce validation links nightly soak law drawing release workflows clean

help:
	@echo "make demo       the whole job on the collection that comes with audiosim, in a minute"
	@echo "make test       every test; test-fast: those of a minute, without browser, PostgreSQL, kills and real clips"
	@echo "make test-lowest  the same with the lowest version of every dependency that pyproject.toml allows"
	@echo "make container  the Dockerfile's own commands without a container runtime, as a fresh user on a read-only root"
	@echo "make check      format, lint, types, names and the layers of docs/architecture.md; format: apply automatic fixes"
	@echo "make bench      every benchmark; figures go to benchmarks/results.json and from there into the docs"
	@echo "make answers    148 recorded answers of commands and the service: what a change changes, in two minutes; needs ../shared/data"
	@echo "make calibration  are statements true on collections outside the training data? half an hour of processor time; needs ../shared/data"
	@echo "make law        does every face say the same number? 10,000 random collections, two hours of processor time; COLLECTIONS=100"
	@echo "make docs       the site, docs/_build/html, from the pages in docs/; offline, warnings as errors"
	@echo "make links      do the external links of the site still work? reports a missing network"
	@echo "make soak       every promise of reliability tested repeatedly for an hour, with a table of results; MINUTES=5, KILLS=1000"
	@echo "make mutants    changes to the core that no test notices, drawn at random; SAMPLE=100, an hour or two"
	@echo "make nightly    the nightly CI run: links, then validation"
	@echo "make validation  the notebooks in validation/, which recompute every figure of the docs; takes hours"
	@echo "make reproduce  every published number that public data allows, beside the publication's; DATA=../shared/data"
	@echo "make drawing    docs/architecture.svg, from the imports, and pictures of the pages, with Chromium"
	@echo "make release    wheel and sdist in dist/, after check and test, installed and tried; PYTHONS='python3.11 python3.13'"
	@echo "make workflows  linters of .github: the schema of its workflows, and their security"

demo: $(VENV)/installed
	$(BIN)/audiosim demo demo

test: $(VENV)/installed-for-tests tools
	$(PYTEST) -n $(call at_once,4) --dist worksteal

test-fast: $(VENV)/installed-for-tests
	$(PYTEST) -n $(call at_once,2) --dist worksteal -q -m "not slow"

test-lowest: $(VENV)/lowest/installed
	$(VENV)/lowest/bin/python -m pytest -q -m "not slow" -W default

$(VENV)/lowest/installed: pyproject.toml .ci/lowest.py | $(VENV)/bin/python
	$(PYTHON) -m venv $(VENV)/lowest
	$(PYTHON) .ci/lowest.py all frames plots formats postgres scale > $(VENV)/lowest/constraints.txt
	$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c $(VENV)/lowest/constraints.txt -e ".[test]"
	touch $@

check: $(VENV)/installed-for-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/deno lint --quiet --config .ci/deno.json service/pages
	$(BIN)/deno check --quiet --no-lock --config .ci/deno.json $(shell find service/pages -name '*.js' -not -path '*/vendor/*')
	$(PYTEST) -q tests/test_layers.py tests/test_names.py

# Every test is found, and compiled: otherwise each worker of `make test` would do this for all of them.
found: $(VENV)/installed-for-tests
	@found=$$($(PYTEST) --collect-only -q 2>&1) || { echo "$$found" | grep -v ::; exit 1; }

container:
	PIP_QUIET=1 $(PYTHON) .ci/container.py

audit: $(VENV)/audit/bin/pip-audit
	$(VENV)/audit/bin/pip-audit -r constraints.txt --disable-pip --no-deps --progress-spinner off --format json \
		| $(VENV)/audit/bin/python .ci/audit.py

workflows: $(VENV)/workflows/installed
	$(VENV)/workflows/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/workflows/bin/zizmor --offline --quiet .github

$(VENV)/workflows/installed:
	$(PYTHON) -m venv $(VENV)/workflows
	$(VENV)/workflows/bin/python -m pip install --quiet --disable-pip-version-check check-jsonschema zizmor
	touch $@

$(VENV)/audit/bin/pip-audit:
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit

format: $(VENV)/installed-for-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

answers: $(VENV)/installed
	@test -d ../shared/data || { echo "skipped: ../shared/data is not there"; exit 0; }; $(PYTHON) tests/answers/check.py --audiosim $(BIN)/audiosim

calibration: $(VENV)/installed
	$(BIN)/python benchmarks/calibration.py --parts 50 --jobs 2 --check
	$(BIN)/python benchmarks/listeners.py --check --figures

COLLECTIONS ?= 10000
law: $(VENV)/installed-for-tests
	COLLECTIONS=$(COLLECTIONS) $(PYTEST) -n $(call at_once,2) -q tests/service/test_law.py

bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	for script in $$(ls benchmarks/*.py | grep -v -e figures.py -e measured_code.py -e own_postgres.py -e soak.py); do $(BIN)/python $$script || exit 1; done
	$(BIN)/python benchmarks/figures.py

# Anew when a file that the site may show has changed (tests/test_site.py asks for it too), and always all of it: Sphinx
# does not repeat the warnings of pages that it kept. A proxy that is not there keeps it from loading anything.
docs: docs/_build/built
docs/_build/built: $(VENV)/installed-for-docs $(wildcard $(shell git ls-files))
	for name in http_proxy https_proxy HTTP_PROXY HTTPS_PROXY; do export $$name=http://127.0.0.1:9; done; \
	  $(BIN)/python -m sphinx -q -W --keep-going -E -b html -d docs/_build/doctrees docs docs/_build/html
	touch $@

links: $(VENV)/installed-for-docs
	$(BIN)/python .ci/links.py

validation: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench,notebooks]"
	$(BIN)/python validation/execute.py
	$(BIN)/python benchmarks/figures.py

DATA ?= ../shared/data
reproduce: $(VENV)/installed
	PYTHONPATH=validation $(BIN)/python -m reproduce $(DATA)

SAMPLE ?= 100
SEED ?= 0
mutants: $(VENV)/installed-for-tests
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "cosmic-ray>=8.7"
	$(BIN)/python benchmarks/code_mutants.py --sample $(SAMPLE) --seed $(SEED)

nightly: links validation

MINUTES ?= 60
KILLS ?= 25
soak: $(VENV)/installed-for-tests
	$(BIN)/python benchmarks/soak.py --minutes $(MINUTES) --kills $(KILLS)

drawing: $(VENV)/installed-for-docs $(VENV)/installed-for-tests
	$(BIN)/python docs/draw_architecture.py
	$(BIN)/python docs/draw_pages.py
	$(BIN)/python docs/draw_settling.py
	$(BIN)/python docs/draw_listeners.py

# Interpreters for installing and trying wheel and sdist; missing ones are reported.
PYTHONS ?= python3.11 python3.12 python3.13
release: check test
	@git diff --quiet HEAD || { echo "there are uncommitted changes: commit them before a release"; exit 1; }
	@version=$$($(BIN)/python -c 'import audiosim; print(audiosim.__version__)'); \
	grep -qE "^## \[$$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$$" CHANGELOG.md \
		|| { echo "CHANGELOG.md has no dated section [$$version]"; exit 1; }; \
	! git rev-parse -q --verify "refs/tags/v$$version" >/dev/null \
		|| { echo "the tag v$$version exists already: raise the version"; exit 1; }
	$(BIN)/python benchmarks/figures.py --changed
	rm -rf dist
	$(BIN)/python -m build --installer pip
	$(PYTHON) .ci/installed.py dist $(PYTHONS)
	@version=$$($(BIN)/python -c 'import audiosim; print(audiosim.__version__)'); \
	echo "dist/ holds the release. Tag it and upload it:"; \
	echo "  git tag --annotate v$$version --message 'audiosim $$version' && git push origin v$$version"; \
	echo "  $(BIN)/python -m pip install twine && $(BIN)/python -m twine upload dist/*"

clean:
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The pip of Python 3.11 takes minutes of processor time to choose versions that constraints.txt has chosen.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("audiosim needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; choose another with make PYTHON=...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25"

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all]"
	touch $@

$(VENV)/installed-for-docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

tools: $(VENV)/openapi/installed $(VENV)/clients/installed $(VENV)/compose/installed

# A generator of clients with its own dependencies; without a package registry its test is skipped with a reason.
$(VENV)/openapi/installed: | $(VENV)/bin/python
	-$(PYTHON) -m venv --without-pip $(VENV)/openapi && $(BIN)/python -m pip --python $(VENV)/openapi/bin/python install \
		--quiet --disable-pip-version-check openapi-python-client==0.29.1 && touch $@

# Another, of clients in TypeScript.
$(VENV)/clients/installed: | $(VENV)/bin/python
	-npm install --silent --no-audit --no-fund --prefix $(VENV)/clients openapi-typescript@7.13.0 openapi-fetch@0.17.0 \
		typescript@5.9.3 && touch $@

# A linter of Compose files; without npm or a registry of its packages its test is skipped with a reason.
$(VENV)/compose/installed: | $(VENV)/bin/python
	-npm install --silent --no-audit --no-fund --prefix $(VENV)/compose dclint@3.1.0 && touch $@

$(VENV)/installed-for-tests: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $@
