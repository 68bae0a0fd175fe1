# Shared by the scripts of this folder: what each purpose needs from Debian, and how it is installed.
# Source it from a script that has set -eu.

top=${top:-$(cd "$(dirname "$0")/.." && pwd)}

build_packages="gcc libc6-dev cmake ninja-build pkg-config
    libcurl4-openssl-dev libidn2-dev libxml2-dev libpcre2-dev libuv1-dev libjansson-dev libsqlite3-dev libyaml-dev
    libuchardet-dev libutf8proc-dev libssl-dev zlib1g-dev libzstd-dev libarchive-dev libpsl-dev libxxhash-dev
    libseccomp-dev"
run_packages="mandoc ca-certificates bubblewrap python3 poppler-utils"
test_packages="libcmocka-dev g++ cmark-gfm json-schema-test-suite searx tesseract-ocr ffmpeg
    libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui"
check_packages="clang-14 clang-format-14 libclang-rt-14-dev"

say() {
    printf '\n== %s\n' "$*"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "This needs root and there is no sudo. Run as root: $*" >&2
        exit 1
    fi
}

# install_missing PACKAGE… installs those that are not there yet, saying which.
install_missing() {
    missing=""
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "Installing from Debian:$missing"
    # The package lists may be missing or old: then they are fetched and it is tried again, for all to see.
    # shellcheck disable=SC2086
    if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >/dev/null 2>&1; then
        as_root apt-get update
        # shellcheck disable=SC2086
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
    fi
}

# component SCRIPT… runs a script of this folder that fetches into build/components what Debian does not have. The tests
# that want it say so and are skipped when it cannot be had.
component() {
    for script in "$@"; do
        "$top/scripts/$script" || echo "scripts/$script failed: the tests that want what it fetches will be skipped" >&2
    done
}

# build PRESET configures and builds into build/PRESET, quietly unless it fails.
build() {
    say "Building (preset $1)"
    mkdir -p "$top/build"
    log="$top/build/$1.log"
    if ! (cd "$top" && cmake --preset "$1" && cmake --build --preset "$1") >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        echo "The build failed; the whole log is $log" >&2
        exit 1
    fi
}
