/* What the files of the preloaded library share: the page with lab time, the conversation with the lab, and waits. */
#ifndef LABKIT_LAB_H
#define LABKIT_LAB_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#if !defined __linux__ || !defined __GLIBC__ || !defined __LP64__
#error "the preloaded library needs Linux of 64 bits with the GNU C library"
#endif

#define EXPORT __attribute__((visibility("default")))
#define NS INT64_C(1000000000)
#define FOREVER INT64_MAX
#define PROTOCOL 1

/* real_NAME() is the function that this library replaces: the next one of that name in the order of loading. */
#define REAL(name)                                                               \
    static __typeof__(name) *real_##name(void) {                                 \
        static _Atomic(void *) found;                                            \
        void *at = atomic_load_explicit(&found, memory_order_relaxed);           \
        if (!at) {                                                               \
            at = dlsym(RTLD_NEXT, #name);                                        \
            atomic_store_explicit(&found, at, memory_order_relaxed);             \
        }                                                                        \
        return (__typeof__(name) *)at;                                           \
    }

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes" /* a second name needs no hints to its callers */
#endif
/* A second name of a function, as the C library has it, too: __poll, __poll_chk and the like. */
#define ALIAS(type, name, of, parameters) EXPORT type name parameters __attribute__((alias(#of)));

/* --- lab.c: whether this process is on lab time ------------------------------------------------------------- */

/* Written by the lab; all in nanoseconds since 1970. */
struct page {
    _Atomic int64_t now, start, boot;
    _Atomic int64_t lab; /* process of the lab, until the program that it starts has greeted; 0: none */
};

extern struct page *lab_page;
extern _Atomic(uint64_t) *lab_clock_reads; /* in a page of the process' own, for the lab to read */

bool lab_started(void); /* began on lab time, whether the lab is still there or not */
bool lab_on(void);      /* on lab time now */
void lab_gone(void);    /* the lab has ended: real time from here on */
int64_t lab_offset(void); /* real monotonic time less this gives the program's, once the lab has gone */
const char *lab_folder(void);
const char *lab_seed(void); /* NULL: chance comes from the kernel */
bool lab_path(char *into, size_t size, const char *name);

void lab_own_pids(void); /* pids.c: returns in the program */

/* The C library's syscall(), which this library replaces, too; with all of the arguments that it reads. */
long lab_call(long number, long a, long b, long c, long d, long e, long f);
#define lab_syscall(...) LAB_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define LAB_CALL(number, a, b, c, d, e, f, ...) \
    lab_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Descriptors of the library's own: high numbers, which the program can neither close nor replace. */
int lab_keep(int fd);    /* moves a descriptor up and protects it; returns its new number */
bool lab_owns(int fd);
void lab_release(int fd); /* closes a protected descriptor */
void lab_release_all(void); /* in a child, which has copies of its parent's */
void lab_move(int fd);    /* the program takes this number for something else */
int lab_next_owned(int from); /* the first protected descriptor at or after this one, or -1 */

/* --- clocks.c ----------------------------------------------------------------------------------------------- */

int64_t lab_now(void);
bool lab_clock(clockid_t clock);                     /* a clock that shows lab time (not one of the processor's time) */
int64_t lab_clock_now(clockid_t clock);              /* what it shows, in ns */
int64_t lab_at(clockid_t clock, int64_t time);       /* the lab time at which that clock shows `time` */
int64_t lab_in(int64_t duration);                    /* the lab time after a duration */
bool lab_valid(const struct timespec *time);
int64_t lab_ns(const struct timespec *time);         /* as ns; FOREVER if it is too large */
int64_t lab_ns_of(const struct timeval *time);
struct timespec lab_timespec(int64_t ns);
struct timespec lab_real(clockid_t clock);           /* the kernel's clock */

/* --- wait.c ------------------------------------------------------------------------------------------------- */

