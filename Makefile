# make demo, make test: everything a fresh machine with Python >= 3.11 needs is set up on the way.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ENGINE ?= simulate

.PHONY: demo test containers-test check bench proof dashboards dashboard-pictures lock clean
.DELETE_ON_ERROR:

# The environment, from the lock files. --no-deps: the lock is complete, and nothing outside it gets in.
$(VENV)/run.stamp: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "llmload needs Python 3.11 or newer; name one with make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-dev.lock
	touch $@

$(VENV)/llama.stamp: $(VENV)/run.stamp requirements-llama.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-llama.lock
	touch $@

demo: $(VENV)/run.stamp $(if $(filter llama,$(ENGINE)),$(VENV)/llama.stamp)
	$(BIN)/llmload demo --engine $(ENGINE)

# What fails is tried once more, alone: real processes on a shared machine may stand still for seconds. The first
# failure stays on the screen, and what fails twice fails.
test: $(VENV)/dev.stamp $(VENV)/llama.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(TESTS) || { [ $$? -eq 1 ] && \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none $(TESTS); }

# The stack of docker-compose.yml for real, by an engine of its own that can reach nobody: as root, where docker.io,
# docker-compose and debootstrap are installed. Minutes.
containers-test: $(VENV)/dev.stamp
	$(BIN)/python -m tests.containers.bases
	unshare --net -- $(BIN)/python -m pytest tests/containers/bring_up.py

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/dev.stamp
	$(BIN)/python -m tests.bench

# Claims against simulated servers whose truth is known, by real runs: a quarter of an hour on a machine at rest.
proof: $(VENV)/dev.stamp
	$(BIN)/python -m tests.proof

dashboards: $(VENV)/dev.stamp
	$(BIN)/python -m dashboards.build

PROMETHEUS ?= http://127.0.0.1:9090
dashboard-pictures: $(VENV)/dev.stamp
	$(BIN)/python -m dashboards.draw $(PROMETHEUS)

lock: $(VENV)/dev.stamp
	$(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links -o requirements.lock pyproject.toml
	$(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --extra dev -o requirements-dev.lock pyproject.toml

clean:
	rm -rf $(VENV) runs/* build dist
