/* Processes: a forked child is on lab time by a greeting of its own, and what a program executes by the environment. */
#include "lab.h"

REAL(fork)

static _Atomic uint32_t children;

EXPORT pid_t fork(void) {
    if (!lab_on()) return real_fork()();
    uint32_t child = atomic_fetch_add(&children, 1) + 1; /* in the parent: its order is the same in each run */
    pid_t pid = real_fork()();
    if (pid) return pid;
    atomic_store(&children, 0);
    lab_forked(child);
    return 0;
}
ALIAS(pid_t, __fork, fork, (void))
