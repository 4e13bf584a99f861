/* A client of OpenSSL alone: tls PORT HOST. Prints the first line of the answer to GET /timestamp.

   The default locations of OpenSSL have the CA, so that SSL_CERT_FILE names it. It needs no DNS: it connects to
   loopback and names the host in SNI. */

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(int count, char **given) {
    if (count != 3) return 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(given[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int raw = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(raw, (struct sockaddr *)&address, sizeof address)) return 3;

    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_default_verify_paths(context);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL *tls = SSL_new(context);
    SSL_set_tlsext_host_name(tls, given[2]);
    SSL_set1_host(tls, given[2]);
    SSL_set_fd(tls, raw);
    if (SSL_connect(tls) != 1) {
        ERR_print_errors_fp(stderr);
        return 1;
    }
    char text[1024];
    int size = snprintf(text, sizeof text, "GET /timestamp HTTP/1.1\r\nHost: %s\r\n\r\n", given[2]);
    SSL_write(tls, text, size);
    size = SSL_read(tls, text, sizeof text - 1);
    if (size <= 0) return 1;
    text[size] = 0;
    printf("%.*s\n", 15, text);
    return 0;
}
