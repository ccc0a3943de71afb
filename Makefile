# panewise: everything a newcomer needs is `make demo` and `make test`.
VENV := .venv
BIN := $(VENV)/bin
export VENV
# Tests and benchmarks start many Python processes: without compiled modules each would read its packages as source.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test coverage lint bench bench-spark bench-embedded bench-relations fuzz soak functions-ask docs lock system java clean

help:          ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 16

demo: $(VENV)/.ready java  ## A sliding window query on a disordered stream, on local Spark, with a picture
	@$(BIN)/panewise demo

test: $(VENV)/.ready java  ## All tests and doctests
	$(BIN)/python -m pytest -n 2 -m "not spark and not soak" --durations=10 $(ARGS)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "spark and not soak" --durations=10 $(ARGS)

coverage: $(VENV)/.ready java  ## The same, and which lines they reach: half as long again
	$(MAKE) test ARGS="--cov --cov-append --cov-report=term:skip-covered $(ARGS)"

lint: $(VENV)/.ready  ## Style, types and the layers of the design
	$(BIN)/ruff check src tests bench examples tools
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.ready java  ## This project beside its peers in five minutes; an hour with ARGS=--full
	$(BIN)/panewise bench $(ARGS)

bench-spark: $(VENV)/.ready java  ## Panes beside Spark's own window(), one run, equal results
	$(BIN)/python bench/spark_batch.py $(ARGS)

bench-embedded: $(VENV)/.ready  ## In process, one core: beside DuckDB, Polars, Bytewax and Pathway; throughput; latency
	$(BIN)/python bench/embedded_peers.py $(ARGS)
	$(BIN)/python bench/embedded_throughput.py $(ARGS)
	$(BIN)/python bench/embedded_latency.py $(ARGS)

bench-relations: $(VENV)/.ready java  ## Joins and continuous relations: every aim and what was found, in one run
	$(BIN)/python bench/relations_report.py $(ARGS)

fuzz: $(VENV)/.ready java  ## Break texts, files, checkpoints and processes: ARGS="texts --count 1000000"
	$(BIN)/python tools/fuzz.py $(ARGS)

soak: $(VENV)/.ready java  ## Long randomised runs
	$(BIN)/python -m pytest -m soak --hypothesis-profile=soak $(ARGS)

functions-ask: $(VENV)/.ready java  ## Ask Spark anew what its one-row functions answer; ARGS=--check compares with jobs
	$(BIN)/python tools/ask_spark.py $(ARGS)
	$(BIN)/python tools/ask_common_types.py

docs: $(VENV)/.ready  ## Regenerate the generated pages of docs/
	$(BIN)/python tools/generate_docs.py

lock: $(VENV)/.ready  ## Pin the newest packages that fit pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra connect --extra demo --extra dev --universal --python-version 3.11 \
	  --generate-hashes --upgrade --custom-compile-command "make lock" -q -o requirements.lock
	for peer in bench/peers/*/requirements.in; do \
	  $(BIN)/uv pip compile $$peer --universal --python-version 3.11 --generate-hashes --upgrade \
	    --custom-compile-command "make lock" -q -o $${peer%.in}.lock || exit 1; done

system:        ## Install Java and python3-venv with apt-get
	@bash tools/system.sh

java:
	@bash tools/check-java.sh

$(VENV)/.ready: requirements.lock pyproject.toml tools/setup.sh
	@bash tools/setup.sh

clean:         ## Remove the virtual environment and all caches
	rm -rf $(VENV) .bench-envs .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage build out spark-warehouse
