/* System calls by number: programs and runtimes (of Rust and C++) call some that way. */
#include "lab.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/uio.h>

int close_range(unsigned first, unsigned last, int flags); /* older headers do not have it */

struct expected {
    struct waiter waiter;
    const _Atomic uint32_t *at;
    uint32_t value;
};

static bool has_gone_on(void *of) {
    struct expected *expected = of;
    return lab_is_woken(&expected->waiter) || atomic_load(expected->at) != expected->value;
}

/* Returns 0, or an error. */
static int futex_waits(void *at, uint32_t value, int64_t until) {
    struct expected expected = {.at = at, .value = value};
    if (atomic_load(expected.at) != value) return EAGAIN;
    lab_waiter_add(&expected.waiter, at);
    struct wait wait = {.kind = WAIT_FUTEX, .until = until, .ready = has_gone_on, .of = &expected, .restarts = true,
                        .uncancelled = true};
    enum outcome outcome = lab_wait(&wait);
    bool woken = lab_waiter_remove(&expected.waiter);
    if (outcome == LAB_GONE) return woken ? 0 : EINTR; /* whoever waits for a futex looks, and waits again, for real */
    return outcome == INTERRUPTED ? EINTR : outcome == TIMEOUT && !woken ? ETIMEDOUT : 0;
}

static long futex(long a[6]) {
    int what = (int)a[1], command = what & FUTEX_CMD_MASK;
    const struct timespec *time = (const struct timespec *)a[3];
    if ((command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && lab_on() && (!time || lab_valid(time))) {
        clockid_t clock = what & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        int64_t until = !time ? FOREVER : command == FUTEX_WAIT ? lab_in(lab_ns(time)) : lab_at(clock, lab_ns(time));
        int before = errno, error = futex_waits((void *)a[0], (uint32_t)a[2], until);
        errno = error ? error : before;
        return error ? -1 : 0;
    }
    long woken = 0;
    if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) {
        woken = lab_wake((void *)a[0], (int)a[2]);
        a[2] -= woken;
        if (a[2] <= 0) return woken;
    } else if (command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE) {
        woken = lab_wake((void *)a[0], INT_MAX); /* the others look again, which a futex may have at any time */
    }
    long more = lab_syscall(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
    return more < 0 ? more : woken + more;
}

/* The kernel's pselect6 has its mask in a structure. */
static const sigset_t *mask_of(long argument) {
    const struct {
        const sigset_t *mask;
        size_t size;
    } *both = (const void *)argument;
    return both ? both->mask : NULL;
}

static long by_errno(int error) {
    if (!error) return 0;
    errno = error;
    return -1;
}

static long time_call(long number, long a[6], bool *other) {
    switch (number) {
    case SYS_clock_gettime: return clock_gettime((clockid_t)a[0], (void *)a[1]);
    case SYS_gettimeofday: return gettimeofday((void *)a[0], (void *)a[1]);
    case SYS_clock_settime: return clock_settime((clockid_t)a[0], (void *)a[1]);
    case SYS_settimeofday: return settimeofday((void *)a[0], (void *)a[1]);
    case SYS_nanosleep: return nanosleep((void *)a[0], (void *)a[1]);
    case SYS_clock_nanosleep: return by_errno(clock_nanosleep((clockid_t)a[0], (int)a[1], (void *)a[2], (void *)a[3]));
    case SYS_getrandom: return getrandom((void *)a[0], (size_t)a[1], (unsigned)a[2]);
    case SYS_futex: return futex(a);
#ifdef SYS_time /* machines whose calls are older than vdso */
    case SYS_time: return time((time_t *)a[0]);
    case SYS_poll: return poll((void *)a[0], (nfds_t)a[1], (int)a[2]);
    case SYS_select: return select((int)a[0], (void *)a[1], (void *)a[2], (void *)a[3], (void *)a[4]);
    case SYS_epoll_wait: return epoll_wait((int)a[0], (void *)a[1], (int)a[2], (int)a[3]);
    case SYS_pause: return pause();
    case SYS_dup2: return dup2((int)a[0], (int)a[1]);
    case SYS_alarm: return alarm((unsigned)a[0]);
#endif
    default: *other = true; return 0;
    }
}

static long wait_call(long number, long a[6], bool *other) {
    switch (number) {
    case SYS_ppoll: return ppoll((void *)a[0], (nfds_t)a[1], (void *)a[2], (void *)a[3]);
    case SYS_pselect6: return pselect((int)a[0], (void *)a[1], (void *)a[2], (void *)a[3], (void *)a[4], mask_of(a[5]));
    case SYS_epoll_pwait: return epoll_pwait((int)a[0], (void *)a[1], (int)a[2], (int)a[3], (void *)a[4]);
    case SYS_read: return read((int)a[0], (void *)a[1], (size_t)a[2]);
    case SYS_readv: return readv((int)a[0], (void *)a[1], (int)a[2]);
    case SYS_recvfrom: return recvfrom((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (void *)a[4], (void *)a[5]);
    case SYS_recvmsg: return recvmsg((int)a[0], (void *)a[1], (int)a[2]);
    case SYS_accept: return accept((int)a[0], (void *)a[1], (void *)a[2]);
    case SYS_accept4: return accept4((int)a[0], (void *)a[1], (void *)a[2], (int)a[3]);
    case SYS_connect: return connect((int)a[0], (void *)a[1], (socklen_t)a[2]);
    case SYS_write: return write((int)a[0], (void *)a[1], (size_t)a[2]);
    case SYS_sendto: return sendto((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (void *)a[4], (socklen_t)a[5]);
    case SYS_sendmsg: return sendmsg((int)a[0], (void *)a[1], (int)a[2]);
    case SYS_close: return close((int)a[0]);
    case SYS_close_range: return close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
    case SYS_dup3: return dup3((int)a[0], (int)a[1], (int)a[2]);
    default: *other = true; return 0;
    }
}

/* Reads six arguments, however many there are, as the C library does. */
__attribute__((no_sanitize("address"))) EXPORT long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    bool other = false;
    if (lab_started()) {
        long result = time_call(number, a, &other);
        if (other) {
            other = false;
            result = wait_call(number, a, &other);
        }
        if (!other) return result;
    }
    return lab_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
