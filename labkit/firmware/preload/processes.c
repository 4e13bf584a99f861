/* Programs that a program executes stay on lab time, also with an environment of their own; waits for children. */
#include "lab.h"

#include <alloca.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

REAL(execve)
REAL(execvpe)
REAL(fexecve)
REAL(execveat)
REAL(posix_spawn)
REAL(posix_spawnp)
pid_t _Fork(void); /* from glibc 2.34 on */
REAL(_Fork)
REAL(waitpid)
REAL(wait4)
REAL(waitid)

extern char **environ;

/* --- environment: on the stack alone, since the child of vfork may not touch the heap that it shares --- */

#define VARIABLES 3
static const char *const kept[VARIABLES] = {"LD_PRELOAD", "LABKIT_FIRMWARE", "LABKIT_FIRMWARE_SEED"};
static char values[VARIABLES][PATH_MAX + 64]; /* `NAME=value`, or empty */

void lab_keep_environment(void) {
    for (int i = 0; i < VARIABLES; i++) {
        const char *value = getenv(kept[i]);
        int length = value ? snprintf(values[i], sizeof values[i], "%s=%s", kept[i], value) : 0;
        if (length >= (int)sizeof values[i]) values[i][0] = 0;
    }
}

static char *const *find(char *const *list, const char *name) {
    size_t length = strlen(name);
    for (; list && *list; list++)
        if (!strncmp(*list, name, length) && (*list)[length] == '=') return list;
    return NULL;
}

static size_t count(char *const *list) {
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

static size_t room(char *const *list) {
    char *const *theirs = find(list, kept[0]);
    return (count(list) + VARIABLES + 1) * sizeof(char *) + (theirs ? strlen(*theirs) : 0) + sizeof values[0] + 2;
}

/* Copies the list into `into`, of room() bytes, with the variables that are missing there. */
static char **complete(char *const *list, void *into) {
    char **result = into;
    size_t n = count(list);
    char *text = (char *)(result + n + VARIABLES + 1);
    if (n) memcpy(result, list, n * sizeof *result);
    for (int i = 0; i < VARIABLES && lab_on(); i++) {
        if (!values[i][0]) continue;
        char *const *theirs = find(list, kept[i]);
        const char *value = values[i] + strlen(kept[i]) + 1;
        if (!theirs) {
            result[n++] = values[i];
        } else if (i == 0 && !strstr(*theirs, value)) { /* a program that preloads a library itself keeps both */
            sprintf(text, "%s:%s", values[i], *theirs + strlen(kept[i]) + 1);
            result[theirs - list] = text;
        }
    }
    result[n] = NULL;
    return result;
}

#define COMPLETE(list) complete(list, alloca(room(list)))

EXPORT int execve(const char *path, char *const arguments[], char *const variables[]) {
    return real_execve()(path, arguments, COMPLETE(variables));
}
EXPORT int execv(const char *path, char *const arguments[]) { return execve(path, arguments, environ); }
EXPORT int execvpe(const char *file, char *const arguments[], char *const variables[]) {
    return real_execvpe()(file, arguments, COMPLETE(variables));
}
EXPORT int execvp(const char *file, char *const arguments[]) { return execvpe(file, arguments, environ); }
EXPORT int fexecve(int fd, char *const arguments[], char *const variables[]) {
    return real_fexecve()(fd, arguments, COMPLETE(variables));
}
EXPORT int execveat(int folder, const char *path, char *const arguments[], char *const variables[], int flags) {
    return real_execveat()(folder, path, arguments, COMPLETE(variables), flags);
}

/* Reads the rest of the arguments into `list`, which is ended by NULL. */
#define ARGUMENTS(first)                                              \
    va_list rest, copy;                                               \
    va_start(rest, first);                                            \
    va_copy(copy, rest);                                              \
    size_t n = 1;                                                     \
    while (va_arg(copy, char *)) n++;                                 \
    va_end(copy);                                                     \
    char **list = alloca((n + 1) * sizeof *list);                     \
    list[0] = (char *)first;                                          \
    for (size_t i = 1; i <= n; i++) list[i] = va_arg(rest, char *);

EXPORT int execl(const char *path, const char *first, ...) {
    ARGUMENTS(first)
    va_end(rest);
    return execv(path, list);
}
EXPORT int execlp(const char *file, const char *first, ...) {
    ARGUMENTS(first)
    va_end(rest);
    return execvp(file, list);
}
EXPORT int execle(const char *path, const char *first, ...) {
    ARGUMENTS(first)
    char *const *variables = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, list, variables);
}

EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
    const posix_spawn_file_actions_t *restrict actions,
                       const posix_spawnattr_t *restrict how, char *const arguments[restrict],
                       char *const variables[restrict]) {
    return real_posix_spawn()(pid, path, actions, how, arguments, COMPLETE(variables));
}
EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *how, char *const arguments[], char *const variables[]) {
    return real_posix_spawnp()(pid, file, actions, how, arguments, COMPLETE(variables));
}

/* --- children --- */

/* A fork without the handlers of pthread_atfork, for use in handlers of signals. */
EXPORT pid_t _Fork(void) {
    lab_before_fork();
    pid_t pid = real__Fork()();
    if (pid) lab_in_parent();
    else lab_in_child();
    return pid;
}

struct awaited {
    idtype_t type;
    id_t id;
    int options;
};

static bool has_changed(void *at) {
    struct awaited *awaited = at;
    siginfo_t info = {.si_pid = 0};
    return real_waitid()(awaited->type, awaited->id, &info, awaited->options | WNOHANG | WNOWAIT) || info.si_pid;
}

static bool interrupted(struct awaited *awaited) {
    struct wait wait = {.kind = WAIT_CHILD, .until = FOREVER, .ready = has_changed, .of = awaited, .restarts = true};
    return !(awaited->options & WNOHANG) && lab_wait(&wait) == INTERRUPTED;
}

static struct awaited awaited_by(pid_t pid, int options) {
    struct awaited awaited = {pid > 0 ? P_PID : pid == -1 ? P_ALL : P_PGID,
        (id_t)(pid < -1 ? -pid : pid == -1 ? 0 : pid),
                              WEXITED | (options & ~WUNTRACED) | (options & WUNTRACED ? WSTOPPED : 0)};
    if (pid == 0) awaited.id = (id_t)getpgrp();
    return awaited;
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options) {
    struct awaited awaited = awaited_by(pid, options);
    return lab_on() && interrupted(&awaited) ? -1 : real_waitpid()(pid, status, options);
}
EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *used) {
    struct awaited awaited = awaited_by(pid, options);
    return lab_on() && interrupted(&awaited) ? -1 : real_wait4()(pid, status, options, used);
}
EXPORT pid_t wait3(int *status, int options, struct rusage *used) { return wait4(-1, status, options, used); }
EXPORT pid_t wait(int *status) { return waitpid(-1, status, 0); }
ALIAS(pid_t, __wait, wait, (int *status))
ALIAS(pid_t, __waitpid, waitpid, (pid_t pid, int *status, int options))
EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    struct awaited awaited = {type, id, options};
    return lab_on() && interrupted(&awaited) ? -1 : real_waitid()(type, id, info, options);
}
