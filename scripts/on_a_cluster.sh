#!/bin/sh
# Runs a command with stories, with a cluster of three primaries as the Redis of each. Left out are those that are about
# one server; what they tell has a story of its own in store::cluster where it is to be had there.
set -eu

# They pull at the one socket between the service and its Redis, or hear all that this one server is asked.
one_socket=$(cat "$(dirname "$0")/one_socket.txt")'
batches::opening_and_retention::append_does_not_delay_opening_of_an_interrupted_batch
queues::script_bounds::
queues::selection::bounded_purge_returns_a_cursor_for_the_next_call
queues::selection::selection_reads_each_unmatched_job_once_per_call
queues::prefixes::prefixes_in_one_redis_are_isolated
queues::bulk_priority::reprioritize_of_thousands_uses_small_scripts
opinions::agreement::page_reads_a_bounded_amount
opinions::agreement::lists_of_many_batches_use_small_scripts
routing::many::jobs_for_others_cost_a_reserve_two_commands
routing::many::jobs_of_four_skills_are_read_at_once
queues::search::search_of_many_escapes_uses_small_scripts
queues::search::search_of_large_payloads_uses_small_scripts
queues::by_worker::filter_by_worker_reads_1000_jobs_per_call'

# They count connections or commands at one server, or ask it in which order scripts ran.
counts='
events::gaps::closed_streams_end_the_subscription
queues::sweeper::removal_of_many_jobs_delays_no_other_queue
queues::sweeper::idle_queue_is_looked_at_without_a_sweep
waiting::faults::killed_subscriptions_delay_jobs_by_one_safety_tick'

# They make a primary a replica by REPLICAOF, which a cluster does not know.
replicaof='
waiting::refused_writes::waiters_retry_rarely_while_redis_refuses_writes'

for story in $one_socket $counts $replicaof; do set -- "$@" --skip "$story"; done
INTRAY_STORIES_ON_A_CLUSTER=1 exec "$@"
