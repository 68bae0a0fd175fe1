#!/bin/sh
# Installs what Fathom needs, builds it, indexes the system's manual pages and answers a question from them.
# Usage: scripts/demo.sh [QUESTION]
set -eu
. "$(dirname "$0")/lib.sh"

question=${1:-"Which flag makes open(2) fail when the file already exists?"}

# shellcheck disable=SC2086
install_missing $build_packages $run_packages
build release
fathom=$top/build/release/fathom
demo=$top/build/demo
mkdir -p "$demo"

# Slim images leave manual pages out of installed packages; then they are unpacked beside the build.
pages=/usr/share/man
if [ ! -e "$pages/man2/open.2.gz" ] || [ ! -e "$pages/man7/signal.7.gz" ]; then
    pages=$demo/manpages/usr/share/man
    if [ ! -e "$pages/man2/open.2.gz" ]; then
        say "Fetching the packages manpages and manpages-dev into $demo"
        (cd "$demo" && { apt-get download manpages manpages-dev ||
            { as_root apt-get update && apt-get download manpages manpages-dev; }; })
        for package in "$demo"/manpages*.deb; do
            dpkg-deb -x "$package" "$demo/manpages"
        done
    fi
fi

say "fathom index $pages/man1 … man8 --into $demo/man.db"
set --
for section in 1 2 3 4 5 7 8; do
    [ -d "$pages/man$section" ] && set -- "$@" "$pages/man$section"
done
"$fathom" index "$@" --into "$demo/man.db"

say "fathom ask \"$question\" --model builtin --corpus $demo/man.db"
"$fathom" ask "$question" --no-config --model builtin --search corpus --corpus "$demo/man.db"
