/* Condition variables, of POSIX and of C11. The library has its own: threads wait in order, and go on one at a time. */
#include "lab.h"

#include <threads.h>

REAL(pthread_cond_wait)
REAL(pthread_cond_timedwait)
REAL(pthread_cond_clockwait)
REAL(pthread_cond_signal)
REAL(pthread_cond_broadcast)

/* glibc keeps the attributes of a condition in two bits. */
static bool between_processes(const pthread_cond_t *condition) { return condition->__data.__wrefs & 1; }
static clockid_t clock_of(const pthread_cond_t *condition) {
    return condition->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static bool ours(const pthread_cond_t *condition) { return lab_started() && !between_processes(condition); }

struct waiting {
    struct waiter waiter;
    pthread_cond_t *condition;
    pthread_mutex_t *mutex;
};

/* A cancelled thread has the mutex, and leaves the word that it got to another. */
static void cancelled(void *of) {
    struct waiting *waiting = of;
    if (lab_waiter_remove(&waiting->waiter)) lab_wake(waiting->condition, 1);
    pthread_mutex_lock(waiting->mutex);
}

static int waits(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until) {
    struct waiting waiting = {.condition = condition, .mutex = mutex};
    bool was_on = lab_on();
    int before = errno;
    lab_waiter_add(&waiting.waiter, condition);
    int error = pthread_mutex_unlock(mutex);
    if (error) {
        lab_waiter_remove(&waiting.waiter);
        return error;
    }
    pthread_cleanup_push(cancelled, &waiting);
    struct wait wait = {.kind = WAIT_CONDITION, .until = until, .ready = lab_is_woken, .of = &waiting.waiter,
        .deaf = true};
    if (lab_wait(&wait) == LAB_GONE) lab_woken_for_real(&waiting.waiter, until, was_on);
    pthread_cleanup_pop(0);
    bool woken = lab_waiter_remove(&waiting.waiter);
    error = pthread_mutex_lock(mutex);
    errno = before;
    return error ? error : woken ? 0 : ETIMEDOUT;
}

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    return ours(condition) ? waits(condition, mutex, FOREVER) : real_pthread_cond_wait()(condition, mutex);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *time) {
    if (!lab_started()) return real_pthread_cond_clockwait()(condition, mutex, clock, time);
    if (time->tv_nsec < 0 || time->tv_nsec >= NS) return EINVAL;
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    if (ours(condition)) return waits(condition, mutex, lab_at(clock, lab_ns(time)));
    /* Between processes the kernel waits, which the lab sees and names if it lasts. */
    int64_t left = lab_ns(time) - lab_clock_now(clock);
    struct timespec real = lab_real(CLOCK_REALTIME);
    struct timespec until = lab_timespec(lab_ns(&real) + (left < 0 ? 0 : left));
    return real_pthread_cond_timedwait()(condition, mutex, &until);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time) {
    if (!lab_started()) return real_pthread_cond_timedwait()(condition, mutex, time);
    return pthread_cond_clockwait(condition, mutex, clock_of(condition), time);
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition) {
    if (!ours(condition)) return real_pthread_cond_signal()(condition);
    lab_wake(condition, 1);
    return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition) {
    if (!ours(condition)) return real_pthread_cond_broadcast()(condition);
    lab_wake(condition, INT_MAX);
    return 0;
}

/* --- C11: the same objects behind other names --- */

static int c11(int error) { return !error ? thrd_success : error == ETIMEDOUT ? thrd_timedout : thrd_error; }

EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    return c11(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}
EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict time) {
    return c11(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, time));
}
EXPORT int cnd_signal(cnd_t *condition) { return c11(pthread_cond_signal((pthread_cond_t *)condition)); }
EXPORT int cnd_broadcast(cnd_t *condition) { return c11(pthread_cond_broadcast((pthread_cond_t *)condition)); }
EXPORT int mtx_lock(mtx_t *mutex) { return c11(pthread_mutex_lock((pthread_mutex_t *)mutex)); }
EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict time) {
    return c11(pthread_mutex_timedlock((pthread_mutex_t *)mutex, time));
}
