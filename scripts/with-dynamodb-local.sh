#!/usr/bin/env bash
# Runs a command with a DynamoDB Local of its own: empty, in memory, and gone afterwards.
#
#   scripts/with-dynamodb-local.sh go run ./cmd/penstock serve --store dynamodb --create-tables
#
# The command finds it by the usual AWS environment. It listens on a port by chance, or on PORT.
set -euo pipefail
[ $# -gt 0 ] || {
	sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=${PORT:-$((20000 + RANDOM % 10000))}

listens() { (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null; }

"$here/dynamodb-local.sh" fetch
if listens; then
	echo "port $port is taken: say another with PORT=…" >&2
	exit 1
fi
"$here/dynamodb-local.sh" run "$port" >/dev/null &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true' EXIT
until listens; do
	kill -0 $server 2>/dev/null || {
		echo "DynamoDB Local did not start: scripts/dynamodb-local.sh run $port says why" >&2
		exit 1
	}
	sleep 0.1
done

export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:$port
export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
"$@"
