#!/bin/sh
# Runs a command that tells stories, with a cluster of three primaries as the Redis of each. Left out are those that are about
# one server; what they tell has a story of its own in store::cluster where it is to be had there.
set -eu

# They pull at the one socket between the service and its Redis, or hear all that this one server is asked.
one_socket=$(cat "$(dirname "$0")/one_socket.txt")'
batches::times::append_does_not_delay_opening_of_an_interrupted_batch
queues::script_bounds::
queues::selection::a_call_that_leaves_some_says_where_the_next_goes_on
queues::selection::those_that_stay_are_looked_at_once_a_call
queues::prefixes::what_another_prefix_has_in_the_same_redis_is_another_world
queues::bulk_priority::a_long_line_is_moved_in_bounded_steps
queues::search::payloads_full_of_escapes_are_looked_into_a_few_a_script
queues::search::payloads_that_are_kept_apart_are_looked_into_a_few_a_script'

# They count connections or commands at one server, or ask it in which order scripts ran.
counts='
events::gaps::closed_streams_end_the_subscription
queues::sweeper::a_queue_with_much_to_forget_holds_up_no_other
queues::sweeper::an_idle_queue_costs_a_look_and_no_sweep
waiting::faults::killed_subscriptions_delay_jobs_by_one_safety_tick'

# They make a primary a replica by REPLICAOF, which a cluster does not know.
replicaof='
waiting::refused_writes::waiters_retry_rarely_while_redis_refuses_writes'

for story in $one_socket $counts $replicaof; do set -- "$@" --skip "$story"; done
INTRAY_STORIES_ON_A_CLUSTER=1 exec "$@"
