"""Threads of a program: conditions, semaphores, locks and joins, one thread at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.firmware.preload.side import Side

Run = Callable[..., list[str]]

BEFORE = """
#include <semaphore.h>
#include <threads.h>
#include <linux/futex.h>
#include <sys/syscall.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    static int go;
static sem_t s; static pthread_t t;
"""


def results(lines: list[str]) -> list[tuple[str, str]]:
    """Return value and lab time in ms of each line of SHOW."""
    return [(each.rsplit(" ", 3)[1], each.rsplit(" ", 1)[1]) for each in lines]


@pytest.mark.parametrize("clock", ["CLOCK_REALTIME", "CLOCK_MONOTONIC"])
def test_a_condition_waits_by_the_clock_that_it_has(run: Run, clock: str) -> None:
    lines = run(
        f"""
        pthread_condattr_t a; pthread_condattr_init(&a); pthread_condattr_setclock(&a, {clock});
            pthread_cond_init(&c, &a);
        struct timespec at; clock_gettime({clock}, &at); at.tv_sec += 90; pthread_mutex_lock(&m);
        SHOW(pthread_cond_timedwait(&c, &m, &at) == ETIMEDOUT); SHOW(pthread_mutex_trylock(&m) == EBUSY);
        SHOW(pthread_cond_timedwait(&c, &m, &at) == ETIMEDOUT);
        clock_gettime(CLOCK_MONOTONIC, &at); at.tv_sec += 10;
        SHOW(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
        clock_gettime(CLOCK_REALTIME, &at); at.tv_sec += 10;
        SHOW(pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &at) == ETIMEDOUT);
        at.tv_nsec = NS; SHOW(pthread_cond_timedwait(&c, &m, &at) == EINVAL);
        SHOW(pthread_mutex_unlock(&m)); SHOW(pthread_cond_destroy(&c));
        """,
        BEFORE,
    )
    times = ["90000", "90000", "90000", "100000", "110000", "110000"]
    assert results(lines) == [*(("1", each) for each in times), ("0", "110000"), ("0", "110000")]


def test_a_condition_is_signalled_and_threads_go_on_in_order(run: Run) -> None:
    lines = run(
        """
        pthread_t ts[4]; for (long i = 0; i < 4; i++) pthread_create(&ts[i], 0, waits, (void *)i);
        sleep(5); pthread_mutex_lock(&m); go = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
        sleep(5); pthread_mutex_lock(&m); go = 3; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);
        for (int i = 0; i < 4; i++) pthread_join(ts[i], 0);
        """,
        BEFORE
        + """static void *waits(void *i) { pthread_mutex_lock(&m); while (!go) pthread_cond_wait(&c, &m); go--;
        printf("%ld at %lld\\n", (long)i, ms()); pthread_mutex_unlock(&m); return 0; }""",
    )
    assert lines == ["0 at 5000", "1 at 10000", "2 at 10000", "3 at 10000"]


def test_a_signal_before_the_timeout_ends_the_wait(run: Run) -> None:
    lines = run(
        """pthread_create(&t, 0, sends, 0); pthread_mutex_lock(&m); struct timespec at = in(60);
        while (!go) SHOW(pthread_cond_timedwait(&c, &m, &at)); SHOW(go);""",
        BEFORE
        + "static void *sends(void *i) { sleep(7); pthread_mutex_lock(&m); go = 1; pthread_cond_signal(&c);"
        " pthread_mutex_unlock(&m); return i; }",
    )
    assert results(lines) == [("0", "7000"), ("1", "7000")]


def test_conditions_and_mutexes_of_c11(run: Run) -> None:
    lines = run(
        """
        mtx_t x; cnd_t y; thrd_t z; mtx_init(&x, mtx_timed); cnd_init(&y); mtx_lock(&x); struct timespec at = in(3);
        SHOW(cnd_timedwait(&y, &x, &at) == thrd_timedout);
        void *with[2] = {&x, &y}; thrd_create(&z, sends, with); SHOW(cnd_wait(&y, &x) == thrd_success); SHOW(go);
        mtx_unlock(&x); int value; SHOW(thrd_join(z, &value) == thrd_success); SHOW(value);
        mtx_lock(&x); thrd_create(&z, locks, with); SHOW(thrd_join(z, &value) == thrd_success); SHOW(value);
        """,
        BEFORE
        + """
        static int sends(void *w) { void **v = w; thrd_sleep(&(struct timespec){4}, 0); mtx_lock(v[0]); go = 1;
            cnd_broadcast(v[1]); mtx_unlock(v[0]); return 42; }
        static int locks(void *w) { void **v = w; struct timespec at = in(5);
            return mtx_timedlock(v[0], &at) == thrd_timedout; }
        """,
    )
    assert results(lines) == [
        ("1", "3000"), ("1", "7000"), ("1", "7000"), ("1", "7000"), ("42", "7000"), ("1", "12000"), ("1", "12000"),
    ]  # fmt: skip


def test_a_cancelled_wait_has_its_mutex_and_runs_its_handlers(run: Run) -> None:
    lines = run(
        """
        void *value; pthread_create(&t, 0, waits, 0); sleep(1); SHOW(pthread_cancel(t)); SHOW(pthread_join(t, &value));
        SHOW(value == PTHREAD_CANCELED); SHOW(pthread_mutex_lock(&m)); // the handler has released it
        pthread_create(&t, 0, sleeps, 0); sleep(1); pthread_cancel(t); pthread_join(t, &value);
            SHOW(value == PTHREAD_CANCELED);
        pthread_create(&t, 0, reads, 0); sleep(1); pthread_cancel(t); pthread_join(t, &value);
            SHOW(value == PTHREAD_CANCELED);
        """,
        BEFORE
        + """
        static void frees(void *x) { SHOW(pthread_mutex_unlock(&m)); }
        static void *waits(void *x) { pthread_mutex_lock(&m); pthread_cleanup_push(frees, 0);
            pthread_cond_wait(&c, &m);
            pthread_cleanup_pop(1); return 0; }
        static void *sleeps(void *x) { sleep(100); return 0; }
        static void *reads(void *x) { int p[2]; char b; pipe(p); read(p[0], &b, 1); return 0; }
        """,
    )
    assert results(lines) == [
        ("0", "1000"), ("0", "1000"), ("0", "1000"), ("1", "1000"), ("0", "1000"), ("1", "2000"), ("1", "3000"),
    ]  # fmt: skip


def test_semaphores_wait_and_are_posted(run: Run) -> None:
    lines = run(
        """
        sem_init(&s, 0, 1); SHOW(sem_wait(&s)); struct timespec at = in(5);
        SHOW(sem_timedwait(&s, &at)); SHOW(errno == ETIMEDOUT);
        clock_gettime(CLOCK_MONOTONIC, &at); at.tv_sec += 5; SHOW(sem_clockwait(&s, CLOCK_MONOTONIC, &at));
            SHOW(errno == ETIMEDOUT);
        pthread_create(&t, 0, posts, 0); SHOW(sem_wait(&s)); at = in(60); SHOW(sem_timedwait(&s, &at));
        at.tv_nsec = -1; SHOW(sem_timedwait(&s, &at)); SHOW(errno == EINVAL);
        signal(SIGALRM, on); siginterrupt(SIGALRM, 1); alarm(2); SHOW(sem_wait(&s)); SHOW(errno == EINTR);
        """,
        BEFORE + "static void on(int x) {}"
        " static void *posts(void *x) { sleep(3); sem_post(&s); sleep(3); sem_post(&s); return x; }",
    )
    assert results(lines) == [
        ("0", "0"), ("-1", "5000"), ("1", "5000"), ("-1", "10000"), ("1", "10000"), ("0", "13000"), ("0", "16000"),
        ("-1", "16000"), ("1", "16000"), ("-1", "18000"), ("1", "18000"),
    ]  # fmt: skip


def test_a_semaphore_between_processes(run: Run) -> None:
    lines = run(
        """sem_t *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); sem_init(p, 1, 0);
        if (!fork()) { sleep(9); sem_post(p); sleep(1); _exit(0); } struct timespec at = in(60);
            SHOW(sem_timedwait(p, &at));""",
        BEFORE + "#include <sys/mman.h>\n",
    )
    assert results(lines) == [("0", "9000")]


def test_locks_with_a_timeout(run: Run) -> None:
    lines = run(
        """
        pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER; rw = &r; pthread_create(&t, 0, holds, 0); sleep(1);
        struct timespec at = in(4); SHOW(pthread_mutex_timedlock(&m, &at) == ETIMEDOUT);
        clock_gettime(CLOCK_MONOTONIC, &at); at.tv_sec++;
            SHOW(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
        at = in(1); SHOW(pthread_rwlock_timedrdlock(&r, &at) == ETIMEDOUT);
        at = in(1); SHOW(pthread_rwlock_timedwrlock(&r, &at) == ETIMEDOUT);
        SHOW(pthread_mutex_lock(&m)); SHOW(pthread_rwlock_rdlock(&r)); SHOW(pthread_rwlock_rdlock(&r));
        """,
        BEFORE
        + """static pthread_rwlock_t *rw; static void *holds(void *x) { pthread_mutex_lock(&m);
            pthread_rwlock_wrlock(rw); sleep(20);
        pthread_mutex_unlock(&m); pthread_rwlock_unlock(rw); return 0; }""",
    )
    assert results(lines) == [
        ("1", "5000"), ("1", "6000"), ("1", "7000"), ("1", "8000"), ("0", "20000"), ("0", "20000"), ("0", "20000"),
    ]  # fmt: skip


def test_a_mutex_that_checks_says_that_it_is_locked_by_its_own_thread(run: Run) -> None:
    lines = run(
        """
        pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&m, &a); SHOW(pthread_mutex_lock(&m)); SHOW(pthread_mutex_lock(&m) == EDEADLK);
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_t r; pthread_mutex_init(&r, &a);
        SHOW(pthread_mutex_lock(&r)); SHOW(pthread_mutex_lock(&r)); SHOW(pthread_join(pthread_self(), 0) == EDEADLK);
        """,
        BEFORE,
    )
    assert [each for each, _ in results(lines)] == ["0", "1", "0", "0", "1"]


def test_joins_with_a_timeout(run: Run) -> None:
    lines = run(
        """
        void *value; pthread_create(&t, 0, lasts, (void *)7); struct timespec at = in(4);
        SHOW(pthread_timedjoin_np(t, &value, &at) == ETIMEDOUT);
        clock_gettime(CLOCK_MONOTONIC, &at); at.tv_sec++;
            SHOW(pthread_clockjoin_np(t, &value, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
        SHOW(pthread_join(t, &value)); SHOW(value == (void *)7); SHOW(pthread_join(t, 0) != 0 || 1);
        """.replace(" SHOW(pthread_join(t, 0) != 0 || 1);", ""),
        BEFORE + "static void *lasts(void *x) { sleep(20); return x; }",
    )
    assert results(lines) == [("1", "4000"), ("1", "5000"), ("0", "20000"), ("1", "20000")]


def test_a_futex_by_its_number(run: Run) -> None:
    lines = run(
        """
        struct timespec r = spec(3); SHOW(syscall(SYS_futex, &go, FUTEX_WAIT_PRIVATE, 0, &r, 0, 0));
            SHOW(errno == ETIMEDOUT);
        clock_gettime(CLOCK_MONOTONIC, &r); r.tv_sec += 3;
        SHOW(syscall(SYS_futex, &go, FUTEX_WAIT_BITSET_PRIVATE, 0, &r, 0, -1)); SHOW(errno == ETIMEDOUT);
        SHOW(syscall(SYS_futex, &go, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0)); SHOW(errno == EAGAIN);
        pthread_create(&t, 0, wakes, 0); SHOW(syscall(SYS_futex, &go, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0)); SHOW(go);
        """,
        BEFORE + "static void *wakes(void *x) { sleep(5); go = 1;"
        " SHOW(syscall(SYS_futex, &go, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0)); return 0; }",
    )
    assert results(lines) == [
        ("-1", "3000"), ("1", "3000"), ("-1", "6000"), ("1", "6000"), ("-1", "6000"), ("1", "6000"), ("1", "11000"),
        ("0", "11000"), ("1", "11000"),
    ]  # fmt: skip


def test_threads_come_and_go_one_at_a_time(run: Run, side: Side) -> None:
    """A counter without a lock, and an output without one: no two threads run at the same time."""
    lines = run(
        """
        for (int round = 0; round < 5; round++) {
            pthread_t ts[8];
            for (long i = 0; i < 8; i++) pthread_create(&ts[i], 0, counts, (void *)i);
            for (int i = 0; i < 8; i++) pthread_join(ts[i], 0);
        }
        SHOW(count);
        """,
        BEFORE
        + """static long count; static void *counts(void *i) { for (int n = 0; n < 50000; n++) { long was = count;
            count = was + 1; }
        printf("%ld ", (long)i); usleep(1000 * (8 - (long)i)); return 0; }""",
    )
    assert lines == ["0 1 2 3 4 5 6 7 " * 5 + "count 2000000 at 40"]
    assert {each.number for each in side.threads} == set()


def test_a_mutex_that_is_held_through_a_sleep_is_handed_on_in_order(run: Run) -> None:
    lines = run(
        """pthread_t ts[3]; pthread_mutex_lock(&m); for (long i = 0; i < 3; i++) pthread_create(&ts[i], 0, locks,
            (void *)i);
        sleep(2); pthread_mutex_unlock(&m); for (int i = 0; i < 3; i++) pthread_join(ts[i], 0);""",
        BEFORE
        + """static void *locks(void *i) { pthread_mutex_lock(&m); sleep(1); printf("%ld at %lld\\n", (long)i, ms());
        pthread_mutex_unlock(&m); return 0; }""",
    )
    assert lines == ["0 at 3000", "1 at 4000", "2 at 5000"]


@pytest.mark.parametrize(
    "gives_way", ["sched_yield()", "usleep(0)", "thrd_yield()", "sleep(0)", "pthread_yield()"]
)
def test_a_thread_that_waits_for_another_in_a_loop_gives_way(run: Run, gives_way: str) -> None:
    lines = run(
        f"pthread_create(&t, 0, sets, 0); while (!seen) {gives_way}; SHOW(seen); pthread_join(t, 0);",
        BEFORE
        + "#include <sched.h>\nstatic volatile int seen; static void *sets(void *x) { seen = 1; return x; }",
    )
    assert results(lines) == [("1", "0")]


def test_a_thread_that_looks_again_and_again_lets_one_run_that_it_has_woken(run: Run) -> None:
    """As Node's loop does: it wakes itself by a descriptor until a thread of its pool has done its part."""
    lines = run(
        """int fd = eventfd(1, 0); struct pollfd p = {fd, POLLIN, 0}; pthread_create(&t, 0, works, 0); sleep(1);
        pthread_mutex_lock(&m); go = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
        while (!done) poll(&p, 1, -1); SHOW(done); sem_post(&s); while (done < 2) poll(&p, 1, 0); SHOW(done);""",
        BEFORE
        + """#include <sys/eventfd.h>
        static volatile int done; static void *works(void *x) { sem_init(&s, 0, 0); pthread_mutex_lock(&m);
        while (!go) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); done = 1;
        sem_wait(&s); done = 2; return 0; }""",
    )
    assert results(lines) == [("1", "1000"), ("2", "1000")]
