#!/bin/sh
# Runs a command that tells stories, with a cluster of three primaries as the Redis of each. Left out are those that are about
# one server; what they tell has a story of its own in store::cluster where it is to be had there.
set -eu

# They pull at the one socket between the service and its Redis, or hear all that this one server is asked.
one_socket='
batches::times::whoever_appends_to_a_batch_that_opens_does_not_put_its_opening_off
events::kept::a_reader_whose_instance_was_cut_off_for_too_long_is_told_of_the_gap
events::resumed::a_stream_goes_on_over_the_outages_of_its_instance
jobs::repeats::whoever_lost_the_answer_has_it_by_asking_again
leases::overdue::what_falls_due_in_a_second_is_not_left_for_ten
leases::people::a_caller_who_leaves_while_redis_works_takes_no_job
leases::people::callers_who_leave_change_nothing_for_those_who_asked_with_them
leases::people::what_somebody_came_back_for_is_not_undone
line::together::who_wants_the_next_job_gets_one_beside_those_who_want_one_very_job
locks::endings::however_a_reservation_ends_nobody_who_waits_for_its_locks_is_stranded
queues::bounds::
queues::choosing::a_call_that_leaves_some_says_where_the_next_goes_on
queues::choosing::those_that_stay_are_looked_at_once_a_call
queues::prefixes::what_another_prefix_has_in_the_same_redis_is_another_world
waiting::faults::a_connection_that_is_dead_without_a_word_is_found_out
waiting::faults::a_redis_that_lets_nobody_speak_or_listen_costs_time_and_nothing_else
waiting::faults::what_came_while_nobody_listened_is_found_as_soon_as_somebody_does
waiting::faults::who_waits_longer_than_redis_is_away_gets_what_came_meanwhile
waiting::leavers::a_page_that_goes_while_its_job_is_on_the_way_leaves_it_to_the_next
waiting::until::who_waits_for_a_job_is_told_although_the_hints_are_not_heard'

# They count connections or commands at one server, or ask it in which order scripts ran.
counts='
events::kept::readers_who_have_gone_leave_nothing_behind
queues::sweeping::a_queue_with_much_to_forget_holds_up_no_other
queues::sweeping::an_idle_queue_costs_a_look_and_no_sweep
waiting::faults::a_listener_that_is_killed_five_times_a_second_costs_nobody_more_than_the_safety_tick'

# They make a primary a replica by REPLICAOF, which a cluster does not know.
replicaof='
waiting::refused::who_waits_rests_while_redis_refuses_writes_and_has_the_job_as_soon_as_it_does_not'

for story in $one_socket $counts $replicaof; do set -- "$@" --skip "$story"; done
INTRAY_STORIES_ON_A_CLUSTER=1 exec "$@"
