#!/bin/sh
# Runs a command that tells stories, with the Redis of each behind a sentinel, which says where it is. Left out are those that
# cannot be told so; what becomes of calls when the primary moves has stories of its own in store::sentinel and store::failovers.
set -eu

# They break the one socket between the service and its Redis, and a sentinel names a port.
one_socket=$(cat "$(dirname "$0")/one_socket.txt")'
faults::
waiting::faults::a_wait_that_took_a_job_unheard_does_not_say_that_it_had_no_effect_when_redis_is_gone_by_its_end'

# They count connections, of which sentinels have some.
counts='
waiting::crowds::one_connection_hears_for_everybody_who_waits_at_an_instance'

# They make the primary a replica by REPLICAOF, which is no longer a primary for whoever asks a sentinel.
replicaof='
waiting::refused_writes::who_waits_rests_while_redis_refuses_writes_and_has_the_job_as_soon_as_it_does_not'

for story in $one_socket $counts $replicaof; do set -- "$@" --skip "$story"; done
INTRAY_STORIES_BEHIND_A_SENTINEL=1 exec "$@"
