/* Sleeps. */
#include "lab.h"

#include <sched.h>

REAL(clock_nanosleep)
REAL(sched_yield)

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    if (!lab_on() || !lab_clock(clock)) return real_clock_nanosleep()(clock, flags, time, left);
    if (!lab_valid(time)) return EINVAL;
    bool absolute = flags & TIMER_ABSTIME;
    int64_t until = absolute ? lab_at(clock, lab_ns(time)) : lab_in(lab_ns(time));
    struct wait wait = {.kind = WAIT_SLEEP, .until = until};
    int before = errno;
    if (until <= lab_now()) lab_yield();
    enum outcome outcome = lab_wait(&wait);
    errno = before;
    if (outcome != INTERRUPTED) return 0;
    int64_t at = wait.interrupted ? wait.interrupted : lab_now(); /* a handler may take its time */
    if (left && !absolute) *left = lab_timespec(until > at ? until - at : 0);
    return EINTR;
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left) {
    int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
    if (!error) return 0;
    errno = error;
    return -1;
}

EXPORT int usleep(useconds_t microseconds) {
    struct timespec time = lab_timespec(microseconds * INT64_C(1000));
    return nanosleep(&time, NULL);
}

EXPORT unsigned sleep(unsigned seconds) {
    struct timespec time = {seconds, 0}, left = {0, 0};
    int before = errno;
    if (!nanosleep(&time, &left)) return 0;
    errno = before;
    return (unsigned)(left.tv_sec + (left.tv_nsec >= NS / 2));
}

EXPORT int sched_yield(void) {
    if (!lab_on()) return real_sched_yield()();
    lab_yield();
    return 0;
}
EXPORT int old_yield(void) __asm__("pthread_yield"); /* headers lead to the new name; older programs call the old one */
int old_yield(void) { return sched_yield(); }
EXPORT void thrd_yield(void) { sched_yield(); }

/* C11: 0, or -1 after a signal, or another negative number for an error. */
EXPORT int thrd_sleep(const struct timespec *time, struct timespec *left) {
    int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
    return !error ? 0 : error == EINTR ? -1 : -2;
}

ALIAS(int, __nanosleep, nanosleep, (const struct timespec *time, struct timespec *left))
ALIAS(int, __clock_nanosleep, clock_nanosleep,
      (clockid_t clock, int flags, const struct timespec *time, struct timespec *left))
ALIAS(int, __clock_nanosleep_time64, clock_nanosleep,
      (clockid_t clock, int flags, const struct timespec *time, struct timespec *left))
ALIAS(int, __nanosleep64, nanosleep, (const struct timespec *time, struct timespec *left))
