# Each target makes the virtual environment that it needs, with Python 3.11 or newer.
PYTHON ?= python3
TEST := .venv/bin
LINT := .venv-lint/bin
DEMO := .venv-demo/bin
# Benchmarks have one environment for each interpreter: make bench PYTHON=python3.13
BENCH := .venv-bench-$(notdir $(PYTHON))
# Minutes of killed builds and of crawls: tox -e crashes
TRIALS := test_crashes test_crash_steps test_live_crawls
MANAGE := $(DEMO)/python example_project/manage.py

.DEFAULT_GOAL := help
.PHONY: help demo serve test bench bench-serving lint clean

help:
	@echo "make demo    load 234,908 places, build their sitemaps, change a hundred, build again, check all"
	@echo "make serve   serve the example on http://127.0.0.1:8000/ (after make demo)"
	@echo "make test    run the tests on SQLite, except those of the example and of builds that are killed (tox -e example,crashes)"
	@echo "make bench   compare the speed with Django's sitemaps and others: an hour; benchmarks/README.md has shorter ways"
	@echo "make bench-serving    measure the cost of one response: minutes"
	@echo "make lint    check style, templates, types and layers"
	@echo "make clean   remove all that the other targets made"

demo: .venv-demo/ready
	$(MANAGE) migrate --noinput
	$(MANAGE) load_atlas
	$(MANAGE) build_sitemaps
	$(MANAGE) change_atlas
	$(MANAGE) build_sitemaps
	$(MANAGE) check_atlas

serve: .venv-demo/ready
	$(MANAGE) migrate --noinput
	@DJANGO_SUPERUSER_PASSWORD=demo $(MANAGE) createsuperuser --noinput --username demo --email "" 2>/dev/null || true
	@echo "The admin: http://127.0.0.1:8000/admin/ as demo with the password demo; see Sitemaps > Status"
	$(MANAGE) runserver --insecure 127.0.0.1:8000

test: .venv/ready
	$(TEST)/python -m pytest -n auto --ignore=tests/test_example_project.py $(TRIALS:%=--ignore=tests/journeys/%.py) $(ARGS)

bench: $(BENCH)/ready
	-$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --group bench --group peers
	$(BENCH)/bin/python benchmarks/run.py $(ARGS)

bench-serving: $(BENCH)/ready
	$(BENCH)/bin/python benchmarks/serving.py $(ARGS)

lint: .venv-lint/ready
	$(LINT)/ruff check
	$(LINT)/ruff format --check
	$(LINT)/djlint --lint --quiet sitemaps_plus example_project
	$(LINT)/mypy
	$(LINT)/lint-imports

clean:
	rm -rf .venv .venv-lint .venv-demo .venv-bench-* benchmarks/var .tox .coverage* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.venv/ready: GROUPS = --group test
.venv-lint/ready: GROUPS = --group test --group lint --group types
.venv-demo/ready: GROUPS = --group demo
$(BENCH)/ready: GROUPS = --group bench

# The pip of Python 3.11 is too old for dependency groups.
.venv/ready .venv-lint/ready .venv-demo/ready $(BENCH)/ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable . $(GROUPS)
	touch $@
