/* Sleeps ten seconds, again and again. */
#include <unistd.h>

#ifdef GO /* the note by which a program in Go is known */
__asm__(".section .note.go.buildid,\"a\",@note\n.long 4, 4, 4\n.asciz \"Go\\0\"\n.long 0\n.previous");
#endif

int main(void) {
    for (;;) sleep(10);
}
