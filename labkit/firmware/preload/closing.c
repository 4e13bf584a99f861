/* Closing of descriptors. Programs close all that they do not know of: not those of the library. */
#include "lab.h"

#include <sys/stat.h>

REAL(close)
REAL(dup2)
REAL(dup3)

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

void lab_random_closed(int fd);
void lab_port_closed(int fd);
void lab_timerfd_closed(int fd);

/* Older headers do not have it. */
static int real_close_range(unsigned first, unsigned last, int flags) {
    return (int)lab_syscall(SYS_close_range, first, last, flags);
}

void lab_closed(int fd) {
    lab_random_closed(fd);
    lab_port_closed(fd);
    lab_timerfd_closed(fd);
}

static void may_end_connection(int fd) {
    struct stat status;
    int before = errno;
    if (lab_on() && !lab_dirty() && !fstat(fd, &status) && (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode)))
        lab_sent();
    errno = before;
}

EXPORT int close(int fd) {
    if (lab_owns(fd)) { /* as if it were not there */
        errno = EBADF;
        return -1;
    }
    may_end_connection(fd);
    lab_closed(fd);
    return real_close()(fd);
}
ALIAS(int, __close, close, (int fd))

int close_range(unsigned first, unsigned last, int flags);
EXPORT int close_range(unsigned first, unsigned last, int flags) {
    if (!lab_started() || first > last) return real_close_range(first, last, flags);
    lab_sent();
    /* Each stretch between the library's own. */
    while (first <= last) {
        int own = first > INT_MAX ? -1 : lab_next_owned((int)first);
        unsigned end = own < 0 || (unsigned)own > last ? last : (unsigned)own - 1;
        if (!(flags & (int)CLOSE_RANGE_CLOEXEC))
            for (unsigned fd = first; fd <= end && fd < 65536; fd++) lab_closed((int)fd);
        if ((own < 0 || (unsigned)own > first) && real_close_range(first, end, flags)) return -1;
        if (own < 0 || (unsigned)own >= last) break;
        first = (unsigned)own + 1;
    }
    return 0;
}

void closefrom(int first);
EXPORT void closefrom(int first) { close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0); }

EXPORT int dup2(int from, int to) {
    if (lab_owns(from)) return errno = EBADF, -1;
    if (lab_owns(to)) lab_move(to);
    if (from != to) lab_closed(to);
    return real_dup2()(from, to);
}
EXPORT int dup3(int from, int to, int flags) {
    if (lab_owns(from)) return errno = EBADF, -1;
    if (lab_owns(to)) lab_move(to);
    lab_closed(to);
    return real_dup3()(from, to, flags);
}
ALIAS(int, __dup2, dup2, (int from, int to))
