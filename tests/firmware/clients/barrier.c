/* Threads that meet at a barrier, in a wait that the preloaded library does not know. The first one gives way before. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *live(void *seconds) {
    for (int i = 0; i < 2; i++) sleep((unsigned)(long)seconds), pthread_barrier_wait(&barrier);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_barrier_init(&barrier, NULL, 4);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, live, (void *)(7 * i));
    for (int i = 1; i < 3; i++) pthread_barrier_wait(&barrier), printf("round %d\n", i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    puts("end");
    return 0;
}
