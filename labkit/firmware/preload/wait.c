/* Conversation with the lab, and the wait on which all others rest.

A thread that waits says so on a connection of its own, and then does nothing until the lab asks it ("ready?") or says
that its time has come. What became ready meanwhile is looked at only then: all that the platform and other processes
had to send is there by then, and no two threads run at a time, so that the same seed gives the same run again. */
#include "lab.h"

#include <stdio.h>
#include <sys/un.h>

REAL(ppoll)
REAL(socket)
REAL(connect)
REAL(send)
REAL(recv)

static __thread struct {
    pid_t process; /* whose connection it is: a forked child inherits these values, but has to open its own */
    int connection; /* 0: none yet */
    uint32_t thread, wait;
} self;

static pthread_key_t at_end;
static pthread_once_t made = PTHREAD_ONCE_INIT;
static _Atomic uint32_t threads = 1; /* the first thread is 1 */
static _Atomic bool dirty;
static _Atomic uint32_t process;
static pid_t here;

void lab_sent(void) { atomic_store_explicit(&dirty, true, memory_order_relaxed); }
bool lab_dirty(void) { return lab_on() && atomic_load_explicit(&dirty, memory_order_relaxed); }
uint32_t lab_next_thread(void) { return atomic_fetch_add(&threads, 1) + 1; }
void lab_thread_number(uint32_t number) { self.thread = number; }
uint32_t lab_process(void) { return atomic_load(&process); }

uint32_t lab_this_thread(void) {
    if (!self.thread) self.thread = lab_syscall(SYS_gettid) == getpid() ? 1 : lab_next_thread();
    return self.thread;
}

/* --- connections --------------------------------------------------------------------------------------------- */

bool lab_say(int connection, uint32_t kind, uint32_t number, int64_t when, int64_t detail, int64_t other) {
    struct message message = {kind, number, when, detail, other};
    for (;;) {
        if (real_send()(connection, &message, sizeof message, MSG_NOSIGNAL) == sizeof message) return true;
        if (errno != EINTR) return false;
    }
}

int lab_connection(uint32_t thread) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", lab_folder()) >= (int)sizeof address.sun_path)
        return -1;
    int fd = real_socket()(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (real_connect()(fd, (struct sockaddr *)&address, sizeof address)) {
        lab_release(fd);
        return -1;
    }
    fd = lab_keep(fd);
    int64_t version = PROTOCOL | (int64_t)lab_process() << 32;
    lab_say(fd, 'H', (uint32_t)lab_syscall(SYS_gettid), getpid(), version, thread);
    return fd;
}

static void thread_ends(void *value) {
    (void)value;
    if (self.connection > 0 && self.process == here) lab_release(self.connection);
    self.connection = 0; /* another thing of the thread's end may wait still: it gets a new one */
}

static void make_key(void) { pthread_key_create(&at_end, thread_ends); }

static void connect_thread(void) {
    self.process = here;
    self.connection = lab_connection(lab_this_thread());
    if (self.connection < 0) lab_gone();
    pthread_once(&made, make_key);
    pthread_setspecific(at_end, &self);
}

static _Atomic uint32_t children;
static __thread int greeted[2]; /* a pipe: its writing end closes once the child has greeted the lab, or is no more */

/* By these handlers, not by a fork() of its own: the C library's daemon(), forkpty() and others fork, too. The parent
   goes on when the lab knows of the child; else the lab could move time before the child has begun. */
void lab_before_fork(void) {
    atomic_fetch_add(&children, 1);
    if (!lab_on() || lab_syscall(SYS_pipe2, greeted, O_CLOEXEC)) greeted[0] = greeted[1] = -1;
}

void lab_in_parent(void) {
    char nothing;
    int before = errno;
    if (greeted[0] < 0) return;
    lab_syscall(SYS_close, greeted[1]);
    while (lab_syscall(SYS_read, greeted[0], &nothing, 1) < 0 && errno == EINTR) continue;
    lab_syscall(SYS_close, greeted[0]);
    errno = before;
}

static void greet(void) {
    here = getpid();
    if (lab_connection(0) < 0) lab_gone();
}

/* Ordinals of children make up a number that is the same in each run; process ids are not. */
static void forked(uint32_t child) {
    here = getpid();
    atomic_store(&process, lab_process() * 1000003u + child);
    atomic_store(&threads, 1);
    self.process = 0, self.connection = 0, self.thread = 1, self.wait = 0;
    lab_waiters_forked();
    lab_timers_forked();
    lab_release_all();
    if (lab_on()) greet();
    if (greeted[1] >= 0) lab_syscall(SYS_close, greeted[1]);
    lab_wait_start();
}

void lab_in_child(void) {
    uint32_t child = atomic_exchange(&children, 0);
    if (greeted[0] >= 0) lab_syscall(SYS_close, greeted[0]);
    forked(child);
}

void lab_greet_process(void) {
    pthread_atfork(lab_before_fork, lab_in_parent, lab_in_child);
    greet();
}

/* --- waits ----------------------------------------------------------------------------------------------------- */

static const struct timespec at_once = {0, 0};

static bool is_ready(struct wait *wait) {
    int before = errno;
    bool ready = wait->ready && wait->ready(wait->of);
    errno = before;
    return ready;
}

/* The lab's next word about this wait: 'P', 'T', 'I' after a signal, 'G' if the lab has gone. */
static int hear(const sigset_t *open) {
    struct pollfd ear = {self.connection, POLLIN, 0};
    struct message message;
    for (;;) {
        if (real_ppoll()(&ear, 1, NULL, open) < 0) return errno == EINTR ? 'I' : 'G';
        if (!lab_owns(self.connection)) return 'I'; /* another thread has put something else there */
        ssize_t got = real_recv()(self.connection, &message, sizeof message, MSG_DONTWAIT);
        if (got == sizeof message && message.number == self.wait) return (int)message.kind;
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return 'G';
    }
}

