/* Semaphores, mutexes, locks of readers and writers, and joins: each has a call that tries, which is asked again. */
#include "lab.h"

#include <semaphore.h>

REAL(sem_post)
REAL(sem_wait)
REAL(sem_trywait)
REAL(sem_timedwait)
REAL(sem_clockwait)
REAL(pthread_mutex_lock)
REAL(pthread_mutex_trylock)
REAL(pthread_mutex_timedlock)
REAL(pthread_mutex_clocklock)
REAL(pthread_rwlock_rdlock)
REAL(pthread_rwlock_wrlock)
REAL(pthread_rwlock_tryrdlock)
REAL(pthread_rwlock_trywrlock)
REAL(pthread_rwlock_timedrdlock)
REAL(pthread_rwlock_timedwrlock)
REAL(pthread_rwlock_clockrdlock)
REAL(pthread_rwlock_clockwrlock)
REAL(pthread_join)
REAL(pthread_tryjoin_np)
REAL(pthread_timedjoin_np)
REAL(pthread_clockjoin_np)

static bool invalid(const struct timespec *time) { return time->tv_nsec < 0 || time->tv_nsec >= NS; }

/* A deadline of lab time as one of the kernel's: for what began after the lab's end it is the same. */
static struct timespec deadline(int64_t until, bool was_on) {
    struct timespec real = lab_real(CLOCK_REALTIME);
    return was_on ? real : lab_timespec(until == FOREVER ? FOREVER : until < lab_ns(&real) ? 0 : until);
}

/* --- semaphores --- */

static bool can_take(void *at) {
    int value = 0;
    return sem_getvalue(at, &value) || value > 0;
}

static void cancelled(void *of) { lab_waiter_remove(of); }

static enum outcome waits(sem_t *semaphore, int64_t until) {
    struct waiter waiter;
    struct wait wait = {.kind = WAIT_SEMAPHORE, .until = until, .ready = can_take, .of = semaphore, .restarts = true};
    enum outcome outcome;
    lab_waiter_add(&waiter, semaphore);
    pthread_cleanup_push(cancelled, &waiter);
    outcome = lab_wait(&wait);
    pthread_cleanup_pop(1);
    return outcome;
}

static int takes(sem_t *semaphore, int64_t until) {
    bool was_on = lab_on();
    for (;;) {
        if (!real_sem_trywait()(semaphore)) return 0;
        if (errno != EAGAIN) return -1;
        enum outcome outcome = waits(semaphore, until);
        if (outcome == INTERRUPTED) return -1;
        if (outcome == LAB_GONE) {
            struct timespec time = deadline(until, was_on);
            return until == FOREVER ? real_sem_wait()(semaphore) : real_sem_timedwait()(semaphore, &time);
        }
        if (outcome == TIMEOUT) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

EXPORT int sem_post(sem_t *semaphore) {
    int result = real_sem_post()(semaphore);
    if (!result && lab_on()) lab_wake(semaphore, 1); /* only so that the program knows that another thread is to run */
    return result;
}

EXPORT int sem_wait(sem_t *semaphore) { return lab_on() ? takes(semaphore, FOREVER) : real_sem_wait()(semaphore); }

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict time) {
    if (!lab_on()) return real_sem_clockwait()(semaphore, clock, time);
    if (!real_sem_trywait()(semaphore)) return 0;
    if (invalid(time) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)) {
        errno = EINVAL;
        return -1;
    }
    return takes(semaphore, lab_at(clock, lab_ns(time)));
}
EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict time) {
    return lab_on() ? sem_clockwait(semaphore, CLOCK_REALTIME, time) : real_sem_timedwait()(semaphore, time);
}

/* --- locks: the call that tries has taken the lock once it does not return EBUSY --- */

struct tried {
    void *lock;
    int (*take)(void *);
    int result;
};

static bool tries(void *at) {
    struct tried *tried = at;
    tried->result = tried->take(tried->lock);
    return tried->result != EBUSY;
}

static int take_mutex(void *at) { return real_pthread_mutex_trylock()(at); }
static int take_to_read(void *at) { return real_pthread_rwlock_tryrdlock()(at); }
static int take_to_write(void *at) { return real_pthread_rwlock_trywrlock()(at); }

/* Returns EBUSY if the lab has gone before the lock was free. */
static int locks(struct tried *tried, int64_t until) {
    struct wait wait = {.kind = WAIT_MUTEX, .until = until, .ready = tries, .of = tried, .deaf = true,
        .uncancelled = true};
    enum outcome outcome = lab_wait(&wait);
    return outcome == READY ? tried->result : outcome == TIMEOUT ? ETIMEDOUT : EBUSY;
}

