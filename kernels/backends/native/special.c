/* Special functions over a buffer that stays in L1: a[i] = f(b[i]), single precision. */
#include "task.h"

#include <math.h>

/* e^x for |x| < 87: x = k ln 2 + r, a polynomial in r, k into the exponent.
   Source: Moshier, Cephes, expf; relative error about 2e-7. */
static inline f32v exp_vector(f32v x) {
    f32v y = x * 1.44269504f;
    /* adding 1.5 * 2^23 rounds to the nearest integer */
    f32v k = (y + 12582912.0f) - 12582912.0f;
    f32v r = x - k * 0.693359375f + k * 2.12194440e-4f;
    f32v p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    i32v exponent = __builtin_convertvector(k, i32v) + 127;
    return p * (f32v)(exponent << 23);
}

#define OVER_BUFFER(NAME, EXPRESSION)                                      \
    void NAME(Task *t) {                                                   \
        for (int64_t r = 0; r < t->repeats; r++) {                         \
            const f32v *p = t->b;                                          \
            f32v *q = t->a;                                                \
            for (size_t i = 0; i < t->bytes / VECTOR_BYTES; i++) {         \
                f32v x = p[i];                                             \
                q[i] = EXPRESSION;                                         \
            }                                                              \
            CLOBBER();                                                     \
        }                                                                  \
    }

static inline f32v sqrt_vector(f32v x) {
    f32v y;
    for (size_t k = 0; k < VECTOR_BYTES / 4; k++) y[k] = sqrtf(x[k]);
    return y;
}

/* Source: Abramowitz & Stegun 1964, 7.1.26; absolute error below 1.5e-7. */
static inline f32v erf_vector(f32v x) {
    i32v sign = (i32v)x & ((i32v){0} - 0x7fffffff - 1);
    f32v y = (f32v)((i32v)x ^ sign), nine = (f32v){0} + 9.0f;
    i32v far = y > nine;
    y = (f32v)(((i32v)y & ~far) | ((i32v)nine & far));
    f32v t = 1.0f / (1.0f + 0.3275911f * y);
    f32v p = 1.061405429f * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = (p * t + 0.254829592f) * t;
    return (f32v)((i32v)(1.0f - p * exp_vector(-y * y)) | sign);
}

OVER_BUFFER(special_exp, exp_vector(x))
OVER_BUFFER(special_erf, erf_vector(x))
OVER_BUFFER(special_sqrt, sqrt_vector(x))
OVER_BUFFER(special_reciprocal, 1.0f / x)
