/* Timers of the process: their table, and the thread that serves it.

The thread waits for lab time like any other, on a connection of its own; so a timer fires also while no thread of the
program says anything. Whoever sets a timer declares the thread's wait anew, before it goes on. */
#include "timers.h"

#include <linux/futex.h>
#include <stdio.h>

REAL(recv)

#define MOST 4096
#define THREAD 1000000 /* the number of the thread: asked after all others */

static struct timer table[MOST];
static size_t used; /* entries from here on were never used */
static struct lock lock;
static _Atomic uint32_t begun; /* 0: no thread, 1: it begins, 2: it serves */
static int connection = -1;
static uint32_t number;
static int64_t declared = FOREVER;

void lab_timers_lock(sigset_t *before) { lab_lock(&lock, before); }
void lab_timers_unlock(const sigset_t *before) { lab_unlock(&lock, before); }
struct timer *lab_timer_at(size_t index) { return index < used && table[index].used ? &table[index] : NULL; }
size_t lab_timer_index(const struct timer *timer) { return (size_t)(timer - table); }

struct timer *lab_timer_new(void) {
    for (size_t i = 0; i < MOST; i++) {
        if (table[i].used) continue;
        if (i >= used) used = i + 1;
        table[i] = (struct timer){.used = true, .next = FOREVER, .fd = -1};
        return &table[i];
    }
    return NULL;
}

bool lab_timer_valid(const struct itimerspec *new) { return lab_valid(&new->it_value) && lab_valid(&new->it_interval); }

/* --- firing --- */

static void raise_signal(const struct timer *timer) {
    union sigval value = timer->event.sigev_value;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = timer->event.sigev_signo;
    info.si_code = SI_TIMER;
    info.si_timerid = (int)lab_timer_index(timer);
    info.si_overrun = timer->overrun > INT_MAX ? INT_MAX : (int)timer->overrun;
    info.si_value = value;
    if (timer->event.sigev_notify == SIGEV_THREAD_ID)
        lab_syscall(SYS_rt_tgsigqueueinfo, getpid(), timer->event._sigev_un._tid, info.si_signo, &info);
    else
        lab_syscall(SYS_rt_sigqueueinfo, getpid(), info.si_signo, &info);
}

struct call {
    void (*notify)(union sigval);
    union sigval value;
};

static void *notifies(void *of) {
    struct call call = *(struct call *)of;
    free(of);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    call.notify(call.value);
    return NULL;
}

static void start_thread(const struct timer *timer) {
    struct call *call = malloc(sizeof *call);
    pthread_attr_t how;
    pthread_t thread;
    if (!call) return;
    *call = (struct call){timer->notify, timer->event.sigev_value};
    pthread_attr_init(&how);
    pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &how, notifies, call)) free(call);
    pthread_attr_destroy(&how);
}

static void fire(struct timer *timer, int64_t now) {
    uint64_t times = 1;
    if (timer->interval) times += (uint64_t)((now - timer->next) / timer->interval);
    timer->next = timer->interval ? timer->next + (int64_t)times * timer->interval : FOREVER;
    timer->overrun = (int64_t)times - 1;
    if (timer->fd >= 0) lab_syscall(SYS_write, timer->fd, &times, sizeof times);
    else if (timer->alarm) lab_syscall(SYS_kill, getpid(), SIGALRM);
    else if (timer->event.sigev_notify == SIGEV_THREAD) start_thread(timer);
    else if (timer->event.sigev_notify != SIGEV_NONE) raise_signal(timer);
}

static struct timer *earliest(void) {
    struct timer *first = NULL;
    for (size_t i = 0; i < used; i++)
        if (table[i].used && table[i].next != FOREVER && (!first || table[i].next < first->next)) first = &table[i];
    return first;
}

static void declare(void) {
    struct timer *first = earliest();
    declared = first ? first->next : FOREVER;
    lab_say(connection, 'W', ++number, declared, WAIT_TIMERS, 0);
}

/* --- the thread --- */

static void *serves(void *of) {
    (void)of;
    struct message message;
    sigset_t before;
    connection = lab_connection(THREAD);
    /* Whoever has set the first timer declares the wait, once it runs again: if it were declared here, all would seem
       to wait meanwhile, and lab time could move. */
    atomic_store(&begun, 2);
    lab_syscall(SYS_futex, &begun, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    while (real_recv()(connection, &message, sizeof message, 0) == sizeof message) {
        lab_timers_lock(&before);
        if (message.number == number && message.kind == 'P') lab_say(connection, 'S', number, 0, 0, 0);
        if (message.number == number && message.kind == 'T') {
            int64_t now = lab_now();
            for (struct timer *first = earliest(); first && first->next <= now; first = earliest()) fire(first, now);
            declare();
        }
        lab_timers_unlock(&before);
    }
    lab_gone(); /* a timer of lab time has none to wait for */
    return NULL;
}

/* Before the table is held: the thread is there, with its connection, once this returns. */
static void begin(void) {
    uint32_t none = 0;
    pthread_attr_t how;
    pthread_t thread;
    sigset_t all, before;
    if (atomic_load(&begun) == 2) return;
    if (atomic_compare_exchange_strong(&begun, &none, 1)) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_init(&how);
        pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
        if (lab_create(&thread, &how, serves, NULL)) atomic_store(&begun, 0);
        pthread_attr_destroy(&how);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    while (atomic_load(&begun) == 1) lab_syscall(SYS_futex, &begun, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

void lab_timer_set(struct timer *timer, const struct itimerspec *new, bool absolute) {
    int64_t value = lab_ns(&new->it_value);
    timer->next = !value ? FOREVER : absolute ? lab_at(timer->clock, value) : lab_in(value);
    timer->interval = lab_ns(&new->it_interval);
    timer->overrun = 0;
    if (timer->next != FOREVER) begin();
    struct timer *first = earliest();
    if (atomic_load(&begun) == 2 && declared != (first ? first->next : FOREVER)) declare();
}

struct itimerspec lab_timer_left(const struct timer *timer) {
    struct itimerspec left = {lab_timespec(timer->interval), {0, 0}};
    if (timer->next == FOREVER) return left;
    int64_t ns = timer->next - lab_now();
    left.it_value = lab_timespec(ns > 0 ? ns : 1); /* 0 would mean that it is not set */
    return left;
}

void lab_timer_end(struct timer *timer) {
    static const struct itimerspec never;
    lab_timer_set(timer, &never, false);
    timer->used = false;
}

/* A child has no timers of its parent; what it does with a timerfd, it and the parent share in the kernel. */
void lab_timers_forked(void) {
    for (size_t i = 0; i < used; i++) {
        table[i].next = FOREVER;
        if (table[i].fd < 0) table[i].used = false;
    }
    lock = (struct lock){0};
    atomic_store(&begun, 0);
    connection = -1, number = 0, declared = FOREVER;
}
