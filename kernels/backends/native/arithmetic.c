/* Multiply-add chains, more than latency times pipes of them, operands in registers.

   Each starts from the vectors of b, makes `repeats` times STEPS steps and leaves the result in a:
   x = 0.75 x + 0.25 for floating point, x = 5 x + 7 for integers, acc += b . c for dot products. */
#include "task.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

#define CHAINS 12
#define STEPS 8

#define MULTIPLY_ADD(NAME, VECTOR, A, B)                                  \
    void NAME(Task *t) {                                                  \
        VECTOR x[CHAINS];                                                 \
        for (int k = 0; k < CHAINS; k++) x[k] = ((const VECTOR *)t->b)[k]; \
        for (int64_t r = 0; r < t->repeats; r++)                          \
            _Pragma("GCC unroll 8") for (int s = 0; s < STEPS; s++)       \
                _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS; k++) \
                    x[k] = x[k] * (A) + (B);                              \
        for (int k = 0; k < CHAINS; k++) ((VECTOR *)t->a)[k] = x[k];      \
    }

MULTIPLY_ADD(fma_f32, f32v, 0.75f, 0.25f)
MULTIPLY_ADD(fma_f64, f64v, 0.75, 0.25)
MULTIPLY_ADD(fma_i32, i32v, 5, 7)

#if defined(__AVX512FP16__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
typedef _Float16 f16v __attribute__((vector_size(VECTOR_BYTES)));
MULTIPLY_ADD(fma_f16, f16v, (_Float16)0.75f, (_Float16)0.25f)
#endif

#define DOT(NAME, VECTOR, INTO)                                            \
    void NAME(Task *t) {                                                   \
        VECTOR x[CHAINS], p = *(const VECTOR *)t->b, q = *(const VECTOR *)t->c; \
        for (int k = 0; k < CHAINS; k++) x[k] = (VECTOR){0};               \
        for (int64_t r = 0; r < t->repeats; r++)                           \
            _Pragma("GCC unroll 8") for (int s = 0; s < STEPS; s++)        \
                _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS; k++)  \
                    INTO;                                                  \
        for (int k = 0; k < CHAINS; k++) ((VECTOR *)t->a)[k] = x[k];       \
    }

#if defined(__AVX512BF16__)
DOT(dot_bf16, __m512, x[k] = _mm512_dpbf16_ps(x[k], (__m512bh)p, (__m512bh)q))
#endif

#if defined(__AVX512VNNI__)
#define DOT_I8_BYTES 64
DOT(dot_i8, __m512i, x[k] = _mm512_dpbusd_epi32(x[k], p, q))
#elif defined(__AVXVNNI__)
#define DOT_I8_BYTES 32
DOT(dot_i8, __m256i, x[k] = _mm256_dpbusd_avx_epi32(x[k], p, q))
#elif defined(__ARM_FEATURE_DOTPROD)
#define DOT_I8_BYTES 16
DOT(dot_i8, int32x4_t, x[k] = vdotq_s32(x[k], (int8x16_t)p, (int8x16_t)q))
#endif

#ifdef DOT_I8_BYTES
/* Its instruction may be narrower than the widest vector. */
int dot_i8_bytes(void) { return DOT_I8_BYTES; }
#endif

/* Bytes of a vector, chains, steps: what one repeat does. */
int shape_of_work(int which) {
    const int shape[] = {VECTOR_BYTES, CHAINS, STEPS};
    return shape[which];
}
