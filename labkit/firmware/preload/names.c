/* Names and ports. The lab writes a file `names`; what it lists leads to the lab, all else to the real resolver. */
#include "lab.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

REAL(getaddrinfo)
REAL(gethostbyname)
REAL(gethostbyname2)
REAL(gethostbyname_r)
REAL(gethostbyname2_r)
REAL(connect)
REAL(getpeername)
REAL(fcntl)
REAL(open)
REAL(read)
REAL(close)

int lab_ready(int fd, short events, enum wait_kind kind, bool may_block);
int64_t lab_socket_timeout(int fd, int option);

/* --- the file: lines `name<TAB>address` and `port<TAB>from<TAB>to` ----------------------------------------------- */

/* Returns its text, to be freed. It is read anew each time: the lab replaces it while programs run. */
static char *names(void) {
    char path[PATH_MAX];
    struct stat status;
    int fd = lab_on() && lab_path(path, sizeof path, "names") ? real_open()(path, O_RDONLY | O_CLOEXEC) : -1;
    char *text = fd < 0 || fstat(fd, &status) ? NULL : malloc((size_t)status.st_size + 1);
    if (text) {
        ssize_t got = real_read()(fd, text, (size_t)status.st_size);
        text[got < 0 ? 0 : got] = 0;
    }
    if (fd >= 0) real_close()(fd);
    return text;
}

static bool matches(const char *pattern, const char *name) {
    size_t length = strlen(name);
    if (length && name[length - 1] == '.') length--; /* fully qualified */
    size_t tail = strlen(pattern) - (pattern[0] == '*');
    if (pattern[0] != '*') return tail == length && !strncasecmp(pattern, name, length);
    return length > tail && !strncasecmp(name + length - tail, pattern + 1, tail);
}

/* Calls `each` with the fields of each line until it returns true. */
static bool any_line(bool (*each)(char *fields[3], void *), void *with) {
    char *text = names(), *line, *after = NULL;
    bool found = false;
    for (line = text ? strtok_r(text, "\n", &after) : NULL; line && !found; line = strtok_r(NULL, "\n", &after)) {
        char *fields[3] = {NULL, NULL, NULL}, *rest = NULL;
        fields[0] = strtok_r(line, "\t", &rest);
        for (int i = 1; i < 3 && fields[i - 1]; i++) fields[i] = strtok_r(NULL, "\t", &rest);
        found = fields[0] && fields[1] && each(fields, with);
    }
    free(text);
    return found;
}

struct sought {
    const char *name;
    char address[INET6_ADDRSTRLEN];
};

static bool is_name(char *fields[3], void *with) {
    struct sought *sought = with;
    if (fields[2] || !matches(fields[0], sought->name)) return false;
    snprintf(sought->address, sizeof sought->address, "%s", fields[1]);
    return true;
}

static bool find(struct sought *sought, const char *name) {
    sought->name = name;
    return name && lab_on() && any_line(is_name, sought);
}

/* --- names --- */

EXPORT int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                       struct addrinfo **restrict result) {
    struct sought sought;
    if (!find(&sought, node)) return real_getaddrinfo()(node, service, hints, result);
    int error = real_getaddrinfo()(sought.address, service, hints, result);
    if (error == EAI_ADDRFAMILY || error == EAI_NODATA) return EAI_NONAME; /* no address of this family */
    if (error || !(*result)->ai_canonname) return error;
    char *name = strdup(node);
    if (!name) return error;
    free((*result)->ai_canonname);
    (*result)->ai_canonname = name;
    return 0;
}

/* An address as text stands for itself, so the real function makes the entry; but the name in it is the asked one. */
static struct hostent *named(struct hostent *entry, const char *name) {
    static __thread char kept[NI_MAXHOST];
    if (!entry) return NULL;
    snprintf(kept, sizeof kept, "%s", name);
    entry->h_name = kept;
    return entry;
}

EXPORT struct hostent *gethostbyname(const char *name) {
    struct sought sought;
    return find(&sought, name) ? named(real_gethostbyname()(sought.address), name) : real_gethostbyname()(name);
}
EXPORT struct hostent *gethostbyname2(const char *name, int family) {
    struct sought sought;
    return find(&sought, name) ? named(real_gethostbyname2()(sought.address, family), name)
                               : real_gethostbyname2()(name, family);
}
EXPORT int gethostbyname_r(const char *restrict name, struct hostent *restrict entry, char *restrict room, size_t size,
                           struct hostent **restrict result, int *restrict error) {
    struct sought sought;
    bool ours = find(&sought, name);
    int failed = real_gethostbyname_r()(ours ? sought.address : name, entry, room, size, result, error);
    if (ours && !failed) *result = named(*result, name);
    return failed;
}
EXPORT int gethostbyname2_r(const char *restrict name, int family, struct hostent *restrict entry, char *restrict room,
                            size_t size, struct hostent **restrict result, int *restrict error) {
    struct sought sought;
    bool ours = find(&sought, name);
    int failed = real_gethostbyname2_r()(ours ? sought.address : name, family, entry, room, size, result, error);
    if (ours && !failed) *result = named(*result, name);
    return failed;
}