enum wait_kind { /* sent to the lab, which says it to people: only add at the end */
    WAIT_SLEEP = 1,
    WAIT_DESCRIPTORS,
    WAIT_READ,
    WAIT_WRITE,
    WAIT_ACCEPT,
    WAIT_CONNECT,
    WAIT_CONDITION,
    WAIT_SEMAPHORE,
    WAIT_MUTEX,
    WAIT_JOIN,
    WAIT_SIGNAL,
    WAIT_CHILD,
    WAIT_FUTEX,
    WAIT_TIMERS,
    WAIT_START,
    WAIT_LOOK, /* for what the platform does with what was sent, before a look at a descriptor that may not wait */
};

enum outcome { INTERRUPTED = -1, TIMEOUT = 0, READY = 1, LAB_GONE = 2 };

struct wait {
    enum wait_kind kind;
    int fd;               /* for messages to people; 0: none or several */
    int64_t until;        /* lab time */
    bool (*ready)(void *); /* NULL: nothing but time, or a signal, ends the wait */
    void *of;
    const sigset_t *mask; /* as ppoll has it; NULL: the thread's own */
    bool restarts;        /* goes on after a handler with SA_RESTART */
    bool deaf;            /* goes on after any handler */
    bool outside;         /* readiness depends on what others send: not looked at before the platform has settled */
    bool uncancelled;     /* no cancellation point */
    bool last;            /* goes on only after all others were asked */
    int64_t interrupted;  /* result: the lab time at which a handler ran, 0: none */
};

enum outcome lab_wait(struct wait *wait);
void lab_wait_start(void); /* until the lab asks: processes and threads begin one at a time */
void lab_yield(void);      /* lets other threads of the process run */
void lab_sent(void); /* something left the process that others may answer */
bool lab_dirty(void); /* it did, and the platform has not settled since */
void lab_settle(int fd); /* waits until it has */
void lab_no_delay(int fd); /* a TCP socket sends at once */

struct message {
    uint32_t kind, number;
    int64_t when, detail, other;
};

int lab_connection(uint32_t thread); /* a new one, greeted; thread 0: the process' own. -1: none */
bool lab_say(int connection, uint32_t kind, uint32_t number, int64_t when, int64_t detail, int64_t other);
void lab_thread_number(uint32_t number); /* of the calling thread, before its first wait */
uint32_t lab_next_thread(void);
uint32_t lab_this_thread(void);
uint32_t lab_process(void); /* sets apart the chance of a process and its children */
void lab_greet_process(void);
void lab_before_fork(void);
void lab_in_parent(void);
void lab_in_child(void);

/* --- signals.c ---------------------------------------------------------------------------------------------- */

struct handled {
    unsigned all, restarting; /* how often handlers ran in this thread; those with SA_RESTART */
};
struct handled lab_handled(void);
int64_t *lab_note(int64_t *at); /* where the lab time of the next handler goes; returns where it went before */

/* --- waiters.c: threads that wait for a word of another thread of the process ---------------------------------- */

/* A lock of the library's own: no signal's handler comes in while a thread holds it. */
struct lock {
    _Atomic int taken;
};
void lab_lock(struct lock *lock, sigset_t *before);
void lab_unlock(struct lock *lock, const sigset_t *before);

struct waiter {
    const void *at; /* what it waits for, in the order of their waits */
    _Atomic uint32_t woken;
    struct waiter *next;
};
void lab_waiter_add(struct waiter *waiter, const void *at);
bool lab_waiter_remove(struct waiter *waiter); /* whether it was woken */
int lab_wake(const void *at, int count);       /* returns how many */
bool lab_is_woken(void *waiter);
/* Threads that were woken, or made, and that have not run since. */
extern _Atomic int lab_pending;
void lab_waiters_forked(void);
/* Once the lab has gone, for a wait that began before (`was_on`) or after: whether it was woken in time. */
bool lab_woken_for_real(struct waiter *waiter, int64_t until, bool was_on);

/* outside of the order */
int lab_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with);

/* --- others ------------------------------------------------------------------------------------------------- */

void lab_random(void *at, size_t size); /* chance.c */
bool lab_random_file(int fd);           /* an open /dev/urandom */
void lab_keep_environment(void);        /* processes.c */
void lab_timers_forked(void);           /* timers.c */
void lab_closed(int fd);                /* forget what is known of a descriptor's number */

#endif
