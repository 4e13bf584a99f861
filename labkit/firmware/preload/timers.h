/* What the kinds of timers share: one table, and a thread of the library's own that serves it. */
#ifndef LABKIT_TIMERS_H
#define LABKIT_TIMERS_H

#include "lab.h"

struct timer {
    bool used;
    int64_t next, interval; /* lab time at which it fires, FOREVER: never; and then every so many ns, 0: once */
    int64_t overrun;        /* how often it fired beyond once, as timer_getoverrun has it */
    clockid_t clock;
    int fd;                     /* of a timerfd, -1: none */
    bool alarm;                 /* of setitimer and alarm */
    struct sigevent event;      /* of timer_create */
    void (*notify)(union sigval);
};

/* These hold the table between them; nothing in between may wait. */
void lab_timers_lock(sigset_t *before);
void lab_timers_unlock(const sigset_t *before);
struct timer *lab_timer_new(void);      /* NULL: the table is full */
struct timer *lab_timer_at(size_t index);
size_t lab_timer_index(const struct timer *timer);
/* Sets what a structure of the kernel says, and tells the lab of the earliest timer; call it with the table held. */
void lab_timer_set(struct timer *timer, const struct itimerspec *new, bool absolute);
struct itimerspec lab_timer_left(const struct timer *timer);
void lab_timer_end(struct timer *timer);
bool lab_timer_valid(const struct itimerspec *new);

#endif
