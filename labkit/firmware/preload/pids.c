/* Process ids of the program's own, in a PID namespace whose first one is drawn from the seed.

The system's ids differ from run to run, and programs print them and take chance from them. To replace getpid() would
not do: kill, files of ids and owners of locks would have others.

The process that the lab started only waits, and ends as the program does. Its child is process 1 of the namespace,
which reaps orphans; when it ends, with the program, so do all that are left. The program is the child of process 1.
Where the system forbids namespaces, the process that the lab started is the program. */
#include "lab.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define LEAST 1000 /* of the first id: below the usual limit of 32768 with room for those that follow */
#define RANGE 30000

static struct ending {
    bool begun; /* the program */
    int status;
} *ending; /* shared by the three processes */

static bool put(const char *path, const char *form, ...) {
    char text[64];
    va_list list;
    va_start(list, form);
    int length = vsnprintf(text, sizeof text, form, list);
    va_end(list);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, (size_t)length) == length;
    if (fd >= 0) close(fd);
    return done;
}

static int ended(pid_t which, pid_t until) {
    int status = SIGKILL;
    pid_t found;
    do found = (pid_t)lab_syscall(SYS_wait4, which, &status, 0, NULL);
    while (found != until && (found > 0 || errno == EINTR));
    return status;
}

/* Process 1. Returns in the program. */
static void begin_namespace(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Later mounts of the system arrive here, and none of here leaves. */
    if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        _exit(0);
    const char *seed = lab_seed();
    /* Without this file (CONFIG_CHECKPOINT_RESTORE) the first one is 2, in each run. */
    if (seed) put("/proc/sys/kernel/ns_last_pid", "%llu", LEAST + strtoull(seed, NULL, 10) % RANGE);
    ending->begun = true;
    pid_t program = fork();
    if (program) {
        ending->status = program < 0 ? SIGKILL : ended(-1, program);
        _exit(0);
    }
    setsid(); /* as the process that the lab started: kill(0, …) reaches the program's own alone */
}

static void map_user(uid_t user, gid_t group) {
    if (!put("/proc/self/setgroups", "deny") || !put("/proc/self/uid_map", "%u %u 1", user, user) ||
        !put("/proc/self/gid_map", "%u %u 1", group, group))
        _exit(0);
}

static void drop_capabilities(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    lab_syscall(SYS_capset, &head, none);
}

static void end_as(int status) {
    int signal = status & 0x7f;
    if (!signal) _exit(status >> 8 & 0xff);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program has left its own */
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), signal);
    _exit(128 + signal);
}

void lab_own_pids(void) {
    struct stat tasks;
    if (stat("/proc/self/task", &tasks) || tasks.st_nlink != 3) return; /* a fork would lose the other threads */
    ending = mmap(NULL, sizeof *ending, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ending == MAP_FAILED) return;
    uid_t user = geteuid();
    gid_t group = getegid();
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    prctl(PR_SET_NAME, "labkit"); /* who signals programs by name means the program */
    long spaces = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
    /* A user's namespace is for those who lack the right to others; root would lose the right to others' files. */
    bool mapped = user;
    if (mapped) spaces |= CLONE_NEWUSER;
    long init = lab_syscall(SYS_clone, spaces, NULL, NULL, NULL, NULL);
    if (!init) {
        if (mapped) map_user(user, group);
        begin_namespace();
        if (mapped) drop_capabilities();
    } else if (init > 0) {
        ended((pid_t)init, (pid_t)init);
        if (ending->begun) end_as(ending->status);
    }
    prctl(PR_SET_NAME, name);
    munmap(ending, sizeof *ending);
}
