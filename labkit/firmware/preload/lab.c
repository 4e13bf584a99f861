/* Start: the page with lab time, the environment, and the descriptors of the library's own. */
#include "lab.h"

#include <stdio.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

REAL(syscall)
REAL(fcntl)
REAL(close)
REAL(open)

enum { UNKNOWN, STARTING, ON, OFF };

struct page *lab_page;
static _Atomic uint64_t no_reads;
_Atomic(uint64_t) *lab_clock_reads = &no_reads;

static _Atomic int state;
static _Atomic bool gone;
static _Atomic int64_t offset;
static char folder[PATH_MAX];
static char seed[64];

long lab_call(long number, long a, long b, long c, long d, long e, long f) {
    return real_syscall()(number, a, b, c, d, e, f);
}

const char *lab_folder(void) { return folder; }
const char *lab_seed(void) { return seed[0] ? seed : NULL; }

bool lab_path(char *into, size_t size, const char *name) {
    int length = snprintf(into, size, "%s/%s", folder, name);
    return length > 0 && (size_t)length < size;
}

static void *map(const char *path, int flags, int protection) {
    int fd = real_open()(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    void *at = MAP_FAILED;
    if (!(flags & O_CREAT) || !ftruncate(fd, 4096)) at = mmap(NULL, 4096, protection, MAP_SHARED, fd, 0);
    real_close()(fd);
    return at == MAP_FAILED ? NULL : at;
}

/* The process' own page: of a thread that never waits, the lab sees at least how often it asks the time. */
static void open_own_page(void) {
    char path[PATH_MAX], name[32];
    snprintf(name, sizeof name, "reads.%d", (int)getpid());
    void *at = lab_path(path, sizeof path, name) ? map(path, O_RDWR | O_CREAT, PROT_READ | PROT_WRITE) : NULL;
    lab_clock_reads = at ? at : &no_reads;
}

static void begin(void) {
    int now = UNKNOWN;
    /* Other libraries' constructors may have run before this library's, so any call may be the first. */
    if (!atomic_compare_exchange_strong(&state, &now, STARTING)) return;
    int before = errno;
    const char *where = getenv("LABKIT_FIRMWARE"), *chance = getenv("LABKIT_FIRMWARE_SEED");
    char path[PATH_MAX];
    if (where && where[0] && strlen(where) < sizeof folder) {
        strcpy(folder, where);
        if (chance && strlen(chance) < sizeof seed) strcpy(seed, chance);
        if (lab_path(path, sizeof path, "page")) lab_page = map(path, O_RDONLY, PROT_READ);
    }
    if (lab_page && lab_page->lab == getppid()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* else it would outlive a lab that was killed, in real time and alone */
        lab_own_pids();
    }
    if (lab_page) {
        open_own_page();
        lab_keep_environment();
    }
    atomic_store(&state, lab_page ? ON : OFF);
    if (lab_page) lab_greet_process();
    errno = before;
}

bool lab_started(void) {
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == UNKNOWN) {
        begin();
        now = atomic_load_explicit(&state, memory_order_acquire);
    }
    return now == ON;
}

bool lab_on(void) { return lab_started() && !atomic_load_explicit(&gone, memory_order_relaxed); }

int64_t lab_offset(void) { return atomic_load(&offset); }

void lab_gone(void) {
    struct timespec real = lab_real(CLOCK_MONOTONIC);
    /* A clock that never goes back must not do so now, either: it goes on from what it showed. */
    int64_t expected = 0;
    atomic_compare_exchange_strong(&offset, &expected, lab_ns(&real) - lab_clock_now(CLOCK_MONOTONIC));
    atomic_store(&gone, true);
}

__attribute__((constructor)) static void start(void) {
    if (!lab_started()) return;
    setvbuf(stdout, NULL, _IOLBF, 0); /* else a pipe gets lines late, and all of them at one lab time */
    lab_wait_start();
}

/* --- descriptors of the library's own ------------------------------------------------------------------------ */

#define HIGHEST 65536
static _Atomic uint64_t owned[HIGHEST / 64];

bool lab_owns(int fd) {
    if (fd < 0 || fd >= HIGHEST) return false;
    return atomic_load_explicit(&owned[fd / 64], memory_order_relaxed) >> fd % 64 & 1;
}

static void mark(int fd, bool ours) {
    uint64_t bit = UINT64_C(1) << fd % 64;
    if (ours) atomic_fetch_or(&owned[fd / 64], bit);
    else atomic_fetch_and(&owned[fd / 64], ~bit);
}

/* Numbers high up leave the program those that it would have without this library. */
static int lowest(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 6000) return 4000;
    return (int)limit.rlim_cur * 2 / 3;
}

int lab_keep(int fd) {
    int up = real_fcntl()(fd, F_DUPFD_CLOEXEC, lowest());
    if (up < 0 || up >= HIGHEST) {
        if (up >= 0) real_close()(up);
        up = fd;
    } else {
        real_close()(fd);
    }
    if (up < HIGHEST) mark(up, true);
    return up;
}

void lab_release(int fd) {
    if (lab_owns(fd)) mark(fd, false);
    real_close()(fd);
}

void lab_move(int fd) { mark(fd, false); } /* its thread notices with the next wait, and opens another */

int lab_next_owned(int from) {
    for (int fd = from < 0 ? 0 : from; fd < HIGHEST; fd++) {
        if (fd % 64 == 0 && !atomic_load(&owned[fd / 64])) fd += 63;
        else if (lab_owns(fd)) return fd;
    }
    return -1;
}

void lab_release_all(void) {
    for (int fd = lab_next_owned(0); fd >= 0; fd = lab_next_owned(fd + 1)) lab_release(fd);
    if (lab_page) open_own_page();
}
