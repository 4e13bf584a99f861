/* Clocks: all that show the time of day, or time since a start, show lab time. Times of files stay the kernel's. */
#include "lab.h"

#include <sys/sysinfo.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <sys/timex.h>

REAL(clock_gettime)
REAL(clock_settime)
REAL(clock_adjtime)
REAL(adjtimex)
REAL(settimeofday)
REAL(adjtime)
REAL(times)
REAL(sysinfo)

#define UPTIME (1000 * NS) /* what clocks since the start show when the lab begins */

int64_t lab_now(void) {
    if (lab_on()) return atomic_load_explicit(&lab_page->now, memory_order_acquire);
    struct timespec real = lab_real(CLOCK_REALTIME);
    return lab_ns(&real);
}

struct timespec lab_real(clockid_t clock) {
    struct timespec time = {0, 0};
    real_clock_gettime()(clock, &time);
    return time;
}

static bool of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_REALTIME_ALARM
        || clock == CLOCK_TAI;
}

bool lab_clock(clockid_t clock) {
    return of_day(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
           clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME || clock == CLOCK_BOOTTIME_ALARM;
}

int64_t lab_clock_now(clockid_t clock) {
    if (lab_on()) {
        int64_t now = atomic_load_explicit(&lab_page->now, memory_order_acquire);
        return of_day(clock) ? now : now - atomic_load_explicit(&lab_page->boot, memory_order_relaxed) + UPTIME;
    }
    struct timespec real = lab_real(of_day(clock) ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    return lab_ns(&real) - (of_day(clock) ? 0 : lab_offset());
}

static int64_t sum(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? (a > 0 ? FOREVER : INT64_MIN) : result;
}

int64_t lab_at(clockid_t clock, int64_t time) {
    return time == FOREVER ? FOREVER : sum(time, lab_now() - lab_clock_now(clock));
}

int64_t lab_in(int64_t duration) { return sum(lab_now(), duration); }

bool lab_valid(const struct timespec *time) {
    return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < NS;
}

int64_t lab_ns(const struct timespec *time) {
    if (time->tv_sec > FOREVER / NS - 1) return FOREVER;
    if (time->tv_sec < -(FOREVER / NS - 1)) return INT64_MIN;
    return time->tv_sec * NS + time->tv_nsec;
}

int64_t lab_ns_of(const struct timeval *time) {
    struct timespec spec = {time->tv_sec + time->tv_usec / 1000000, time->tv_usec % 1000000 * 1000};
    return lab_ns(&spec);
}

struct timespec lab_timespec(int64_t ns) { return (struct timespec){ns / NS, ns % NS}; }

static int64_t shown(clockid_t clock) {
    if (lab_on()) atomic_fetch_add_explicit(lab_clock_reads, 1, memory_order_relaxed);
    return lab_clock_now(clock);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!lab_started() || !lab_clock(clock)) return real_clock_gettime()(clock, time);
    *time = lab_timespec(shown(clock));
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now = lab_timespec(shown(CLOCK_REALTIME));
    struct timezone *of = zone;
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    if (of) *of = (struct timezone){0, 0};
    return 0;
}

EXPORT time_t time(time_t *into) {
    time_t now = shown(CLOCK_REALTIME) / NS;
    if (into) *into = now;
    return now;
}

EXPORT int timespec_get(struct timespec *time, int base) {
    if (base < 1 || base > 4) return 0;
    if (base > 2) return clock_gettime(base == 3 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, time) ? 0 : base;
    *time = lab_timespec(shown(base == TIME_UTC ? CLOCK_REALTIME : CLOCK_MONOTONIC));
    return base;
}

/* Its header calls it deprecated; programs of devices still use it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
EXPORT int ftime(struct timeb *time) {
    struct timespec now = lab_timespec(shown(CLOCK_REALTIME));
    *time = (struct timeb){.time = now.tv_sec, .millitm = (unsigned short)(now.tv_nsec / 1000000)};
    return 0;
}

EXPORT clock_t times(struct tms *used) {
    clock_t real = real_times()(used);
    return lab_started() ? (clock_t)(shown(CLOCK_MONOTONIC) / (NS / sysconf(_SC_CLK_TCK))) : real;
}

EXPORT int sysinfo(struct sysinfo *info) {
    int result = real_sysinfo()(info);
    if (!result && lab_started()) info->uptime = shown(CLOCK_BOOTTIME) / NS;
    return result;
}

/* Time is the lab's, and no program may set it: one that runs as root would set the machine's. */
static int refuse(void) {
    errno = EPERM;
    return -1;
}

EXPORT int clock_settime(clockid_t clock, const struct timespec *time) {
    return lab_started() ? refuse() : real_clock_settime()(clock, time);
}
EXPORT int settimeofday(const struct timeval *time, const struct timezone *zone) {
    return lab_started() ? refuse() : real_settimeofday()(time, zone);
}
EXPORT int adjtime(const struct timeval *by, struct timeval *before) {
    return lab_started() && by ? refuse() : real_adjtime()(by, before);
}

static int adjust(clockid_t clock, struct timex *values, bool named) {
    if (lab_started() && values->modes) return refuse();
    int result = named ? real_clock_adjtime()(clock, values) : real_adjtimex()(values);
    if (result < 0 || !lab_started()) return result;
    struct timespec now = lab_timespec(shown(clock));
    values->time = (struct timeval){now.tv_sec, values->status & STA_NANO ? now.tv_nsec : now.tv_nsec / 1000};
    return result;
}
EXPORT int adjtimex(struct timex *values) { return adjust(CLOCK_REALTIME, values, false); }
EXPORT int clock_adjtime(clockid_t clock, struct timex *values) { return adjust(clock, values, true); }
ALIAS(int, ntp_adjtime, adjtimex, (struct timex *values))
ALIAS(int, __adjtimex, adjtimex, (struct timex *values))
ALIAS(int, __clock_gettime, clock_gettime, (clockid_t clock, struct timespec *time))
ALIAS(int, __gettimeofday, gettimeofday, (struct timeval *restrict time, void *restrict zone))
/* The names for 64 bits of seconds, which only machines of 32 bits call; here both are the same. */
ALIAS(int, __clock_gettime64, clock_gettime, (clockid_t clock, struct timespec *time))
ALIAS(int, __gettimeofday64, gettimeofday, (struct timeval *restrict time, void *restrict zone))
ALIAS(time_t, __time64, time, (time_t *into))
