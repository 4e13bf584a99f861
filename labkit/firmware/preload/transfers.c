/* Reads, writes and accepts that block: they wait as poll does, and then have something to do.

Those that do not block let the platform settle first if something was sent since: else it would be chance whether its
answer is there already. */
#include "lab.h"

#include <sys/stat.h>
#include <sys/uio.h>

REAL(ppoll)
REAL(fcntl)
REAL(read)
REAL(readv)
REAL(recvfrom)
REAL(recvmsg)
REAL(recvmmsg)
REAL(accept4)

static const struct timespec at_once = {0, 0};

struct watched {
    struct pollfd of;
};

static bool look(void *at) {
    struct watched *watched = at;
    return real_ppoll()(&watched->of, 1, &at_once, NULL) != 0;
}

static bool is_file(int fd) {
    struct stat status;
    return fstat(fd, &status) || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

static bool blocks(int fd) {
    int flags = real_fcntl()(fd, F_GETFL);
    return flags >= 0 && !(flags & O_NONBLOCK);
}

int64_t lab_socket_timeout(int fd, int option) {
    struct timeval time = {0, 0};
    socklen_t size = sizeof time;
    if (getsockopt(fd, SOL_SOCKET, option, &time, &size) || (!time.tv_sec && !time.tv_usec)) return FOREVER;
    return lab_in(lab_ns_of(&time));
}

/* Returns once the descriptor is ready, or at once if it does not block; -1 with errno if the call is to fail. */
int lab_ready(int fd, short events, enum wait_kind kind, bool may_block) {
    if (!lab_on()) return 0;
    struct watched watched = {{fd, events, 0}};
    bool racing = lab_dirty() && !is_file(fd);
    if (!racing && look(&watched)) return 0;
    if (!may_block || !blocks(fd)) {
        if (racing && events == POLLIN) lab_settle(fd);
        return 0;
    }
    int before = errno;
    int64_t until = lab_socket_timeout(fd, events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO);
    errno = before;
    struct wait wait = {.kind = kind, .fd = fd, .until = until, .ready = look, .of = &watched,
                        .restarts = until == FOREVER, .outside = events == POLLIN};
    enum outcome outcome = lab_wait(&wait);
    if (outcome == INTERRUPTED) return -1;
    if (outcome != TIMEOUT) return 0;
    errno = EAGAIN;
    return -1;
}

static int readable(int fd) { return lab_ready(fd, POLLIN, WAIT_READ, true); }

EXPORT ssize_t read(int fd, void *into, size_t size) {
    if (lab_random_file(fd)) {
        lab_random(into, size);
        return (ssize_t)size;
    }
    return readable(fd) ? -1 : real_read()(fd, into, size);
}
EXPORT ssize_t __read_chk(int fd, void *into, size_t size, size_t room) {
    if (room < size) abort();
    return read(fd, into, size);
}
ALIAS(ssize_t, __read, read, (int fd, void *into, size_t size))

EXPORT ssize_t readv(int fd, const struct iovec *into, int count) {
    return readable(fd) ? -1 : real_readv()(fd, into, count);
}

/* --- receive --- */

EXPORT ssize_t recvfrom(int fd, void *restrict into, size_t size, int flags, struct sockaddr *restrict from,
                        socklen_t *restrict length) {
    size_t done = 0;
    bool all = lab_on() && (flags & MSG_WAITALL) && !(flags & (MSG_PEEK | MSG_DONTWAIT)) && blocks(fd);
    for (;;) {
        if (lab_ready(fd, POLLIN, WAIT_READ, !(flags & MSG_DONTWAIT))) return done ? (ssize_t)done : -1;
        int how = all ? (flags & ~MSG_WAITALL) | MSG_DONTWAIT : flags;
        ssize_t got = real_recvfrom()(fd, (char *)into + done, size - done, how, from, length);
        if (!all) return got;
        if (got <= 0) return done ? (ssize_t)done : got;
        done += (size_t)got;
        if (done == size) return (ssize_t)done;
    }
}
EXPORT ssize_t recv(int fd, void *into, size_t size, int flags) { return recvfrom(fd, into, size, flags, NULL, NULL); }
EXPORT ssize_t __recv_chk(int fd, void *into, size_t size, size_t room, int flags) {
    if (room < size) abort();
    return recv(fd, into, size, flags);
}
EXPORT ssize_t __recvfrom_chk(int fd, void *restrict into, size_t size, size_t room, int flags,
                              struct sockaddr *restrict from, socklen_t *restrict length) {
    if (room < size) abort();
    return recvfrom(fd, into, size, flags, from, length);
}
ALIAS(ssize_t, __recv, recv, (int fd, void *into, size_t size, int flags))

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    bool fails = lab_ready(fd, POLLIN, WAIT_READ, !(flags & MSG_DONTWAIT));
    return fails ? -1 : real_recvmsg()(fd, message, flags);
}

/* Returns what is there once there is something: to wait for each message in turn would be a wait of the kernel. */
EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *time) {
    if (!lab_on()) return real_recvmmsg()(fd, messages, count, flags, time);
    if (lab_ready(fd, POLLIN, WAIT_READ, !(flags & MSG_DONTWAIT))) return -1;
    return real_recvmmsg()(fd, messages, count, flags | MSG_DONTWAIT, NULL);
}

/* --- accept --- */

EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags) {
    if (lab_ready(fd, POLLIN, WAIT_ACCEPT, true)) return -1;
    int accepted = real_accept4()(fd, from, length, flags);
    if (accepted >= 0 && lab_on()) lab_no_delay(accepted);
    return accepted;
}
EXPORT int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict length) {
    return accept4(fd, from, length, 0);
}
