#!/bin/sh
# Installs what the tests need, builds everything with AddressSanitizer and UndefinedBehaviorSanitizer, and runs all tests.
# Usage: scripts/test.sh [CTEST OPTION…], for example scripts/test.sh -R flow
set -eu
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2086
install_missing $build_packages $run_packages $test_packages
component json-schema-suite manuals mcp-servers tokenizers
build dev
say "Running the tests"
cd "$top"
exec ctest --preset dev -j 2 "$@"
