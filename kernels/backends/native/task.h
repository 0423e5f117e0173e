/* What one thread of a probe works on; kernels/compiled.py mirrors the layout. */
#ifndef PERFC_TASK_H
#define PERFC_TASK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

typedef float f32v __attribute__((vector_size(VECTOR_BYTES)));
typedef double f64v __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t i32v __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t u32v __attribute__((vector_size(VECTOR_BYTES)));

typedef struct {
    void *a;         /* results, or what is written */
    void *b;         /* operands */
    void *c;         /* more operands */
    size_t bytes;    /* of each buffer */
    int64_t repeats; /* passes over the buffers, steps of a chain, calls */
    uint64_t answer; /* a checksum, where there is one */
} Task;

typedef void (*Kernel)(Task *);

/* A value the compiler must have in memory, or must take as changed. */
#define CLOBBER() __asm__ volatile("" ::: "memory")

double seconds_now(void);

#endif
