/* Firmware of a thermostat: an ordinary Linux program with libcurl, which knows nothing of labkit.

   Once a minute it writes its temperature; the rest of the minute it waits for a new setpoint, in two long polls.

   Build: cc -O2 -o client client.c -lcurl
   Run:   PLATFORM_URL=https://thermostat.example ./client t-001

   It has a bug on purpose: after two failed polls in a row it never polls again. -DMENDED builds it without. */

#include <curl/curl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define ALIAS "/onep:v1/stack/alias"
#define MINUTE 60
#define POLL_SECONDS 28 /* two of them and a write fit into a minute */
#define ATTEMPTS 5      /* of a write */

static CURL *curl;
static const char *base, *identity;
static char token[64]; /* of this device, from its activation */
static char modified[64];    /* Last-Modified of the last answer */
static char since[64] = "0"; /* Last-Modified of the last setpoint: a poll waits for a newer one */
static char body[256]; /* of the last answer */

/* Print a line. */
static void say(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
    fflush(stdout);
}

/* Sleep for `seconds` and a bit more, so that devices that failed together do not come back together. */
static void rest(unsigned seconds) {
    sleep(seconds + (unsigned)random() % (seconds + 1));
}

/* Keep what an answer's body has: libcurl calls this for each piece. */
static size_t keep_body(char *data, size_t size, size_t count, void *unused) {
    size_t used = strlen(body), room = sizeof body - 1 - used, kept = size * count < room ? size * count : room;
    (void)unused;
    memcpy(body + used, data, kept);
    body[used + kept] = 0;
    return size * count;
}

/* Keep the header Last-Modified: libcurl calls this for each header. */
static size_t keep_header(char *line, size_t size, size_t count, void *unused) {
    (void)unused;
    char value[sizeof modified];
    if (size * count < sizeof value) {
        memcpy(value, line, size * count);
        value[size * count] = 0;
        sscanf(value, "%*[Ll]ast-%*[Mm]odified: %63[^\r\n]", modified);
    }
    return size * count;
}

/* Send a request and return the status of its answer, 0 if there is none. form: body of a POST, or NULL. */
static long request(const char *path, const char *form, long milliseconds) {
    char url[512], line[128];
    struct curl_slist *headers = NULL;
    long status = 0;

    snprintf(url, sizeof url, "%s%s", base, path);
    curl_easy_reset(curl); /* of the options: its connection stays */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds + 7000);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, keep_header);
    if (getenv("CURL_CA_BUNDLE")) /* as the command curl does; libcurl itself reads no variable */
        curl_easy_setopt(curl, CURLOPT_CAINFO, getenv("CURL_CA_BUNDLE"));
    if (form)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, form);
    if (*token) {
        snprintf(line, sizeof line, "X-Platform-CIK: %s", token);
        headers = curl_slist_append(headers, line);
    }
    if (milliseconds) { /* a long poll */
        snprintf(line, sizeof line, "Request-Timeout: %ld", milliseconds);
        headers = curl_slist_append(headers, line);
        snprintf(line, sizeof line, "If-Modified-Since: %s", since);
        headers = curl_slist_append(headers, line);
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    *body = *modified = 0;
    CURLcode result = curl_easy_perform(curl);
    curl_slist_free_all(headers);
    if (result != CURLE_OK) {
        say("%s: %s", path, curl_easy_strerror(result));
        return 0;
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* Get a token, however long it takes. */
static void activate(void) {
    char form[128];
    long status;

    snprintf(form, sizeof form, "id=%s", identity);
    *token = 0;
    while ((status = request("/provision/activate", form, 0)) != 200) {
        say("activation: %ld", status);
        rest(30);
    }
    snprintf(token, sizeof token, "%.63s", body);
    say("activated");
}

/* Write a temperature; try again if the platform does not take it. Return whether it did. */
static bool write_temperature(double temperature) {
    char form[64];

    snprintf(form, sizeof form, "temperature=%.1f", temperature);
    for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
        long status = request(ALIAS, form, 0);
        if (status == 204)
            return true;
        say("write: %ld, attempt %u", status, attempt);
        if (status == 401) /* the platform has lost the token */
            activate();
        else
            rest(attempt);
    }
    return false;
}

/* Wait for a setpoint. Return whether the platform answered, with a setpoint or without. */
static bool poll_setpoint(double *setpoint) {
    long status = request(ALIAS "?setpoint", NULL, POLL_SECONDS * 1000L);
    if (status == 200 && sscanf(body, "setpoint=%lf", setpoint) == 1) {
        say("setpoint %.1f", *setpoint);
        strcpy(since, modified);
    } else if (status != 200 && status != 304)
        say("poll: %ld", status);
    return status == 200 || status == 304;
}

int main(int count, char **arguments) {
    double temperature = 18, setpoint = 20;
    unsigned seed, failed = 0; /* polls in a row */

    if (count != 2 || !(base = getenv("PLATFORM_URL"))) {
        fprintf(stderr, "usage: PLATFORM_URL=https://… client IDENTITY\n");
        return 2;
    }
    identity = arguments[1];
    curl_global_init(CURL_GLOBAL_ALL);
    if (!(curl = curl_easy_init()) || getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return 1;
    srandom(seed);
    activate();
    for (;;) {
        time_t began = time(NULL);
        temperature += (setpoint - temperature) / 10;
        bool written = write_temperature(temperature);
#ifdef MENDED
        if (written)
            failed = 0; /* the platform is back */
#else
        (void)written;
#endif
        for (int number = 0; number < 2 && failed < 2; number++) {
            if (poll_setpoint(&setpoint))
                failed = 0;
            else if (++failed < 2)
                rest(2);
            else
                say("no more polls until the platform is back");
        }
        while (time(NULL) < began + MINUTE)
            sleep((unsigned)(began + MINUTE - time(NULL)));
    }
}
