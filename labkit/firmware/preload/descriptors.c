/* Waits for descriptors: poll, select and epoll. */
#include "lab.h"

#include <alloca.h>
#include <sys/epoll.h>
#include <sys/select.h>

REAL(ppoll)
REAL(pselect)
REAL(epoll_pwait)

static const struct timespec at_once = {0, 0};

/* With a timeout of 0 the same wait: it ends at once, unless the platform has yet to answer what was sent. */
static int64_t in_ms(int ms) { return ms < 0 ? FOREVER : lab_in(ms * INT64_C(1000000)); }
static int64_t in_time(const struct timespec *time) { return time ? lab_in(lab_ns(time)) : FOREVER; }

/* After the lab's end a wait with a time is over, and one without goes on for real. */
static const struct timespec *after_lab(const struct wait *wait) { return wait->until == FOREVER ? NULL : &at_once; }

static int invalid(void) {
    errno = EINVAL;
    return -1;
}

/* --- poll --- */

struct polled {
    struct pollfd *of;
    nfds_t count;
    int result, error;
};

static bool look_poll(void *at) {
    struct polled *p = at;
    p->result = real_ppoll()(p->of, p->count, &at_once, NULL);
    p->error = errno;
    return p->result;
}

static int polls(struct pollfd *of, nfds_t count, int64_t until, const sigset_t *mask) {
    struct polled p = {of, count, 0, 0};
    struct wait wait = {.kind = WAIT_DESCRIPTORS, .fd = count == 1 ? of[0].fd : 0, .until = until, .ready = look_poll,
                        .of = &p, .mask = mask, .outside = count > 0};
    enum outcome outcome = lab_wait(&wait);
    if (outcome == LAB_GONE) return real_ppoll()(of, count, after_lab(&wait), mask);
    if (outcome == READY && p.result < 0) errno = p.error;
    return outcome == READY ? p.result : (int)outcome;
}

EXPORT int poll(struct pollfd *of, nfds_t count, int ms) {
    struct timespec time = lab_timespec(ms * INT64_C(1000000));
    if (!lab_on()) return real_ppoll()(of, count, ms < 0 ? NULL : &time, NULL);
    return polls(of, count, in_ms(ms), NULL);
}

EXPORT int ppoll(struct pollfd *of, nfds_t count, const struct timespec *time, const sigset_t *mask) {
    if (!lab_on()) return real_ppoll()(of, count, time, mask);
    if (time && !lab_valid(time)) return invalid();
    return polls(of, count, in_time(time), mask);
}

/* Programs compiled with _FORTIFY_SOURCE call these. */
EXPORT int __poll_chk(struct pollfd *of, nfds_t count, int ms, size_t size) {
    if (size / sizeof *of < count) abort();
    return poll(of, count, ms);
}
EXPORT int __ppoll_chk(struct pollfd *of, nfds_t count, const struct timespec *time, const sigset_t *mask,
    size_t size) {
    if (size / sizeof *of < count) abort();
    return ppoll(of, count, time, mask);
}
ALIAS(int, __poll, poll, (struct pollfd *of, nfds_t count, int ms))
ALIAS(int, __ppoll64, ppoll, (struct pollfd *of, nfds_t count, const struct timespec *time, const sigset_t *mask))
ALIAS(int, __ppoll64_chk, __ppoll_chk,
      (struct pollfd *of, nfds_t count, const struct timespec *time, const sigset_t *mask, size_t size))

/* --- select --- */

struct selected {
    int count;
    fd_set *of[3];
    char *wanted[3]; /* copies: a look that finds nothing empties the sets */
    size_t size;
    int result, error;
};

static bool look_select(void *at) {
    struct selected *s = at;
    for (int i = 0; i < 3; i++)
        if (s->of[i]) memcpy(s->of[i], s->wanted[i], s->size);
    s->result = real_pselect()(s->count, s->of[0], s->of[1], s->of[2], &at_once, NULL);
    s->error = errno;
    return s->result;
}

