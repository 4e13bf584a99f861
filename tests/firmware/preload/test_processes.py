"""Processes of a program: children, programs that it executes, and descriptors that it closes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.firmware.library import library
from tests.firmware.preload.side import Side
from tests.firmware.preload.test_threads import results
from tests.rig import ran

Run = Callable[..., list[str]]
Compile = Callable[..., Path]

SPAWN = "#include <spawn.h>\n#include <sys/syscall.h>\n#include <fcntl.h>\nextern char **environ;\n"
SLEEP = '{"sleep", "60", 0}'
STARTS = {
    "fork": "pid_t p = fork(); if (!p) { sleep(60); _exit(3); }",
    "fork and exec": f'pid_t p = fork(); if (!p) {{ execvp("sleep", (char *[]){SLEEP}); _exit(9); }}',
    "vfork and exec": f'char *a[] = {SLEEP}; pid_t p = vfork(); if (!p) {{ execv("/bin/sleep", a); _exit(9); }}',
    "no environment": f"char *a[] = {SLEEP}, *e[] = {{0}}; pid_t p = vfork();"
    ' if (!p) { execve("/bin/sleep", a, e); _exit(9); }',
    "execl": 'pid_t p = fork(); if (!p) { clearenv(); execl("/bin/sleep", "sleep", "60", (char *)0); _exit(9); }',
    "execle": 'char *e[] = {"LD_PRELOAD=", 0}; pid_t p = fork();'
    ' if (!p) { execle("/bin/sleep", "sleep", "60", (char *)0, e); _exit(9); }',
    "execlp": 'pid_t p = fork(); if (!p) { execlp("sleep", "sleep", "60", (char *)0); _exit(9); }',
    "posix_spawn": f'pid_t p; posix_spawn(&p, "/bin/sleep", 0, 0, (char *[]){SLEEP}, environ);',
    "posix_spawnp": f'pid_t p; posix_spawnp(&p, "sleep", 0, 0, (char *[]){SLEEP}, (char *[]){{"A=b", 0}});',
}


@pytest.mark.parametrize("name", list(STARTS))
def test_a_child_is_on_lab_time_and_is_waited_for(run: Run, name: str) -> None:
    lines = run(
        f"{STARTS[name]} int status = 0; SHOW(waitpid(p, &status, 0) == p); SHOW(WEXITSTATUS(status));", SPAWN
    )
    assert results(lines) == [("1", "60000"), ("3" if name == "fork" else "0", "60000")]


@pytest.mark.parametrize(
    "call",
    ["wait(0)", "waitpid(-1, 0, 0)", "wait3(0, 0, 0)", "wait4(-1, 0, 0, 0)", "waitid(P_ALL, 0, &i, WEXITED)"],
)
def test_each_wait_for_a_child(run: Run, call: str) -> None:
    lines = run(
        f"""siginfo_t i; if (!fork()) {{ sleep(5); _exit(0); }} SHOW(waitpid(-1, 0, WNOHANG)); SHOW(({call}) < 0);
            SHOW({call});
        SHOW(errno == ECHILD);"""
    )
    assert results(lines) == [("0", "0"), ("0", "5000"), ("-1", "5000"), ("1", "5000")]


def test_system_and_popen(run: Run) -> None:
    lines = run(
        """SHOW(WEXITSTATUS(system("sleep 10; exit 4"))); FILE *f = popen("sleep 20; echo done; sleep 5", "r");
            char b[99] = "";
        fgets(b, 99, f); SHOW(!strcmp(b, "done\\n")); SHOW(pclose(f));"""
    )
    assert results(lines) == [("4", "10000"), ("1", "30000"), ("0", "35000")]


def test_a_signal_of_a_child_that_ends_interrupts_a_sleep(run: Run) -> None:
    lines = run(
        "signal(SIGCHLD, on); if (!fork()) { sleep(5); _exit(0); } SHOW(sleep(60)); SHOW(wait(0) > 0);",
        "static void on(int s) { (void)s; }",
    )
    assert results(lines) == [("55", "5000"), ("1", "5000")]


def test_children_have_an_order_and_run_one_at_a_time(run: Run) -> None:
    lines = run(
        """for (int i = 0; i < 5; i++) if (!fork()) { for (int n = 0; n < 3; n++) { printf("%d.%d\\n", i, n);
            sleep(1); } exit(0); }
        while (wait(0) > 0);"""
    )
    assert lines == [f"{i}.{n}" for n in range(3) for i in range(5)]


def test_a_daemon_that_forks_twice(run: Run) -> None:
    lines = run("if (daemon(1, 1)) return 1; SHOW(sleep(30)); SHOW(getppid() > 0);")
    assert results(lines) == [("0", "30000"), ("1", "30000")]


@pytest.mark.parametrize(
    "closes",
    [
        "for (int i = 3; i < 4096; i++) close(i);",
        "close_range(3, ~0U, 0);",
        "closefrom(3);",
        "syscall(SYS_close_range, 3, ~0U, 0);",
        "for (int i = 3; i < 1024; i++) dup2(0, i);",
    ],
)
def test_a_program_that_closes_all_descriptors_stays_on_lab_time(run: Run, closes: str) -> None:
    lines = run(
        f"""sleep(1); int a = open("/dev/null", 0); {closes} SHOW(sleep(5)); SHOW(a == 3); alarm(0);
            int b = open("/dev/null", 0);
        if (!fork()) {{ {closes} sleep(5); execlp("sleep", "sleep", "5", (char *)0); }} SHOW(wait(0) > 0);""",
        "#include <fcntl.h>\n#include <sys/syscall.h>\n"
        "int close_range(unsigned, unsigned, int); void closefrom(int);\n",
    )
    assert results(lines) == [("0", "6000"), ("1", "6000"), ("1", "16000")]


def test_a_program_sees_the_descriptors_that_it_would_have(run: Run, side: Side) -> None:
    lines = run(
        """sleep(1); int fd = dup(0); SHOW(fd); int own = 0; for (int i = 100; i < 65536; i++) if (fcntl(i,
            F_GETFD) >= 0) { own = i;
        SHOW(close(i)); SHOW(errno == EBADF); }""",
        "#include <fcntl.h>\n",
    )
    assert results(lines)[0] == ("3", "1000")
    assert [each for each, _ in results(lines)[1:]] == ["-1", "1"] * 2


def test_a_static_program_does_not_greet(side: Side, compiled: Compile) -> None:
    program = compiled('puts("static");', options=("-static",))
    side.start([compiled(f'if (!fork()) execl("{program}", "static", (char *)0); SHOW(wait(0) > 0);')])
    assert side.live().splitlines() == ["static", "wait(0) > 0 1 at 0"]
    assert len(side.pids) == 2  # the child greeted when it was forked, and its static program did not


def test_without_a_lab_all_is_real(compiled: Compile) -> None:
    program = compiled(
        "struct timespec t = {0, 1000000}; SHOW(nanosleep(&t, 0)); SHOW(ms() < 0);"
        "SHOW(poll(0, 0, 1)); SHOW(usleep(10));"
    )
    done = ran(program, env={"LD_PRELOAD": str(library())}, check=True)
    assert [each.rsplit(" ", 3)[1] for each in done.stdout.splitlines()] == ["0", "1", "0", "0"]


def test_the_end_of_the_lab_ends_waits_and_brings_real_time_back(side: Side, compiled: Compile) -> None:
    program = compiled(
        """
        pthread_t t; pthread_create(&t, 0, waits, 0); struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a);
        SHOW(sleep(86400)); SHOW(time(0) < START); clock_gettime(CLOCK_MONOTONIC, &b);
        SHOW(b.tv_sec >= a.tv_sec && b.tv_sec < a.tv_sec + 200);
        SHOW(poll(0, 0, 1)); a = in(0.001); pthread_mutex_lock(&m);
            SHOW(pthread_cond_timedwait(&c, &m, &a) == ETIMEDOUT);
        go = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); SHOW(pthread_join(t, 0)); char x;
            SHOW(read(0, &x, 1));
        """,
        """static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
            static int go;
        static void *waits(void *x) { pthread_mutex_lock(&m); while (!go) pthread_cond_wait(&c, &m);
            pthread_mutex_unlock(&m); return x; }
        """,
    )
    child = side.start([program])
    side.live(100)
    side.listener.close()
    for each in [*side.threads]:
        side.drop(each)
    assert child.stdin
    child.stdin.close()
    assert child.wait(20) == 0
    assert [each.rsplit(" ", 3)[1] for each in side.output().splitlines()] == [
        "0",
        "1",
        "1",
        "0",
        "1",
        "0",
        "0",
    ]


def test_a_shell_lives_a_week(side: Side) -> None:
    shell = shutil.which("sh")
    assert shell
    side.start([shell, "-c", "for i in 1 2 3 4 5 6 7; do sleep 86400; date -u +%F; done"])
    assert side.live().splitlines() == [f"2027-01-{day}" for day in range(16, 23)]