/* A thread that locks its own again: the real function says so (EDEADLK), or stops for ever. */
static bool is_own(const pthread_mutex_t *mutex) {
    return mutex->__data.__owner == (int)lab_syscall(SYS_gettid)
        && (mutex->__data.__kind & 3) != PTHREAD_MUTEX_RECURSIVE_NP;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!lab_on()) return real_pthread_mutex_lock()(mutex);
    int result = take_mutex(mutex);
    if (result != EBUSY) return result;
    if (is_own(mutex)) return real_pthread_mutex_lock()(mutex);
    result = locks(&(struct tried){mutex, take_mutex, 0}, FOREVER);
    return result == EBUSY ? real_pthread_mutex_lock()(mutex) : result;
}

static int lock_until(struct tried *tried, clockid_t clock, const struct timespec *time) {
    bool was_on = lab_on();
    if (tries(tried)) return tried->result;
    if (invalid(time) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)) return EINVAL;
    int result = locks(tried, lab_at(clock, lab_ns(time)));
    return result == EBUSY && was_on ? ETIMEDOUT : result;
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
    if (!lab_on()) return real_pthread_mutex_clocklock()(mutex, clock, time);
    if ((mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK_NP && is_own(mutex)) return EDEADLK;
    return lock_until(&(struct tried){mutex, take_mutex, 0}, clock, time);
}
EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict time) {
    if (!lab_on()) return real_pthread_mutex_timedlock()(mutex, time);
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, time);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    int result = lab_on() ? locks(&(struct tried){lock, take_to_read, 0}, FOREVER) : EBUSY;
    return result == EBUSY ? real_pthread_rwlock_rdlock()(lock) : result;
}
EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    if (lab_on() && lock->__data.__cur_writer == (int)lab_syscall(SYS_gettid)) return EDEADLK;
    int result = lab_on() ? locks(&(struct tried){lock, take_to_write, 0}, FOREVER) : EBUSY;
    return result == EBUSY ? real_pthread_rwlock_wrlock()(lock) : result;
}
EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict lock, clockid_t clock,
    const struct timespec *restrict time) {
    if (!lab_on()) return real_pthread_rwlock_clockrdlock()(lock, clock, time);
    return lock_until(&(struct tried){lock, take_to_read, 0}, clock, time);
}
EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict lock, clockid_t clock,
    const struct timespec *restrict time) {
    if (!lab_on()) return real_pthread_rwlock_clockwrlock()(lock, clock, time);
    return lock_until(&(struct tried){lock, take_to_write, 0}, clock, time);
}
EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict time) {
    if (!lab_on()) return real_pthread_rwlock_timedrdlock()(lock, time);
    return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, time);
}
EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict time) {
    if (!lab_on()) return real_pthread_rwlock_timedwrlock()(lock, time);
    return pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, time);
}

/* --- joins --- */

struct joined {
    pthread_t thread;
    void **value;
    int result;
};

static bool has_ended(void *at) {
    struct joined *joined = at;
    joined->result = real_pthread_tryjoin_np()(joined->thread, joined->value);
    return joined->result != EBUSY;
}

/* Returns EBUSY if the lab has gone before the thread has ended. */
static int joins(pthread_t thread, void **value, int64_t until) {
    struct joined joined = {thread, value, 0};
    struct wait wait = {.kind = WAIT_JOIN, .until = until, .ready = has_ended, .of = &joined, .deaf = true};
    enum outcome outcome = lab_wait(&wait);
    return outcome == READY ? joined.result : outcome == TIMEOUT ? ETIMEDOUT : EBUSY;
}

EXPORT int pthread_join(pthread_t thread, void **value) {
    bool asks = lab_on() && !pthread_equal(thread, pthread_self());
    int result = asks ? joins(thread, value, FOREVER) : EBUSY;
    return result == EBUSY ? real_pthread_join()(thread, value) : result;
}
EXPORT int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock, const struct timespec *time) {
    if (!lab_on()) return real_pthread_clockjoin_np()(thread, value, clock, time);
    if (time && invalid(time)) return EINVAL;
    int result = joins(thread, value, time ? lab_at(clock, lab_ns(time)) : FOREVER);
    return result == EBUSY ? ETIMEDOUT : result;
}
EXPORT int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *time) {
    if (!lab_on()) return real_pthread_timedjoin_np()(thread, value, time);
    return pthread_clockjoin_np(thread, value, CLOCK_REALTIME, time);
}
