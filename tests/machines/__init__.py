"""Runs over several machines, each situation with its own right answer.

What Locust loses or hides, and the test that shows that it is impossible here, or visible:

How Locust ends a run
    `-t` ends it before the workers have handed over their last requests, with exit code 0:
        refused: drive/test_runs.py test_wrong_usage_is_a_sentence
        nothing is missing at the end: machines/test_ends.py
            test_streams_longer_than_the_step_and_a_worker_that_joins_late
    stop and quit behind each other leave workers that nobody ends for a minute:
        machines/test_ends.py test_two_runs_on_the_same_workers_and_ctrl_c_on_the_master
    Ctrl-C reaches every process of the group, streams are killed and counted nowhere:
        drive/test_runs.py test_ctrl_c_ends_the_step_and_keeps_everything, test_the_second_ctrl_c_ends_at_once
    a killed stream counts as a success, or not at all:
        drive/test_session.py test_a_killed_user_leaves_a_record
            test_a_user_that_locust_takes_away_is_stopped_by_the_user
    the last statistics come after the table was printed:
        drive/test_runs.py test_locusts_own_table_counts_every_attempt_once

How Locust starts users
    a spawn message stops a worker's loop for 50 to 200 ms:
        machines/test_ends.py test_two_runs_on_the_same_workers_and_ctrl_c_on_the_master
    a step begins before its users are there:
        drive/test_runs.py test_never_more_in_flight_than_the_step_and_hardly_ever_fewer
    a worker that joins late takes users from the others, whose streams are killed:
        machines/test_ends.py test_streams_longer_than_the_step_and_a_worker_that_joins_late

Workers that go
    a killed one halves the load for a minute, then the others' users are killed; what it was busy with is not counted:
        machines/test_deaths.py test_one_of_four_workers_is_killed_and_another_is_told_to_go (J11)
        drive/test_runs.py test_a_worker_that_stands_still_is_waited_for_and_a_killed_one_is_counted
    one that is told to go has its users given to others at once:
        machines/test_deaths.py test_one_of_four_workers_is_killed_and_another_is_told_to_go
    one that is only silent is given up after four seconds:
        drive/test_stepping.py test_a_silent_worker_is_gone_only_after_a_minute
        machines/test_silence.py test_a_slow_way_that_loses_packets_and_is_broken_for_30_seconds
    one that is silent for ever:
        machines/test_silence.py test_a_way_that_stays_broken
    one that speaks after it was given up:
        drive/test_stepping.py test_a_worker_that_was_given_up_is_told_to_end_when_it_speaks

Masters that go
    one that stands still for four seconds ends the run when it is back:
        machines/test_silence.py test_the_master_stands_still_for_20_seconds
    a dead one's workers go on for a minute, then end with exit code 0:
        machines/test_deaths.py test_a_master_that_is_killed
        drive/test_runs.py test_workers_elsewhere_stop_when_their_master_is_dead
            test_a_killed_master_takes_its_workers_along
    one that is started again does not know its workers, which go on:
        machines/test_deaths.py test_a_master_that_is_killed

Messages
    what was reported is forgotten before it was sent; a way that is full loses it:
        drive/test_ship.py test_a_batch_without_acknowledgement_is_sent_again, test_a_way_that_fails_loses_nothing
        machines/test_silence.py test_the_master_stands_still_for_20_seconds
    what comes twice or late counts twice (J18):
        record/test_ledger.py test_a_batch_that_comes_twice_counts_once
        machines/test_silence.py test_the_master_stands_still_for_20_seconds
    a wait by the wall clock ends early when that is set:
        drive/test_runs.py test_a_clock_that_is_set_is_told

Disks
    a full one at the master:
        machines/test_disk.py test_the_disk_fills_up_in_mid_run, test_the_disk_is_full_from_the_start
"""
