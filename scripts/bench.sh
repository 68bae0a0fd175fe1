#!/bin/sh
# Builds the release and prints what it costs beside its peers. Usage: scripts/bench.sh
set -eu
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2086
install_missing $build_packages $run_packages python3-venv curl
"$top/scripts/tokenizers" --peers || echo "scripts/tokenizers failed: what it could not fetch is not measured" >&2
"$top/scripts/extractors" || echo "scripts/extractors failed: what it could not fetch is not measured" >&2
"$top/scripts/manuals" --peers || echo "scripts/manuals failed: what it could not fetch is not measured" >&2
build release
cd "$top"
build/release/bench/bench_parser
build/release/bench/bench_loop
python3 bench/startup.py build/release/fathom
python3 bench/tools.py build/release/fathom
python3 bench/documents.py build/release/bench/bench_documents build/components/documents
build/release/bench/bench_retrieval
python3 bench/passages.py build/release/bench/bench_passages
python3 bench/extract.py build/release/bench/bench_extract
python3 bench/tokens.py build/release/bench/bench_tokens
