/* alarm, setitimer, timer_create and timerfd, on the table of timers. Those of the processor's time stay real. */
#include "timers.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

REAL(alarm)
REAL(ualarm)
REAL(setitimer)
REAL(getitimer)
REAL(timer_create)
REAL(timer_settime)
REAL(timer_gettime)
REAL(timer_getoverrun)
REAL(timer_delete)
REAL(timerfd_create)
REAL(timerfd_settime)
REAL(timerfd_gettime)

#define FIRST 0x4c420000 /* timer_t of the library's own begin here; those of the kernel count up from 0 */

static int fail(int error) {
    errno = error;
    return -1;
}

/* --- alarm and setitimer: the one timer of the process --- */

static struct timer *of_process(void) {
    static struct timer *timer;
    if (!timer || !timer->used || !timer->alarm) timer = lab_timer_new();
    if (timer) timer->alarm = true, timer->clock = CLOCK_MONOTONIC;
    return timer;
}

/* Returns what was left. */
static struct itimerspec set_alarm(const struct itimerspec *new) {
    sigset_t before;
    lab_timers_lock(&before);
    struct timer *timer = of_process();
    struct itimerspec left = timer ? lab_timer_left(timer) : (struct itimerspec){{0, 0}, {0, 0}};
    if (timer && new) lab_timer_set(timer, new, false);
    lab_timers_unlock(&before);
    return left;
}

static struct itimerval in_microseconds(struct itimerspec time) {
    return (struct itimerval){{time.it_interval.tv_sec, time.it_interval.tv_nsec / 1000},
                              {time.it_value.tv_sec, (time.it_value.tv_nsec + 999) / 1000}};
}

EXPORT unsigned alarm(unsigned seconds) {
    if (!lab_on()) return real_alarm()(seconds);
    struct timespec left = set_alarm(&(struct itimerspec){{0, 0}, {seconds, 0}}).it_value;
    /* to the nearest second, but never 0 for one that is set */
    return (unsigned)left.tv_sec + (left.tv_nsec >= NS / 2 || (!left.tv_sec && left.tv_nsec));
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict new, struct itimerval *restrict old) {
    if (!lab_on() || which != ITIMER_REAL) return real_setitimer()(which, new, old);
    struct itimerspec set = {{0, 0}, {0, 0}};
    if (new) {
        set.it_interval = (struct timespec){new->it_interval.tv_sec, new->it_interval.tv_usec * 1000};
        set.it_value = (struct timespec){new->it_value.tv_sec, new->it_value.tv_usec * 1000};
    }
    if (!lab_timer_valid(&set)) return fail(EINVAL);
    struct itimerspec left = set_alarm(&set);
    if (old) *old = in_microseconds(left);
    return 0;
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *now) {
    if (!lab_on() || which != ITIMER_REAL) return real_getitimer()(which, now);
    *now = in_microseconds(set_alarm(NULL));
    return 0;
}

EXPORT useconds_t ualarm(useconds_t value, useconds_t interval) {
    if (!lab_on()) return real_ualarm()(value, interval);
    struct itimerspec set = {lab_timespec(interval * INT64_C(1000)), lab_timespec(value * INT64_C(1000))};
    struct timespec left = set_alarm(&set).it_value;
    return (useconds_t)(left.tv_sec * 1000000 + left.tv_nsec / 1000);
}

/* --- timer_create --- */

static bool ours(timer_t id) { return (uintptr_t)id >= FIRST && (uintptr_t)id < FIRST + 0x10000; }

