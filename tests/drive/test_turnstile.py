"""Many users that wake together do not keep the loop from its sockets."""

import time

import gevent

from llmload.drive.turnstile import Turnstile

USERS, WORK_S = 40, 0.002


def longest_silence(turnstile: Turnstile | None) -> float:
    """Seconds that a ticking greenlet waited at most while all users worked."""
    worst = 0.0

    def user() -> None:
        if turnstile is not None:
            turnstile.enter()
        end = time.perf_counter() + WORK_S
        while time.perf_counter() < end:
            pass

    def tick() -> None:
        nonlocal worst
        while True:
            began = time.perf_counter()
            gevent.sleep(0.0005)
            worst = max(worst, time.perf_counter() - began)

    ticker = gevent.spawn(tick)
    gevent.sleep(0)
    gevent.joinall([gevent.spawn(user) for _ in range(USERS)])
    ticker.kill()
    return worst


def test_the_loop_gets_its_turn_between_two_requests() -> None:
    """Forty times 2 ms: without the turnstile the loop is away for all of it, with it for a part only.

    The machine may hold up a try; it does not hold up all of them.
    """
    alone = longest_silence(None)
    assert any(longest_silence(Turnstile()) < alone / 2 for _ in range(10))


def test_everybody_passes_in_order() -> None:
    """First come, first served; one who is killed while waiting holds nobody back."""
    turnstile = Turnstile()
    passed: list[int] = []

    def user(number: int) -> None:
        turnstile.enter()
        passed.append(number)

    tasks = [gevent.spawn(user, number) for number in range(6)]
    gevent.sleep(0)
    tasks[3].kill()
    gevent.joinall(tasks)
    assert passed == [0, 1, 2, 4, 5]
