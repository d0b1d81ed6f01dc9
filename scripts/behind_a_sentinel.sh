#!/bin/sh
# Runs a command that tells stories, with the Redis of each behind a sentinel, which says where it is. Left out are those that
# cannot be told so; what becomes of calls when the primary moves has stories of its own in store::sentinel and store::failovers.
set -eu

# They break the one socket between the service and its Redis, and a sentinel names a port.
one_socket='
events::kept::a_reader_whose_instance_was_cut_off_for_too_long_is_told_of_the_gap
events::resumed::a_stream_goes_on_over_the_outages_of_its_instance
jobs::repeats::whoever_lost_the_answer_has_it_by_asking_again
leases::overdue::what_falls_due_in_a_second_is_not_left_for_ten
leases::people::a_caller_who_leaves_while_redis_works_takes_no_job
leases::people::callers_who_leave_change_nothing_for_those_who_asked_with_them
leases::people::what_somebody_came_back_for_is_not_undone
line::together::who_wants_the_next_job_gets_one_beside_those_who_want_one_very_job
locks::endings::however_a_reservation_ends_nobody_who_waits_for_its_locks_is_stranded
waiting::faults::a_connection_that_is_dead_without_a_word_is_found_out
waiting::faults::a_redis_that_lets_nobody_speak_or_listen_costs_time_and_nothing_else
waiting::faults::a_wait_that_took_a_job_unheard_does_not_say_that_it_had_no_effect_when_redis_is_gone_by_its_end
waiting::faults::what_came_while_nobody_listened_is_found_as_soon_as_somebody_does
waiting::faults::who_waits_longer_than_redis_is_away_gets_what_came_meanwhile
waiting::leavers::a_page_that_goes_while_its_job_is_on_the_way_leaves_it_to_the_next
waiting::until::who_waits_for_a_job_is_told_although_the_hints_are_not_heard'

# They count connections, of which sentinels have some.
counts='
waiting::crowds::one_connection_hears_for_everybody_who_waits_at_an_instance'

# They make the primary a replica by REPLICAOF, which is no longer a primary for whoever asks a sentinel.
replicaof='
waiting::refused::who_waits_rests_while_redis_refuses_writes_and_has_the_job_as_soon_as_it_does_not'

for story in $one_socket $counts $replicaof; do set -- "$@" --skip "$story"; done
INTRAY_STORIES_BEHIND_A_SENTINEL=1 exec "$@"