/* With the table held, which stays so also where there is none: NULL. */
static struct timer *hold(timer_t id, sigset_t *before) {
    lab_timers_lock(before);
    struct timer *timer = lab_timer_at((uintptr_t)id - FIRST);
    return timer && timer->fd < 0 && !timer->alarm ? timer : NULL;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict id) {
    if (!lab_on() || !lab_clock(clock)) return real_timer_create()(clock, event, id);
    sigset_t before;
    lab_timers_lock(&before);
    struct timer *timer = lab_timer_new();
    if (timer) {
        size_t index = lab_timer_index(timer);
        timer->clock = clock;
        timer->event = event ? *event : (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
        if (!event) timer->event.sigev_value.sival_int = (int)index;
        if (event && event->sigev_notify == SIGEV_THREAD) timer->notify = event->sigev_notify_function;
        *id = (timer_t)(uintptr_t)(FIRST + index);
    }
    lab_timers_unlock(&before);
    return timer ? 0 : fail(EAGAIN);
}

EXPORT int timer_settime(timer_t id, int flags, const struct itimerspec *restrict new,
    struct itimerspec *restrict old) {
    if (!ours(id)) return real_timer_settime()(id, flags, new, old);
    sigset_t before;
    if (!lab_timer_valid(new)) return fail(EINVAL);
    struct timer *timer = hold(id, &before);
    if (timer && old) *old = lab_timer_left(timer);
    if (timer) lab_timer_set(timer, new, flags & TIMER_ABSTIME);
    lab_timers_unlock(&before);
    return timer ? 0 : fail(EINVAL);
}

EXPORT int timer_gettime(timer_t id, struct itimerspec *now) {
    if (!ours(id)) return real_timer_gettime()(id, now);
    sigset_t before;
    struct timer *timer = hold(id, &before);
    if (timer) *now = lab_timer_left(timer);
    lab_timers_unlock(&before);
    return timer ? 0 : fail(EINVAL);
}

EXPORT int timer_getoverrun(timer_t id) {
    if (!ours(id)) return real_timer_getoverrun()(id);
    sigset_t before;
    struct timer *timer = hold(id, &before);
    int overrun = !timer ? 0 : timer->overrun > INT_MAX ? INT_MAX : (int)timer->overrun;
    lab_timers_unlock(&before);
    return timer ? overrun : fail(EINVAL);
}

EXPORT int timer_delete(timer_t id) {
    if (!ours(id)) return real_timer_delete()(id);
    sigset_t before;
    struct timer *timer = hold(id, &before);
    if (timer) lab_timer_end(timer);
    lab_timers_unlock(&before);
    return timer ? 0 : fail(EINVAL);
}

/* --- timerfd: an eventfd, which counts in the same way, and which reads and polls alike --- */

static struct timer *find(int fd) {
    for (size_t i = 0; i < 4096; i++) {
        struct timer *timer = lab_timer_at(i);
        if (timer && timer->fd == fd) return timer;
    }
    return NULL;
}

static _Atomic int timerfds;

void lab_timerfd_closed(int fd) {
    if (!atomic_load_explicit(&timerfds, memory_order_relaxed)) return;
    sigset_t before;
    lab_timers_lock(&before);
    struct timer *timer = find(fd);
    if (timer) {
        lab_timer_end(timer);
        atomic_fetch_sub(&timerfds, 1);
    }
    lab_timers_unlock(&before);
}

EXPORT int timerfd_create(__clockid_t clock, int flags) {
    if (!lab_on() || !lab_clock(clock)) return real_timerfd_create()(clock, flags);
    int how = (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) | (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0);
    if (flags & ~(TFD_NONBLOCK | TFD_CLOEXEC)) return fail(EINVAL);
    int fd = eventfd(0, how);
    if (fd < 0) return -1;
    sigset_t before;
    lab_timers_lock(&before);
    struct timer *timer = lab_timer_new();
    if (timer) timer->fd = fd, timer->clock = clock;
    lab_timers_unlock(&before);
    if (timer) {
        atomic_fetch_add(&timerfds, 1);
        return fd;
    }
    close(fd);
    return fail(EMFILE);
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    sigset_t before;
    uint64_t count;
    lab_timers_lock(&before);
    struct timer *timer = find(fd);
    bool valid = lab_timer_valid(new);
    if (timer && valid) {
        struct pollfd of = {fd, POLLIN, 0};
        struct timespec at_once = {0, 0};
        if (old) *old = lab_timer_left(timer);
        /* What it counted so far is gone. */
        if (lab_syscall(SYS_ppoll, &of, 1, &at_once, NULL, 8) == 1) lab_syscall(SYS_read, fd, &count, sizeof count);
        lab_timer_set(timer, new, flags & TFD_TIMER_ABSTIME);
    }
    lab_timers_unlock(&before);
    if (!timer) return real_timerfd_settime()(fd, flags, new, old);
    return valid ? 0 : fail(EINVAL);
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *now) {
    sigset_t before;
    lab_timers_lock(&before);
    struct timer *timer = find(fd);
    if (timer) *now = lab_timer_left(timer);
    lab_timers_unlock(&before);
    return timer ? 0 : real_timerfd_gettime()(fd, now);
}
