/* Sleeps ten seconds, again and again. */
#include <unistd.h>

int main(void) {
    for (;;) sleep(10);
}
