/* Firmware of a thermostat, with libcurl: firmware URL CA_FILE RESOLVE IDENTITY ACTION [VALUE]

   Activates, and then, for the action `write`, sends the temperature VALUE until it is stored: it waits and tries
   again after 503 and after an end without an answer, and activates anew after 401. For `poll` it prints the next
   target, and tries again after 304. Each attempt is a line on standard output: the action and the status. */

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS = 5, SIZE = 4096, PAUSE = 10000 };

static const char *base, *ca_file, *identity;
static struct curl_slist *names;
static char token[64], answer[SIZE];

static size_t collect(char *data, size_t one, size_t count, void *unused) {
    (void)unused;
    if (strlen(answer) + one * count < SIZE) strncat(answer, data, one * count);
    return one * count;
}

/* Sends a request; body is NULL for a GET. Returns the status, 0 without an answer. */
static long request(const char *path, const char *body, const char *more) {
    char url[SIZE], credentials[128];
    long status = 0;
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = NULL;
    snprintf(url, sizeof url, "%s%s", base, path);
    if (token[0]) {
        snprintf(credentials, sizeof credentials, "X-Platform-CIK: %s", token);
        headers = curl_slist_append(headers, credentials);
    }
    if (more) headers = curl_slist_append(headers, more);
    answer[0] = 0;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file); /* libcurl reads no environment variable for it */
    curl_easy_setopt(curl, CURLOPT_RESOLVE, names);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    if (body) curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    CURLcode result = curl_easy_perform(curl);
    if (result == CURLE_OK) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    else fprintf(stderr, "%s\n", curl_easy_strerror(result));
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return status;
}

static long activate(void) {
    char body[128];
    token[0] = 0;
    snprintf(body, sizeof body, "id=%s", identity);
    long status = request("/provision/activate", body, NULL);
    printf("activate %ld\n", status);
    if (status == 200) snprintf(token, sizeof token, "%.40s", answer);
    return status;
}

static int write_value(const char *value) {
    char body[128];
    snprintf(body, sizeof body, "temperature=%s", value);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        long status = request("/onep:v1/stack/alias", body, NULL);
        printf("write %ld\n", status);
        if (status == 204) return 0;
        if (status == 401) activate();
        else usleep(PAUSE);
    }
    return 1;
}

static int poll_target(void) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        long status = request("/onep:v1/stack/alias?target", NULL, "Request-Timeout: 30000");
        printf("poll %ld\n", status);
        if (status == 200) return puts(answer) == EOF;
        if (status != 304) usleep(PAUSE);
    }
    return 1;
}

int main(int count, char **given) {
    if (count < 6) return 2;
    base = given[1], ca_file = given[2], identity = given[4];
    setvbuf(stdout, NULL, _IOLBF, 0);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    names = curl_slist_append(NULL, given[3]);
    if (activate() != 200) return 1;
    return strcmp(given[5], "poll") ? write_value(given[6]) : poll_target();
}
