/* Threads begin one at a time, in the order in which they were made, and have numbers that are the same in each run. */
#include "lab.h"

#include <threads.h>

REAL(pthread_create)
REAL(thrd_create)

struct beginning {
    void *(*run)(void *);
    thrd_start_t run11;
    void *with;
    uint32_t number;
};

static struct beginning *prepare(void *with) {
    struct beginning *beginning = malloc(sizeof *beginning);
    if (!beginning) return NULL;
    *beginning = (struct beginning){NULL, NULL, with, lab_next_thread()};
    atomic_fetch_add(&lab_pending, 1);
    return beginning;
}

static void failed(struct beginning *beginning) {
    atomic_fetch_sub(&lab_pending, 1);
    free(beginning);
}

static struct beginning begin(void *of) {
    struct beginning beginning = *(struct beginning *)of;
    free(of);
    lab_thread_number(beginning.number);
    lab_wait_start();
    atomic_fetch_sub(&lab_pending, 1);
    return beginning;
}

static void *runs(void *of) {
    struct beginning beginning = begin(of);
    return beginning.run(beginning.with);
}

static int runs11(void *of) {
    struct beginning beginning = begin(of);
    return beginning.run11(beginning.with);
}

int lab_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
    return real_pthread_create()(thread, how, run, with);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict how, void *(*run)(void *),
                          void *restrict with) {
    if (!lab_on()) return real_pthread_create()(thread, how, run, with);
    struct beginning *beginning = prepare(with);
    if (!beginning) return EAGAIN;
    beginning->run = run;
    int error = real_pthread_create()(thread, how, runs, beginning);
    if (error) failed(beginning);
    return error;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *with) {
    struct beginning *beginning = lab_on() ? prepare(with) : NULL;
    if (!beginning) return real_thrd_create()(thread, run, with);
    beginning->run11 = run;
    int error = real_thrd_create()(thread, runs11, beginning);
    if (error != thrd_success) failed(beginning);
    return error;
}

EXPORT int thrd_join(thrd_t thread, int *value) {
    void *result = NULL;
    if (pthread_join(thread, &result)) return thrd_error;
    if (value) *value = (int)(intptr_t)result;
    return thrd_success;
}