/* A loop may look again and again for what another thread is to do: that one runs first. */
static bool steps_back(const struct wait *wait) {
    bool of_others = wait->kind < WAIT_CONDITION || wait->kind == WAIT_LOOK;
    return of_others && atomic_load_explicit(&lab_pending, memory_order_relaxed) > 0;
}

static bool goes_on(const struct wait *wait, struct handled before) {
    struct handled now = lab_handled();
    return wait->deaf || (wait->restarts && now.all - before.all == now.restarting - before.restarting);
}

static bool declare(struct wait *wait) {
    if (self.process != here || !lab_owns(self.connection)) connect_thread();
    for (int i = 0; i < 2 && lab_on(); i++) {
        int64_t other = wait->fd | (int64_t)lab_dirty() << 32; /* else it has looked, and there is nothing to answer */
        if (lab_say(self.connection, 'W', ++self.wait, wait->until, wait->kind, other)) return true;
        if (errno != EBADF && errno != ENOTSOCK && errno != ENOTCONN && errno != EDESTADDRREQ) break;
        connect_thread(); /* the program has closed or replaced it in a way that the library does not see */
    }
    lab_gone();
    return false;
}

static void runs(void) { lab_say(self.connection, 'R', self.wait, 0, 0, 0); }

/* One wait, from 'W' to 'R' or 'T'. `again` is set if it has to be declared anew. */
static enum outcome once(struct wait *wait, const sigset_t *open, bool *again) {
    if (!declare(wait)) return LAB_GONE;
    for (;;) {
        struct handled before = lab_handled();
        int word = hear(open);
        if (word == 'P') {
            if (steps_back(wait)) {
                lab_say(self.connection, 'S', self.wait, 0, 0, 0);
                continue;
            }
            atomic_store(&dirty, false);
            bool ready = is_ready(wait);
            if (!ready && wait->until <= lab_now() && !wait->last) {
                runs(); /* a look that may not wait: now that the platform has settled, it has found nothing */
                return TIMEOUT;
            }
            if (!ready && !real_ppoll()(NULL, 0, &at_once, open)) {
                lab_say(self.connection, 'S', self.wait, 0, 0, 0);
                continue;
            }
            word = ready ? 'R' : 'I';
        }
        if (word == 'R') {
            runs();
            return READY;
        }
        if (word == 'I') {
            runs();
            *again = goes_on(wait, before);
            return INTERRUPTED;
        }
        if (word == 'G') {
            lab_gone();
            return LAB_GONE;
        }
        if (word == 'T') {
            atomic_store(&dirty, false);
            if (is_ready(wait)) return READY;
            *again = wait->until == FOREVER; /* the lab has ended a wait that cannot end by itself */
            return TIMEOUT;
        }
    }
}

struct masked {
    sigset_t before;
    int cancel;
    bool uncancelled;
};

static void unmask(void *of) {
    struct masked *masked = of;
    lab_note(NULL);
    pthread_sigmask(SIG_SETMASK, &masked->before, NULL);
    if (masked->uncancelled) pthread_setcancelstate(masked->cancel, NULL);
}

static enum outcome waits(struct wait *wait) {
    /* Signals come in only where the wait itself lets them, else one that comes just before it begins would be lost. */
    struct masked masked = {.uncancelled = wait->uncancelled};
    sigset_t all;
    sigfillset(&all);
    if (wait->uncancelled) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &masked.cancel);
    pthread_sigmask(SIG_SETMASK, &all, &masked.before);
    enum outcome outcome;
    pthread_cleanup_push(unmask, &masked);
    bool again;
    do {
        again = false;
        lab_note(&wait->interrupted);
        outcome = once(wait, wait->mask ? wait->mask : &masked.before, &again);
        if (again && is_ready(wait)) {
            outcome = READY;
            break;
        }
    } while (again);
    pthread_cleanup_pop(1);
    return outcome;
}

enum outcome lab_wait(struct wait *wait) {
    if (!lab_on()) return LAB_GONE;
    int before = errno;
    if (!wait->uncancelled) pthread_testcancel();
    bool racing = (wait->outside && lab_dirty()) || steps_back(wait);
    if (!racing) {
        if (is_ready(wait)) return READY;
        if (wait->mask && real_ppoll()(NULL, 0, &at_once, wait->mask) < 0) {
            errno = EINTR;
            return INTERRUPTED;
        }
        if (wait->until <= lab_now()) return TIMEOUT;
    }
    enum outcome outcome = waits(wait);
    errno = outcome == INTERRUPTED ? EINTR : before;
    return outcome;
}

static bool always(void *of) {
    (void)of;
    return true;
}

void lab_wait_start(void) {
    struct wait wait = {.kind = WAIT_START, .until = FOREVER, .ready = always, .deaf = true, .uncancelled = true};
    if (lab_on()) waits(&wait);
}

/* A thread that waits for another one in a loop of its own gives way so: no two run at a time. */
void lab_yield(void) {
    struct wait wait = {.kind = WAIT_SLEEP, .until = lab_now(), .deaf = true, .uncancelled = true, .last = true};
    if (lab_on() && atomic_load_explicit(&threads, memory_order_relaxed) > 1) waits(&wait);
}

/* What the platform answers to what was sent may be there now, or not yet: it has to settle before a look. */
void lab_settle(int fd) {
    int before = errno;
    struct wait wait = {.kind = WAIT_LOOK, .fd = fd, .until = lab_now(), .ready = always, .deaf = true,
        .uncancelled = true};
    if (lab_dirty()) waits(&wait);
    errno = before;
}
