/* Waits for signals. */
#include "lab.h"

REAL(pause)
REAL(sigsuspend)
REAL(sigtimedwait)
REAL(sigwaitinfo)
REAL(sigwait)

static int suspends(const sigset_t *mask) {
    struct wait wait = {.kind = WAIT_SIGNAL, .until = FOREVER, .mask = mask};
    enum outcome outcome = lab_wait(&wait);
    if (outcome == LAB_GONE) return mask ? real_sigsuspend()(mask) : real_pause()();
    errno = EINTR;
    return -1;
}

EXPORT int pause(void) { return lab_on() ? suspends(NULL) : real_pause()(); }
EXPORT int sigsuspend(const sigset_t *mask) { return lab_on() ? suspends(mask) : real_sigsuspend()(mask); }

struct signalled {
    const sigset_t *of;
    siginfo_t info;
    int result, error;
};

static bool has_come(void *at) {
    struct signalled *signalled = at;
    struct timespec at_once = {0, 0};
    signalled->result = real_sigtimedwait()(signalled->of, &signalled->info, &at_once);
    signalled->error = errno;
    return signalled->result >= 0 || errno != EAGAIN;
}

EXPORT int sigtimedwait(const sigset_t *restrict of, siginfo_t *restrict info, const struct timespec *restrict time) {
    if (!lab_on()) return real_sigtimedwait()(of, info, time);
    if (time && !lab_valid(time)) {
        errno = EINVAL;
        return -1;
    }
    sigset_t open; /* what is waited for does not go to a handler */
    pthread_sigmask(SIG_SETMASK, NULL, &open);
    sigorset(&open, &open, of);
    struct signalled signalled = {.of = of};
    struct wait wait = {.kind = WAIT_SIGNAL, .until = time ? lab_in(lab_ns(time)) : FOREVER, .ready = has_come,
                        .of = &signalled, .mask = &open};
    enum outcome outcome = lab_wait(&wait);
    struct timespec at_once = {0, 0};
    if (outcome == LAB_GONE) return real_sigtimedwait()(of, info, time ? &at_once : NULL);
    if (outcome == TIMEOUT) errno = EAGAIN;
    if (outcome != READY) return -1;
    if (info) *info = signalled.info;
    if (signalled.result < 0) errno = signalled.error;
    return signalled.result;
}

EXPORT int sigwaitinfo(const sigset_t *restrict of, siginfo_t *restrict info) {
    return lab_on() ? sigtimedwait(of, info, NULL) : real_sigwaitinfo()(of, info);
}

EXPORT int sigwait(const sigset_t *restrict of, int *restrict signal) {
    if (!lab_on()) return real_sigwait()(of, signal);
    int before = errno, result;
    do result = sigtimedwait(of, NULL, NULL);
    while (result < 0 && errno == EINTR);
    int error = result < 0 ? errno : 0;
    errno = before;
    if (!error) *signal = result;
    return error;
}
