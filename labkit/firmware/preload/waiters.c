/* Threads that wait for a word of another thread of the process: for a condition, or at an address.

The other thread only notes its word. Whom it is for goes on when the lab asks, so that no two threads run at a time. */
#include "lab.h"

#include <linux/futex.h>
#include <sched.h>

void lab_lock(struct lock *lock, sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    while (atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire)) lab_syscall(SYS_sched_yield);
}

void lab_unlock(struct lock *lock, const sigset_t *before) {
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

_Atomic int lab_pending;

#define BUCKETS 64
static struct bucket {
    struct lock lock;
    struct waiter *first;
} buckets[BUCKETS];

static struct bucket *bucket_of(const void *at) { return &buckets[((uintptr_t)at >> 3) * 2654435761u % BUCKETS]; }

void lab_waiter_add(struct waiter *waiter, const void *at) {
    sigset_t before;
    struct bucket *bucket = bucket_of(at);
    waiter->at = at;
    waiter->next = NULL;
    atomic_store(&waiter->woken, 0);
    lab_lock(&bucket->lock, &before);
    struct waiter **last = &bucket->first;
    while (*last) last = &(*last)->next;
    *last = waiter;
    lab_unlock(&bucket->lock, &before);
}

bool lab_waiter_remove(struct waiter *waiter) {
    sigset_t before;
    struct bucket *bucket = bucket_of(waiter->at);
    lab_lock(&bucket->lock, &before);
    for (struct waiter **each = &bucket->first; *each; each = &(*each)->next) {
        if (*each == waiter) {
            *each = waiter->next;
            if (atomic_load(&waiter->woken)) atomic_fetch_sub(&lab_pending, 1);
            break;
        }
    }
    lab_unlock(&bucket->lock, &before);
    return atomic_load(&waiter->woken);
}

int lab_wake(const void *at, int count) {
    struct bucket *bucket = bucket_of(at);
    int woken = 0;
    sigset_t before;
    lab_lock(&bucket->lock, &before);
    for (struct waiter *each = bucket->first; each && woken < count; each = each->next) {
        if (each->at != at || atomic_load(&each->woken)) continue;
        atomic_store(&each->woken, 1);
        atomic_fetch_add(&lab_pending, 1);
        woken++;
        if (!lab_on()) lab_syscall(SYS_futex, &each->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    lab_unlock(&bucket->lock, &before);
    return woken;
}

bool lab_is_woken(void *waiter) { return atomic_load(&((struct waiter *)waiter)->woken); }

/* Only the thread that forked is there in the child. */
void lab_waiters_forked(void) {
    memset(buckets, 0, sizeof buckets);
    atomic_store(&lab_pending, 0);
}

bool lab_woken_for_real(struct waiter *waiter, int64_t until, bool was_on) {
    struct timespec left = {0, 0};
    while (!lab_is_woken(waiter)) {
        if (until != FOREVER) {
            int64_t ns = was_on ? 0 : until - lab_now(); /* a wait of lab time is over when the lab goes */
            if (ns <= 0) break;
            left = lab_timespec(ns);
        }
        lab_syscall(SYS_futex, &waiter->woken, FUTEX_WAIT_PRIVATE, 0, until == FOREVER ? NULL : &left, NULL, 0);
    }
    return lab_is_woken(waiter);
}
