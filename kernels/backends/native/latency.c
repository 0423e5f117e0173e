/* Dependent chains: loads through memory, one-cycle additions, calls, wake-ups of a pool. */
#include "task.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Follows pointers from b for `repeats` steps; the answer is where it ends, from b.
   The next call goes on from there: lines just seen would be found in a cache. */
void pointer_chase(Task *t) {
    void **p = t->b;
    for (int64_t r = 0; r < t->repeats; r++) p = *p;
    t->answer = (uint64_t)((char *)p - (char *)t->b);
    t->b = p;
}

#define FOUR(X) X X X X
/* `repeats` times 64 additions of a register to itself: one clock each on every current core. */
void one_clock_each(Task *t) {
    uint64_t x = 1;
    for (int64_t r = 0; r < t->repeats; r++) {
#if defined(__x86_64__)
        __asm__ volatile(FOUR(FOUR(FOUR("add %0, %0\n\t"))) : "+r"(x) : : "cc");
#elif defined(__aarch64__)
        __asm__ volatile(FOUR(FOUR(FOUR("add %0, %0, %0\n\t"))) : "+r"(x));
#else
        for (int k = 0; k < 64; k++) {
            x += x;
            __asm__ volatile("" : "+r"(x));
        }
#endif
    }
    t->answer = x;
}

static void nothing(Task *t) { t->answer++; }
static Kernel volatile callee = nothing;

/* `repeats` calls through a pointer; the answer counts them. */
void call(Task *t) {
    t->answer = 0;
    for (int64_t r = 0; r < t->repeats; r++) callee(t);
}

typedef struct {
    atomic_long generation, done;
    atomic_int quit;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int blocks;
} Pool;

static void *serve(void *argument) {
    Pool *pool = argument;
    for (long seen = 0;; seen++) {
        for (long spins = 0; atomic_load_explicit(&pool->generation, memory_order_acquire) == seen;
             spins++) {
            if (pool->blocks && spins > 64) {
                pthread_mutex_lock(&pool->lock);
                while (atomic_load(&pool->generation) == seen)
                    pthread_cond_wait(&pool->wake, &pool->lock);
                pthread_mutex_unlock(&pool->lock);
            } else if (spins > 1000000) {
                sched_yield();
            }
        }
        if (atomic_load(&pool->quit)) return NULL;
        atomic_fetch_add(&pool->done, 1);
    }
}

static void release(Pool *pool) {
    if (!pool->blocks) {
        atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

/* Where other programs have the processors, a round takes a turn of the scheduler, and a thousand
   of them seconds: after so many seconds the rest is taken to be like what was seen. */
#define ENOUGH_S 0.05
#define BATCH 8
#define MOST_BATCHES 4096

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds for `repeats` rounds of: hand work to count - 1 others, wait until all are done.
   The others spin, or block in the kernel when `blocks` is set. Below zero: no threads.
   The median of batches counts: a virtual machine preempts whoever spins now and then, for
   thousands of rounds. */
double dispatch(int count, int blocks, int64_t repeats) {
    Pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
    pool.blocks = blocks;
    int others = count - 1, made = 0, batches = 0;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    double *times = calloc(MOST_BATCHES, sizeof *times);
    if (!threads || !times) return -1;
    while (made < others && !pthread_create(threads + made, NULL, serve, &pool)) made++;
    double start = 0, before = 0;
    /* The first batch waits until all have started: it is not timed. */
    for (int64_t r = 0; made == others && batches < MOST_BATCHES; r++) {
        if (r % BATCH == 0 && r > 0) {
            double now = seconds_now();
            if (r > BATCH) times[batches++] = now - before;
            else start = now;
            if (batches * (int64_t)BATCH >= repeats || (batches && now - start > ENOUGH_S)) break;
            before = seconds_now();
        }
        release(&pool);
        for (long spins = 0; atomic_load(&pool.done) < (r + 1) * others; spins++)
            if (spins > 1000000) sched_yield();
    }
    qsort(times, (size_t)batches, sizeof *times, ascending);
    double time = batches ? times[batches / 2] / BATCH * (double)repeats : -1;
    atomic_store(&pool.quit, 1);
    release(&pool);
    for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
    free(threads);
    free(times);
    return time;
}
