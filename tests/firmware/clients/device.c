/* A device: device IDENTITY SECONDS [FILE [PERIOD]]. Activates, then writes a temperature each PERIOD seconds (a minute)
   and polls twice for messages, for 20 seconds each if PERIOD is long. FILE keeps its credentials over restarts. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOST "https://thermostat.m2.lab.localhost"

static CURL *handle;
static char body[4096], cik[128];
static size_t used;

static size_t take(char *from, size_t size, size_t count, void *of) {
    (void)of;
    size_t all = size * count;
    if (used + all < sizeof body) memcpy(body + used, from, all), used += all, body[used] = 0;
    return all;
}

static long call(const char *path, const char *post, const char *header, long timeout) {
    struct curl_slist *headers = NULL;
    char url[512], own[256];
    long status = 0;
    curl_easy_reset(handle);
    used = 0, body[0] = 0;
    snprintf(url, sizeof url, "%s%s", HOST, path);
    snprintf(own, sizeof own, "X-Platform-CIK: %s", cik);
    if (cik[0]) headers = curl_slist_append(headers, own);
    if (header) headers = curl_slist_append(headers, header);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    if (getenv("SSL_CERT_FILE")) curl_easy_setopt(handle, CURLOPT_CAINFO, getenv("SSL_CERT_FILE"));
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT, timeout);
    if (post) curl_easy_setopt(handle, CURLOPT_POSTFIELDS, post);
    CURLcode code = curl_easy_perform(handle);
    curl_slist_free_all(headers);
    if (code) {
        printf("%ld %s: %s\n", (long)time(NULL), path, curl_easy_strerror(code));
        return -1;
    }
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void load(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return;
    if (!fgets(cik, sizeof cik, file)) cik[0] = 0;
    fclose(file);
}

static void store(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(cik, file);
    fclose(file);
}

int main(int count, char **arguments) {
    char post[128], header[64];
    time_t end = time(NULL) + atol(arguments[2]);
    int period = count > 4 ? atoi(arguments[4]) : 60, poll = period < 120 ? period / 2 - 1 : 20;
    handle = curl_easy_init();
    srand(time(NULL));
    snprintf(post, sizeof post, "id=%s", arguments[1]);
    snprintf(header, sizeof header, "Request-Timeout: %d000", poll);
    if (count > 3) load(arguments[3]);
    if (!cik[0]) {
        while (call("/provision/activate", post, NULL, 10) != 200) sleep(5 + rand() % 10);
        snprintf(cik, sizeof cik, "%s", body);
        if (count > 3) store(arguments[3]);
    }
    printf("active\n");
    for (unsigned n = 0; time(NULL) < end; n++) {
        time_t began = time(NULL);
        snprintf(post, sizeof post, "temperature=%.1f", 20 + n % 50 / 10.0);
        for (long status; (status = call("/onep:v1/stack/alias", post, NULL, 10)) != 204;) {
            printf("%ld write %ld\n", (long)time(NULL), status);
            sleep(1 + rand() % 5);
        }
        for (int i = 0; i < 2; i++) {
            long status = call("/onep:v1/stack/alias?message", NULL, header, poll + 6);
            if (status == 200) printf("got %s\n", body);
            else if (status != 304) printf("%ld poll %ld\n", (long)time(NULL), status), sleep(1 + rand() % 5);
        }
        if (began + period > time(NULL)) sleep(began + period - time(NULL));
    }
    return 0;
}
