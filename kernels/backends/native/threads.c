/* Runs a kernel on several pinned threads that start together, and says how long it took. */
#define _GNU_SOURCE
#include "task.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    Kernel kernel;
    Task *task;
    atomic_int *arrived;
    int count;
    int cpu;
    double start, end;
} Worker;

static void pin(int cpu) {
#ifdef __linux__
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
#else
    (void)cpu;
#endif
}

static void *work(void *argument) {
    Worker *w = argument;
    pin(w->cpu);
    atomic_fetch_add(w->arrived, 1);
    for (int spins = 0; atomic_load(w->arrived) < w->count; spins++)
        if (spins > 4096) sched_yield();
    w->start = seconds_now();
    w->kernel(w->task);
    w->end = seconds_now();
    return NULL;
}

/* Seconds from the first start to the last end; below zero where no thread could be had. */
double run_threads(Kernel kernel, Task *tasks, int count, const int *cpus) {
    atomic_int arrived = 0;
    Worker *workers = calloc((size_t)count, sizeof *workers);
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    int made = 0;
    if (workers && threads) {
        for (; made < count; made++) {
            workers[made] = (Worker){kernel, tasks + made, &arrived, count, cpus[made], 0, 0};
            if (pthread_create(threads + made, NULL, work, workers + made)) break;
        }
    }
    /* Threads that did start must not wait for those that never will. */
    atomic_fetch_add(&arrived, count - made);
    double start = 0, end = -1;
    for (int i = 0; i < made; i++) {
        pthread_join(threads[i], NULL);
        if (i == 0 || workers[i].start < start) start = workers[i].start;
        if (i == 0 || workers[i].end > end) end = workers[i].end;
    }
    free(workers);
    free(threads);
    return made == count ? end - start : -1;
}

double run_here(Kernel kernel, Task *task) {
    double start = seconds_now();
    kernel(task);
    return seconds_now() - start;
}
