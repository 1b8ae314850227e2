#!/usr/bin/env bash
# Has schemathesis make requests of every operation in /openapi.json, right ones and wrong ones, to a
# penstock serve of its own, and says which answers are not as the file says: a status, a header, a
# content type or a body that is not in it, a 5xx, bad input that was served, a call without a key.
#
#   scripts/schemathesis.sh [--max-examples N] …    options of schemathesis run
#
# SCHEMATHESIS is the program; make openapi installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD program=$(realpath "$SCHEMATHESIS")

dir=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT

go build -o "$dir/penstock" ./cmd/penstock

# The example, with limits for whatever tenant is made up.
{
	cat quota/example.yaml
	echo 'default_plan: free'
} >"$dir/penstock.yaml"

# start begins a server, and sets url and PENSTOCK_KEY.
start() {
	(cd "$dir" && exec ./penstock serve --addr 127.0.0.1:0 --auth keys >"$dir/stdout" 2>"$dir/stderr") &
	server=$!
	for _ in $(seq 100); do
		url=$(sed -n 's/.*msg=listening url=\([^ ]*\).*/\1/p' "$dir/stderr")
		[ -z "$url" ] || break
		sleep 0.1
	done
	if [ -z "$url" ]; then
		cat "$dir/stderr" >&2
		exit 1
	fi
	PENSTOCK_KEY=$(grep -o '^pk_.*' "$dir/stdout")
	export PENSTOCK_KEY
}

# finish ends the server, which must not have had an error.
finish() {
	local code=0
	kill "$server"
	wait "$server" || code=$?
	server=
	if [ "$code" -ne 0 ] || grep -qE 'level=ERROR|panic' "$dir/stderr"; then
		echo "the server ended with $code, and logged:" >&2
		grep -vE 'level=INFO' "$dir/stderr" >&2 || true
		exit 1
	fi
}

# It writes down what it did in the folder that it runs in.
run() (
	cd "$dir"
	"$program" --config-file "$root/tools/schemathesis/schemathesis.toml" run "$url/openapi.json" --no-color "$@"
)

export PENSTOCK_ADMIN_KEY=an-administrators-key PENSTOCK_SECRET='a secret of 32 bytes for the tests'

# PUT of the configuration deletes what the other operations work with, so it has a server of its own.
start
run --exclude-operation-id putConfig "$@"
finish
start
run --include-operation-id putConfig --phases examples,coverage,fuzzing "$@"
finish
