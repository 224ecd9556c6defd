// Eight threads call small functions in loops, as a program in Go would: r14 is the goroutine, and
// functions begin with its check of the stack, which asks for a second beginning now and then.
//
// loops COUNT END: after the loops it prints their checksum, waits for a line at its input, and ends
// as END says.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define NOINLINE __attribute__((noinline, noipa))

struct g { long before[2]; volatile unsigned long guard; long begun_again; };
register struct g *current asm("r14");
static struct g threads[THREADS + 1];
static volatile int counted, trapped, is_over;

NOINLINE int leaf(int a, int b) { return a * 31 + b; }
NOINLINE int other(int a, int b) { return a * 17 - b; }
int checked(int, int), large(int, int), small(int, int), huge(int, int), twice(int, int);

// Each begins as functions of Go do, for frames of different sizes. `more` is runtime.morestack.
asm(".text\n"
    "more: movq $0, 0x10(%r14); incq 0x18(%r14); ret\n"
    ".globl checked; checked: cmp 0x10(%r14), %rsp; jbe 1f\n"
    "push %rbp; mov %rsp, %rbp; lea (%rdi,%rsi,2), %eax; pop %rbp; ret\n"
    "1: call more; jmp checked\n"
    ".globl small; small: lea -0x40(%rsp), %r12; cmp 0x10(%r14), %r12; jbe 1f\n"
    "push %rbp; mov %rsp, %rbp; lea 1(%rdi,%rsi,4), %eax; pop %rbp; ret\n"
    "1: call more; jmp small\n"
    ".globl large; large: lea -0x400(%rsp), %r12; cmp 0x10(%r14), %r12; jbe 1f\n"
    "push %rbp; mov %rsp, %rbp; lea 2(%rdi,%rsi,4), %eax; pop %rbp; ret\n"
    "1: call more; jmp large\n"
    ".globl huge; huge: mov %rsp, %r12; sub $0x2000, %r12; jb 1f; cmp 0x10(%r14), %r12; jbe 1f\n"
    "push %rbp; mov %rsp, %rbp; lea 3(%rdi,%rsi,4), %eax; pop %rbp; ret\n"
    "1: call more; jmp huge\n"
    // A call is the first thing after the return of a call.
    ".globl twice; twice: push %rbp; mov %rsp, %rbp\n"
    "call leaf; call helper; call leaf; jmp 2f; nop\n"
    "2: pop %rbp; ret\n"
    "helper: mov %eax, %edi; mov $3, %esi; ret\n");

NOINLINE int indirect(int (*called)(int, int), int a, int b) { return called(a, b) + 1; }

NOINLINE int deep(int n) { return n ? deep(n - 1) + n : leaf(n, 1); }

static void *work(void *argument) {
    struct g *before = current;
    long count = ((long *)argument)[0], sum = 0, r12;
    asm volatile("mov %%r12, %0" : "=m"(r12));
    current = &threads[((long *)argument)[1]];
    for (long i = 0; i < count; i++) {
        if (i % 3 == 0) current->guard = ~0ul;  // as Go asks a goroutine to yield
        sum = leaf(sum, i) & 0xffffff;
        sum += checked(i, 1) + small(i, 2) + large(i, 3) + huge(i, 4);
        sum += indirect(i & 1 ? leaf : other, i, sum) & 0xff;
        sum += twice(i, 5);
        if (i % 16 == 0) sum += deep(20);
    }
    current = before;
    asm volatile("mov %0, %%r12" : : "m"(r12));
    return (void *)sum;
}

// Asks all threads to yield, again and again, at any instruction.
static void *ask(void *argument) {
    while (!is_over) {
        usleep(200);
        for (int i = 0; i < THREADS; i++) threads[i].guard = ~0ul;
    }
    return argument;
}

static void count(int number) {
    __sync_fetch_and_add(number == SIGTRAP ? &trapped : &counted, 1);
}

static void end(int number) { _exit(number == SIGTERM ? 7 : 8); }

static void finish(char *how, char **rest) {
    extern char **environ;
    pid_t child;
    if (!strcmp(how, "exit")) exit(atoi(rest[0]));
    if (!strcmp(how, "signal")) kill(getpid(), atoi(rest[0])), pause();
    if (!strcmp(how, "exec")) execv(rest[0], rest);
    if (!strcmp(how, "spawn")) {
        int status = -1;
        posix_spawn(&child, rest[0], 0, 0, rest, environ);
        waitpid(child, &status, 0);
        exit(status ? 1 : 3);
    }
}

int main(int argc, char **argv) {
    struct g *before = current;
    current = &threads[THREADS];
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    sigaction(SIGRTMIN + 3, &action, 0);
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGTRAP, &action, 0);
    if (!strcmp(argv[2], "term")) signal(SIGTERM, end);
    long arguments[THREADS][2], sum = 0;
    pthread_t started[THREADS], asking;
    printf("ready %d\n", getpid());
    fflush(stdout);
    if (getchar() == EOF) return 9;
    pthread_create(&asking, 0, ask, 0);
    for (int i = 0; i < THREADS; i++) {
        arguments[i][0] = atol(argv[1]);
        arguments[i][1] = i;
        pthread_create(&started[i], 0, work, arguments[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *one;
        pthread_join(started[i], &one);
        sum = sum * 3 + (long)one;
    }
    is_over = 1;
    pthread_join(asking, 0);
    printf("sum %ld\n", sum);
    fflush(stdout);
    while (getchar() != '\n') ;
    printf("signals %d traps %d\n", counted, trapped);
    fflush(stdout);
    current = before;
    finish(argv[2], argv + 3);
    return 0;
}