static int selects(int count, fd_set *of[3], int64_t until, const sigset_t *mask) {
    struct selected s = {.count = count, .of = {of[0], of[1], of[2]}, .size = (size_t)(count + 63) / 64 * 8};
    for (int i = 0; i < 3; i++)
        if (of[i]) s.wanted[i] = memcpy(alloca(s.size + 1), of[i], s.size);
    struct wait wait = {.kind = WAIT_DESCRIPTORS, .until = until, .ready = look_select, .of = &s, .mask = mask,
                        .outside = count > 0};
    enum outcome outcome = lab_wait(&wait);
    if (outcome == READY) {
        if (s.result < 0) errno = s.error;
        return s.result;
    }
    for (int i = 0; i < 3; i++)
        if (of[i] && outcome != TIMEOUT) memcpy(of[i], s.wanted[i], s.size);
    if (outcome == LAB_GONE) return real_pselect()(count, of[0], of[1], of[2], after_lab(&wait), mask);
    return outcome;
}

EXPORT int pselect(int count, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e,
                   const struct timespec *restrict time, const sigset_t *restrict mask) {
    if (!lab_on()) return real_pselect()(count, r, w, e, time, mask);
    if (count < 0 || (time && !lab_valid(time))) return invalid();
    return selects(count, (fd_set *[3]){r, w, e}, in_time(time), mask);
}

EXPORT int select(int count, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e,
    struct timeval *restrict time) {
    if (count < 0 || (time && (time->tv_sec < 0 || time->tv_usec < 0))) return invalid();
    struct timespec length = time ? lab_timespec(lab_ns_of(time)) : at_once;
    bool on = lab_on();
    int64_t until = time ? lab_in(lab_ns(&length)) : FOREVER;
    int result = on ? selects(count, (fd_set *[3]){r, w, e}, until, NULL)
                    : real_pselect()(count, r, w, e, time ? &length : NULL, NULL);
    if (time) { /* Linux writes back what was left */
        struct timespec left = lab_timespec(until > lab_now() ? until - lab_now() : 0);
        *time = (struct timeval){left.tv_sec, left.tv_nsec / 1000};
    }
    return result;
}
ALIAS(int, __select, select,
      (int count, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e, struct timeval *restrict time))
ALIAS(int, __select64, select,
      (int count, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e, struct timeval *restrict time))
ALIAS(int, __pselect64, pselect,
      (int count, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e, const struct timespec *restrict time,
       const sigset_t *restrict mask))

/* --- epoll --- */

struct epolled {
    int fd, count, result, error;
    struct epoll_event *events;
};

static bool look_epoll(void *at) {
    struct epolled *e = at;
    e->result = real_epoll_pwait()(e->fd, e->events, e->count, 0, NULL);
    e->error = errno;
    return e->result;
}

static int epolls(int fd, struct epoll_event *events, int count, int64_t until, const sigset_t *mask) {
    struct epolled e = {fd, count, 0, 0, events};
    struct wait wait = {.kind = WAIT_DESCRIPTORS, .fd = fd, .until = until, .ready = look_epoll, .of = &e, .mask = mask,
                        .outside = true};
    enum outcome outcome = lab_wait(&wait);
    if (outcome == LAB_GONE) return real_epoll_pwait()(fd, events, count, until == FOREVER ? -1 : 0, mask);
    if (outcome == READY && e.result < 0) errno = e.error;
    return outcome == READY ? e.result : (int)outcome;
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int ms, const sigset_t *mask) {
    if (!lab_on()) return real_epoll_pwait()(fd, events, count, ms, mask);
    return epolls(fd, events, count, in_ms(ms), mask);
}
EXPORT int epoll_wait(int fd, struct epoll_event *events, int count, int ms) {
    return epoll_pwait(fd, events, count, ms, NULL);
}
EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *time,
    const sigset_t *mask) {
    if (time && !lab_valid(time)) return invalid();
    if (lab_on()) return epolls(fd, events, count, in_time(time), mask);
    int64_t ms = time ? (lab_ns(time) + 999999) / 1000000 : -1;
    return real_epoll_pwait()(fd, events, count, ms > INT_MAX ? INT_MAX : (int)ms, mask);
}
