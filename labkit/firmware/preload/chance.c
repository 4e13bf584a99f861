/* Chance from the lab's seed: a stream for each thread of each process, the same in each run. */
#include "lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>

REAL(getrandom)
REAL(getentropy)
REAL(open)
REAL(openat)
REAL(fopen)

#define ODD UINT64_C(0x9E3779B97F4A7C15)

static __thread struct {
    uint64_t state;
    uint32_t process;
    bool begun;
} stream;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t seed_of(const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, so that any text is a seed */
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static bool seeded(void) { return lab_on() && lab_seed(); }

void lab_random(void *into, size_t size) {
    unsigned char *at = into;
    if (!stream.begun || stream.process != lab_process()) {
        uint64_t place = (uint64_t)lab_process() << 32 | lab_this_thread();
        stream.state = mix(seed_of(lab_seed()) + mix(place * ODD));
        stream.process = lab_process();
        stream.begun = true;
    }
    while (size) {
        uint64_t value = mix(stream.state += ODD);
        size_t part = size < sizeof value ? size : sizeof value;
        memcpy(at, &value, part);
        at += part;
        size -= part;
    }
}

EXPORT ssize_t getrandom(void *into, size_t size, unsigned flags) {
    if (!seeded()) return real_getrandom()(into, size, flags);
    lab_random(into, size);
    return (ssize_t)size;
}

EXPORT int getentropy(void *into, size_t size) {
    if (!seeded()) return real_getentropy()(into, size);
    if (size > 256) {
        errno = EIO;
        return -1;
    }
    lab_random(into, size);
    return 0;
}

static void fill(void *into, size_t size) {
    char *at = into;
    while (size) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0) continue;
        at += got;
        size -= (size_t)got;
    }
}

/* In glibc from 2.36 on; what they draw from the kernel comes from the seed here. */
EXPORT void arc4random_buf(void *into, size_t size) { fill(into, size); }
EXPORT uint32_t arc4random(void) {
    uint32_t value;
    fill(&value, sizeof value);
    return value;
}
EXPORT uint32_t arc4random_uniform(uint32_t bound) {
    if (bound < 2) return 0;
    /* below it, values of the last, incomplete round would come up more often */
    uint32_t least = -bound % bound, value;
    do value = arc4random();
    while (value < least);
    return value % bound;
}

/* --- /dev/urandom: read() draws from the seed; the file behind it is for others who look at the descriptor --- */

#define HIGHEST 65536
static _Atomic uint64_t files[HIGHEST / 64];

bool lab_random_file(int fd) {
    return fd >= 0 && fd < HIGHEST && atomic_load_explicit(&files[fd / 64], memory_order_relaxed) >> fd % 64 & 1 &&
           seeded();
}

void lab_random_closed(int fd) {
    if (lab_random_file(fd)) atomic_fetch_and(&files[fd / 64], ~(UINT64_C(1) << fd % 64));
}

static bool is_random(const char *path) {
    return (!strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random")) && seeded();
}

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < HIGHEST && is_random(path)) atomic_fetch_or(&files[fd / 64], UINT64_C(1) << fd % 64);
    return fd;
}

#define MODE(flags, last)                                     \
    mode_t mode = 0;                                          \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list list;                                         \
        va_start(list, last);                                 \
        mode = va_arg(list, mode_t);                          \
        va_end(list);                                         \
    }

EXPORT int open(const char *path, int flags, ...) {
    MODE(flags, flags)
    return opened(real_open()(path, flags, mode), path);
}
EXPORT int openat(int folder, const char *path, int flags, ...) {
    MODE(flags, flags)
    return opened(real_openat()(folder, path, flags, mode), path);
}
EXPORT int __open_2(const char *path, int flags) { return open(path, flags); }
EXPORT int __openat_2(int folder, const char *path, int flags) { return openat(folder, path, flags); }
ALIAS(int, open64, open, (const char *path, int flags, ...))
ALIAS(int, __open, open, (const char *path, int flags, ...))
ALIAS(int, __open64, open, (const char *path, int flags, ...))
ALIAS(int, openat64, openat, (int folder, const char *path, int flags, ...))
ALIAS(int, __open64_2, __open_2, (const char *path, int flags))
ALIAS(int, __openat64_2, __openat_2, (int folder, const char *path, int flags))

/* stdio reads without calling read(), so a stream on /dev/urandom is one of the library's own. */
static ssize_t draw(void *cookie, char *into, size_t size) {
    (void)cookie;
    lab_random(into, size);
    return (ssize_t)size;
}

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
    if (!is_random(path) || mode[0] != 'r') return real_fopen()(path, mode);
    return fopencookie(NULL, "r", (cookie_io_functions_t){.read = draw});
}
ALIAS(FILE *, fopen64, fopen, (const char *restrict path, const char *restrict mode))
