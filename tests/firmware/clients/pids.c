/* Uses its process id in the ways that programs do. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void on(int signal) { printf("signal %d\n", signal); }

int main(void) {
    char self[32] = "";
    int status, ours[2];
    signal(SIGUSR1, on);
    if (readlink("/proc/self", self, sizeof self - 1) < 0 || pipe(ours)) return 1;
    printf("%d\n%s\n", getpid(), self);
    srand((unsigned)time(NULL) ^ (unsigned)getpid());
    printf("jitter %d\n", rand() % 1000);
    raise(SIGUSR1);
    pid_t child = fork();
    if (!child) {
        sleep(1);
        kill(getppid(), SIGUSR1);
        if (!fork()) { /* an orphan soon */
            sleep(1);
            dprintf(ours[1], "%d", getppid());
        }
        _exit(7);
    }
    sleep(60);
    printf("%d\n", waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 ? child : 0);
    if (read(ours[0], self, 1) == 1) printf("child of %.1s\n", self);
    kill(0, SIGTERM);
    pause();
}
