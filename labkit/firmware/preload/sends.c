/* Writes and sends. Each may have an answer, so the platform settles before the next look at a descriptor. */
#include "lab.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

REAL(fcntl)
REAL(write)
REAL(writev)
REAL(sendto)
REAL(sendmsg)
REAL(sendmmsg)
REAL(sendfile)
REAL(shutdown)
REAL(setsockopt)

int lab_ready(int fd, short events, enum wait_kind kind, bool may_block);

static mode_t type(int fd) {
    struct stat status;
    int before = errno;
    mode_t mode = fstat(fd, &status) ? 0 : status.st_mode & S_IFMT;
    errno = before;
    return mode;
}

static bool blocks(int fd, int flags) { return !(flags & MSG_DONTWAIT) && !(real_fcntl()(fd, F_GETFL) & O_NONBLOCK); }

/* Flags without the one by which the kernel would hold the bytes of a stream back, as TCP_CORK: see lab_no_delay. Of a
   datagram they are one part of several, which leave together. */
static int at_once(int fd, int flags) {
    int kind = 0, before = errno;
    socklen_t size = sizeof kind;
    if (!(flags & MSG_MORE) || !lab_on()) return flags;
    bool stream = !getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) && kind == SOCK_STREAM;
    errno = before;
    return stream ? flags & ~MSG_MORE : flags;
}

static int writable(int fd) { return lab_ready(fd, POLLOUT, WAIT_WRITE, true); }

/* A blocking send is over once all of it is sent. The lab would not know of the kernel's own wait for room. */
static ssize_t send_all(int fd, const char *from, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
    size_t done = 0;
    do {
        ssize_t sent = real_sendto()(fd, from + done, size - done, flags | MSG_DONTWAIT, to, length);
        if (sent >= 0) {
            lab_sent();
            done += (size_t)sent;
        } else if (errno != EAGAIN || writable(fd)) {
            return done ? (ssize_t)done : -1;
        }
    } while (done < size);
    return (ssize_t)done;
}

EXPORT ssize_t sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
    flags = at_once(fd, flags);
    if (lab_on() && blocks(fd, flags)) return send_all(fd, from, size, flags, to, length);
    ssize_t sent = real_sendto()(fd, from, size, flags, to, length);
    if (sent >= 0) lab_sent();
    return sent;
}
EXPORT ssize_t send(int fd, const void *from, size_t size, int flags) { return sendto(fd, from, size, flags, NULL, 0); }
ALIAS(ssize_t, __send, send, (int fd, const void *from, size_t size, int flags))

static ssize_t send_message(int fd, const struct msghdr *message, int flags) {
    for (;;) {
        ssize_t sent = real_sendmsg()(fd, message, flags | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN && !writable(fd)) continue;
        if (sent < 0) return -1;
        lab_sent();
        size_t done = (size_t)sent, all = 0;
        for (size_t i = 0; i < message->msg_iovlen; i++) {
            const struct iovec *part = &message->msg_iov[i];
            size_t skip = done > all ? done - all : 0; /* of this part */
            all += part->iov_len;
            if (skip >= part->iov_len) continue;
            ssize_t more = send_all(fd, (const char *)part->iov_base + skip, part->iov_len - skip, flags, NULL, 0);
            if (more < 0) return (ssize_t)done;
            done += (size_t)more;
            if (done < all) return (ssize_t)done;
        }
        return (ssize_t)done;
    }
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    flags = at_once(fd, flags);
    if (lab_on() && blocks(fd, flags)) return send_message(fd, message, flags);
    ssize_t sent = real_sendmsg()(fd, message, flags);
    if (sent >= 0) lab_sent();
    return sent;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    flags = at_once(fd, flags);
    if (!lab_on() || !blocks(fd, flags)) {
        lab_sent();
        return real_sendmmsg()(fd, messages, count, flags);
    }
    for (unsigned i = 0; i < count; i++) {
        ssize_t sent = send_message(fd, &messages[i].msg_hdr, flags);
        if (sent < 0) return i ? (int)i : -1;
        messages[i].msg_len = (unsigned)sent;
    }
    return (int)count;
}

/* A pipe that has room for a little blocks a larger write; writes up to PIPE_BUF go in whole or not at all. */
static ssize_t write_pipe(int fd, const char *from, size_t size) {
    size_t done = 0;
    do {
        size_t part = size - done < PIPE_BUF ? size - done : PIPE_BUF;
        ssize_t sent = writable(fd) ? -1 : real_write()(fd, from + done, part);
        if (sent < 0) return done ? (ssize_t)done : -1;
        lab_sent();
        done += (size_t)sent;
    } while (done < size);
    return (ssize_t)done;
}

EXPORT ssize_t write(int fd, const void *from, size_t size) {
    mode_t kind = lab_on() ? type(fd) : 0;
    if (kind != S_IFSOCK && kind != S_IFIFO) return real_write()(fd, from, size);
    if (!blocks(fd, 0)) {
        lab_sent();
        return real_write()(fd, from, size);
    }
    return kind == S_IFSOCK ? send_all(fd, from, size, 0, NULL, 0) : write_pipe(fd, from, size);
}
ALIAS(ssize_t, __write, write, (int fd, const void *from, size_t size))

EXPORT ssize_t writev(int fd, const struct iovec *from, int count) {
    mode_t kind = lab_on() ? type(fd) : 0;
    if (kind == S_IFSOCK && blocks(fd, 0) && count >= 0) {
        struct msghdr message = {.msg_iov = (struct iovec *)from, .msg_iovlen = (size_t)count};
        return send_message(fd, &message, 0);
    }
    if (kind == S_IFSOCK || kind == S_IFIFO) lab_sent();
    if (kind == S_IFIFO && blocks(fd, 0) && writable(fd)) return -1;
    return real_writev()(fd, from, count);
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    ssize_t sent;
    do sent = !lab_on() || !blocks(to, 0) || !writable(to) ? real_sendfile()(to, from, offset, count) : -1;
    while (sent < 0 && errno == EAGAIN && lab_on() && blocks(to, 0));
    lab_sent();
    return sent;
}
ALIAS(ssize_t, sendfile64, sendfile, (int to, int from, off_t *offset, size_t count))

EXPORT int shutdown(int fd, int how) {
    lab_sent();
    return real_shutdown()(fd, how);
}

/* What the kernel holds back (Nagle, TCP_CORK) leaves some real milliseconds later, of which the lab sees nothing: it
   would move time without it. */
void lab_no_delay(int fd) {
    int on = 1, before = errno;
    real_setsockopt()(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    errno = before;
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
    bool holds = level == IPPROTO_TCP && (name == TCP_NODELAY || name == TCP_CORK);
    if (!holds || size < sizeof(int) || !lab_on()) return real_setsockopt()(fd, level, name, value, size);
    int on = name == TCP_NODELAY;
    return real_setsockopt()(fd, level, name, &on, sizeof on);
}
