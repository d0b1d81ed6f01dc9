#!/bin/sh
# Runs a command with stories, with the Redis of each behind a sentinel, which says where it is. Left out are those that
# cannot run so; what becomes of calls when the primary moves has stories of its own in store::sentinel and store::failovers.
set -eu

# They break the one socket between the service and its Redis, and a sentinel names a port.
one_socket=$(cat "$(dirname "$0")/one_socket.txt")'
faults::
waiting::faults::long_poll_reports_applied_unknown_after_a_lost_reply'

# They count connections, of which sentinels have some.
counts='
waiting::cost::instance_uses_one_pubsub_connection_for_all_waiters'

# They demote the primary by REPLICAOF, so sentinels no longer report it as a primary.
replicaof='
waiting::refused_writes::waiters_retry_rarely_while_redis_refuses_writes'

for story in $one_socket $counts $replicaof; do set -- "$@" --skip "$story"; done
INTRAY_STORIES_BEHIND_A_SENTINEL=1 exec "$@"
