/* Handlers of signals. A wait has to know whether one ran, and whether with SA_RESTART: each runs inside of one here.

By POSIX a wait for time or for descriptors ends with EINTR after any handler, and a read goes on after one with
SA_RESTART. */
#include "lab.h"

REAL(sigaction)
REAL(signal)

#define SIGNALS 65
static struct {
    _Atomic(void *) handler; /* the program's, while ours is with the kernel */
    _Atomic bool restarting;
} handlers[SIGNALS];

static __thread struct handled handled;

struct handled lab_handled(void) { return handled; }

static __thread int64_t *noting;

int64_t *lab_note(int64_t *at) {
    int64_t *before = noting;
    noting = at;
    return before;
}

static void run(int signal, siginfo_t *info, void *context) {
    void *handler = atomic_load(&handlers[signal].handler);
    int64_t *at = lab_note(NULL); /* waits of the handler itself are others */
    if (at && !*at) *at = lab_now();
    handled.all++;
    handled.restarting += atomic_load(&handlers[signal].restarting);
    /* A handler of one argument ignores the others, which the calling conventions of both machines allow. */
    if (handler) ((void (*)(int, siginfo_t *, void *))handler)(signal, info, context);
    lab_note(at);
}

static bool own(const struct sigaction *action) { return action->sa_sigaction == run; }

EXPORT int sigaction(int signal, const struct sigaction *restrict new, struct sigaction *restrict old) {
    if (!lab_started() || signal < 1 || signal >= SIGNALS) return real_sigaction()(signal, new, old);
    void *before = atomic_load(&handlers[signal].handler);
    struct sigaction action, current;
    const struct sigaction *set = new;
    bool handles = new && new->sa_handler != SIG_DFL && new->sa_handler != SIG_IGN;
    if (handles && !own(new)) {
        action = *new;
        action.sa_sigaction = run;
        set = &action;
        /* first: the signal may come as soon as the kernel has the new action */
        atomic_store(&handlers[signal].handler, (void *)new->sa_sigaction);
        atomic_store(&handlers[signal].restarting, !!(new->sa_flags & SA_RESTART));
    }
    int result = real_sigaction()(signal, set, &current);
    if (result && handles) atomic_store(&handlers[signal].handler, before);
    if (result || !old) return result;
    *old = current;
    if (own(old)) old->sa_sigaction = (void (*)(int, siginfo_t *, void *))before;
    return 0;
}
ALIAS(int, __sigaction, sigaction,
      (int signal, const struct sigaction *restrict new, struct sigaction *restrict old))

static sighandler_t set(int signal, sighandler_t handler, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    sigemptyset(&action.sa_mask);
    if (flags & SA_RESTART) sigaddset(&action.sa_mask, signal);
    return sigaction(signal, &action, &old) ? SIG_ERR : old.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
    return lab_started() ? set(number, handler, SA_RESTART) : real_signal()(number, handler);
}
ALIAS(sighandler_t, bsd_signal, signal, (int number, sighandler_t handler))
ALIAS(sighandler_t, ssignal, signal, (int number, sighandler_t handler))

/* What signal() means to a program compiled as strict X/Open. */
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler) {
    return set(number, handler, SA_RESETHAND | SA_NODEFER);
}
ALIAS(sighandler_t, sysv_signal, __sysv_signal, (int number, sighandler_t handler))

EXPORT int siginterrupt(int number, int interrupts) {
    struct sigaction action;
    if (sigaction(number, NULL, &action)) return -1;
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return sigaction(number, &action, NULL);
}
