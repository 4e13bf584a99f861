/* stdio reads with a read of the C library's own, which no other can replace: so these wait before it, if they have to.

What a stream has in its buffer is there; else its descriptor has to be ready. A line that comes in parts is read by the
C library's own waits from the second part on, which the lab sees and names if it lasts. */
#include "lab.h"

#include <stdarg.h>
#include <stdio.h>

#undef fread_unlocked /* a macro of some headers */

REAL(fgets)
REAL(fgets_unlocked)
REAL(fgetc)
REAL(getdelim)
REAL(fread)
REAL(fread_unlocked)
int __isoc99_vfscanf(FILE *restrict stream, const char *restrict format, va_list list);
REAL(__isoc99_vfscanf)

int lab_ready(int fd, short events, enum wait_kind kind, bool may_block);

/* glibc's FILE: what lies between its two ends has been read already. */
static bool is_empty(const FILE *stream) { return stream->_IO_read_ptr >= stream->_IO_read_end; }

static void fill(FILE *stream) {
    int before = errno;
    if (!lab_on() || !is_empty(stream) || stream->_fileno < 0 || feof_unlocked(stream)) return;
    if (stream != stdout && stdout && is_empty(stdout)) fflush(stdout); /* as a terminal's program expects it */
    while (lab_ready(stream->_fileno, POLLIN, WAIT_READ, true) && errno == EINTR)
        if (!lab_on()) break;
    errno = before;
}

EXPORT char *fgets(char *restrict into, int size, FILE *restrict stream) {
    fill(stream);
    return real_fgets()(into, size, stream);
}
EXPORT char *fgets_unlocked(char *restrict into, int size, FILE *restrict stream) {
    fill(stream);
    return real_fgets_unlocked()(into, size, stream);
}
EXPORT char *__fgets_chk(char *restrict into, size_t room, int size, FILE *restrict stream) {
    if (size > 0 && room < (size_t)size) abort();
    return fgets(into, size, stream);
}
EXPORT char *__fgets_unlocked_chk(char *restrict into, size_t room, int size, FILE *restrict stream) {
    if (size > 0 && room < (size_t)size) abort();
    return fgets_unlocked(into, size, stream);
}

EXPORT int fgetc(FILE *stream) {
    fill(stream);
    return real_fgetc()(stream);
}
EXPORT int getchar(void) { return fgetc(stdin); }
ALIAS(int, getc, fgetc, (FILE *stream))
ALIAS(int, _IO_getc, fgetc, (FILE *stream))

EXPORT ssize_t getdelim(char **restrict line, size_t *restrict size, int end, FILE *restrict stream) {
    fill(stream);
    return real_getdelim()(line, size, end, stream);
}
EXPORT ssize_t getline(char **restrict line, size_t *restrict size, FILE *restrict stream) {
    return getdelim(line, size, '\n', stream);
}
ALIAS(ssize_t, __getdelim, getdelim, (char **restrict line, size_t *restrict size, int end, FILE *restrict stream))
ALIAS(ssize_t, __getline, getline, (char **restrict line, size_t *restrict size, FILE *restrict stream))

EXPORT size_t fread(void *restrict into, size_t size, size_t count, FILE *restrict stream) {
    fill(stream);
    return real_fread()(into, size, count, stream);
}
EXPORT size_t fread_unlocked(void *restrict into, size_t size, size_t count, FILE *restrict stream) {
    fill(stream);
    return real_fread_unlocked()(into, size, count, stream);
}
EXPORT size_t __fread_chk(void *restrict into, size_t room, size_t size, size_t count, FILE *restrict stream) {
    if (size && room / size < count) abort();
    return fread(into, size, count, stream);
}

/* What programs of C99 and later call instead of scanf and its kin. */
EXPORT int __isoc99_vfscanf(FILE *restrict stream, const char *restrict format, va_list list) {
    fill(stream);
    return real___isoc99_vfscanf()(stream, format, list);
}
EXPORT int __isoc99_vscanf(const char *restrict format, va_list list) { return __isoc99_vfscanf(stdin, format, list); }
ALIAS(int, __isoc23_vfscanf, __isoc99_vfscanf, (FILE *restrict stream, const char *restrict format, va_list list))
ALIAS(int, __isoc23_vscanf, __isoc99_vscanf, (const char *restrict format, va_list list))

#define SCAN(stream)                                     \
    va_list list;                                        \
    va_start(list, format);                              \
    int result = __isoc99_vfscanf(stream, format, list); \
    va_end(list);                                        \
    return result;

EXPORT int __isoc99_scanf(const char *restrict format, ...) { SCAN(stdin) }
EXPORT int __isoc99_fscanf(FILE *restrict stream, const char *restrict format, ...) { SCAN(stream) }
EXPORT int __isoc23_scanf(const char *restrict format, ...) { SCAN(stdin) }
EXPORT int __isoc23_fscanf(FILE *restrict stream, const char *restrict format, ...) { SCAN(stream) }