/* --- ports: a program with a fixed port reaches the lab's --- */

#define HIGHEST 65536
static _Atomic uint16_t asked[HIGHEST]; /* the port that the program asked for, by descriptor */

void lab_port_closed(int fd) {
    if (fd >= 0 && fd < HIGHEST && atomic_load_explicit(&asked[fd], memory_order_relaxed)) atomic_store(&asked[fd], 0);
}

struct target {
    char address[INET6_ADDRSTRLEN];
    unsigned port, to;
    bool of_lab;
};

static bool is_target(char *fields[3], void *with) {
    struct target *target = with;
    if (fields[2] && !strcmp(fields[0], "port") && strtoul(fields[1], NULL, 10) == target->port)
        target->to = (unsigned)strtoul(fields[2], NULL, 10);
    if (!fields[2] && !strcmp(fields[1], target->address)) target->of_lab = true;
    return target->of_lab && target->to;
}

/* Returns the port of an address to change, in network order, or NULL; `target` has its address as text. */
static in_port_t *port_of(struct sockaddr_storage *address, struct target *target) {
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    bool of_six = address->ss_family == AF_INET6;
    if (!of_six && address->ss_family != AF_INET) return NULL;
    const void *bytes = of_six ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr;
    inet_ntop(address->ss_family, bytes, target->address, sizeof target->address);
    char *four_in_six = target->address + 7;
    if (!strncmp(target->address, "::ffff:", 7)) memmove(target->address, four_in_six, strlen(four_in_six) + 1);
    return of_six ? &six->sin6_port : &four->sin_port;
}

static void redirect(int fd, struct sockaddr_storage *address) {
    struct target target = {.to = 0};
    in_port_t *port = port_of(address, &target);
    lab_port_closed(fd);
    if (!port) return;
    target.port = ntohs(*port);
    if (!any_line(is_target, &target)) return;
    if (fd >= 0 && fd < HIGHEST) atomic_store(&asked[fd], target.port);
    *port = htons((uint16_t)target.to);
}

static int finish(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    if (lab_ready(fd, POLLOUT, WAIT_CONNECT, true)) {
        if (errno == EAGAIN) errno = EINPROGRESS; /* as SO_SNDTIMEO has it */
        return -1;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size)) return -1;
    errno = error;
    return error ? -1 : 0;
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t length) {
    struct sockaddr_storage address;
    if (!lab_on() || length < sizeof(sa_family_t) || length > sizeof address) return real_connect()(fd, to, length);
    memset(&address, 0, sizeof address);
    memcpy(&address, to, length);
    int before = errno, type = 0, flags = real_fcntl()(fd, F_GETFL);
    socklen_t size = sizeof type;
    bool stream = !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_STREAM && to->sa_family != AF_UNIX;
    if (stream) redirect(fd, &address), lab_no_delay(fd);
    errno = before;
    bool blocks = stream && flags >= 0 && !(flags & O_NONBLOCK);
    /* else the kernel waits where the lab does not know of it */
    if (blocks) real_fcntl()(fd, F_SETFL, flags | O_NONBLOCK);
    int result = real_connect()(fd, (struct sockaddr *)&address, length);
    lab_sent();
    if (!blocks) return result;
    int error = errno;
    real_fcntl()(fd, F_SETFL, flags);
    errno = error;
    return result && errno == EINPROGRESS ? finish(fd) : result;
}
ALIAS(int, __connect, connect, (int fd, const struct sockaddr *to, socklen_t length))

/* Shows what the program asked for: some compare it with the address that they connected to. */
EXPORT int getpeername(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
    socklen_t room = *length;
    int result = real_getpeername()(fd, address, length);
    uint16_t port = fd >= 0 && fd < HIGHEST ? atomic_load(&asked[fd]) : 0;
    if (result || !port || room < sizeof(struct sockaddr_in)) return result;
    if (address->sa_family == AF_INET) ((struct sockaddr_in *)address)->sin_port = htons(port);
    if (address->sa_family == AF_INET6) ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    return 0;
}
