/* Kernels of networks on one core: packed products of three shapes and types, a blocked direct and a
   depthwise convolution, a transposition, pages touched first.

   NAME(task) works in the NETWORK_BYTES of a. NAME_ready(a, check) fills them and returns the
   deviation from plain loops where `check` is set; NAME_count() is the work of one repeat. */
#define _GNU_SOURCE
#include "task.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

#define LANES (VECTOR_BYTES / 4)
#define COLUMNS (2 * LANES)
#if defined(__AVX512F__)
#define ROWS 12
#elif defined(__aarch64__)
#define ROWS 8
#else
#define ROWS 6
#endif
#define NETWORK_BYTES (8 << 20)
#define INLINE static inline __attribute__((always_inline))
#define EACH_ROW _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++)

int64_t network_bytes(void) { return NETWORK_BYTES; }

/* Small numbers whose sums of products are exact in every type. */
static int small(int64_t i) { return (int)((i * 31 + i / 15) % 15); }

static int32_t four_bytes(const void *p) {
    int32_t word;
    memcpy(&word, p, 4);
    return word;
}

/* c = a b: a by rows, b packed by GROUP rows and COLUMNS columns as runtimes pack weights. The operands
   of one multiplication of a lane are GROUP neighbors. */
#define PRODUCT(TYPE, ELEMENT, RESULT, VECTOR, GROUP, STEP, OF, VALUE)                              \
    INLINE void tile_##TYPE(const ELEMENT *a, const ELEMENT *b, RESULT *c, int rows, long n, long k) { \
        VECTOR x[ROWS][2];                                                                           \
        const VECTOR *w = (const void *)b;                                                           \
        memset(x, 0, sizeof x);                                                                      \
        for (long p = 0; p < k / GROUP; p++) {                                                        \
            const VECTOR b0 = w[2 * p], b1 = w[2 * p + 1];                                           \
            EACH_ROW {                                                                               \
                const ELEMENT *at = a + r * k + p * GROUP;                                           \
                x[r][0] = STEP(x[r][0], at, b0);                                                     \
                x[r][1] = STEP(x[r][1], at, b1);                                                     \
            }                                                                                        \
        }                                                                                            \
        EACH_ROW memcpy(c + r * n, x[r], sizeof x[r]);                                               \
    }                                                                                                \
    INLINE void product_##TYPE(Task *t, long m, long n, long k) {                                       \
        const ELEMENT *a = t->a, *b = a + m * k;                                                     \
        RESULT *c = (RESULT *)(b + k * n);                                                           \
        for (int64_t r = 0; r < t->repeats; r++)                                                     \
            for (long j = 0; j < n; j += COLUMNS) {                                                   \
                long i = 0;                                                                          \
                for (; i + ROWS <= m; i += ROWS)                                                     \
                    tile_##TYPE(a + i * k, b + j * k, c + i * n + j, ROWS, n, k);                    \
                for (; i < m; i++) tile_##TYPE(a + i * k, b + j * k, c + i * n + j, 1, n, k);        \
            }                                                                                        \
        t->answer = (uint64_t)c[0];                                                                  \
    }                                                                                                \
    static double ready_##TYPE(void *base, int m, int n, int k, int check) {                         \
        ELEMENT *a = base, *b = a + m * k;                                                           \
        for (int i = 0; i < m * k + k * n; i++) a[i] = OF(small(i));                                 \
        if (!check) return 0;                                                                        \
        Task task = {.a = base, .repeats = 1};                                                       \
        product_##TYPE(&task, m, n, k);                                                              \
        const RESULT *c = (const RESULT *)(b + k * n);                                               \
        double worst = 0;                                                                            \
        for (int i = 0; i < m; i++)                                                                  \
            for (int j = 0; j < n; j++) {                                                            \
                double sum = 0;                                                                      \
                for (int p = 0; p < k; p++) {                                                        \
                    int row = p / GROUP * COLUMNS + j % COLUMNS;                                     \
                    int at = j / COLUMNS * COLUMNS * k + row * GROUP + p % GROUP;                    \
                    sum += VALUE(a[i * k + p]) * VALUE(b[at]);                                       \
                }                                                                                    \
                worst = fmax(worst, fabs(sum - (double)c[i * n + j]));                               \
            }                                                                                        \
        return worst;                                                                                \
    }                                                                                                \
    SHAPE(small_##TYPE, TYPE, 60, 64, 64)                                                            \
    SHAPE(skinny_##TYPE, TYPE, 8, 256, 1024)                                                         \
    SHAPE(packed_##TYPE, TYPE, 192, 384, 384)

#define SHAPE(NAME, TYPE, M, N, K)                                                          \
    void NAME(Task *t) { product_##TYPE(t, M, N, K); }                                      \
    double NAME##_ready(void *base, int check) { return ready_##TYPE(base, M, N, K, check); } \
    double NAME##_count(void) { return (double)(M) * (N) * (K); }

#define PLAIN(x) (x)
#define STEP_F32(sum, a, b) ((sum) + *(a) * (b))
PRODUCT(f32, float, float, f32v, 1, STEP_F32, (float), PLAIN)

#if defined(__AVX512BF16__)
static uint16_t of_bf16(int x) {
    float f = (float)x;
    return (uint16_t)((uint32_t)four_bytes(&f) >> 16);
}
static double value_bf16(uint16_t x) {
    uint32_t word = (uint32_t)x << 16;
    float f;
    memcpy(&f, &word, 4);
    return f;
}
#define STEP_BF16(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(four_bytes(a)), (__m512bh)(b))
PRODUCT(bf16, uint16_t, float, __m512, 2, STEP_BF16, of_bf16, value_bf16)
#endif

#if defined(__AVX512VNNI__)
#define STEP_I8(sum, a, b) _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(four_bytes(a)), b)
PRODUCT(i8, int8_t, int32_t, __m512i, 4, STEP_I8, (int8_t), PLAIN)
#elif defined(__AVXVNNI__)
#define STEP_I8(sum, a, b) _mm256_dpbusd_avx_epi32(sum, _mm256_set1_epi32(four_bytes(a)), b)
PRODUCT(i8, int8_t, int32_t, __m256i, 4, STEP_I8, (int8_t), PLAIN)
#elif defined(__ARM_FEATURE_DOTPROD)
#define STEP_I8(sum, a, b) vdotq_s32(sum, (int8x16_t)(b), (int8x16_t)vdupq_n_s32(four_bytes(a)))
PRODUCT(i8, int8_t, int32_t, int32x4_t, 4, STEP_I8, (int8_t), PLAIN)
#endif

/* A convolution of 3 x 3 whose channels lie in blocks of a vector: INTO blocks become two. */
#define HIGH 8
#define WIDE 24
#define INTO (64 / LANES)

INLINE void pixels(const float *in, const f32v *w, f32v *out, int rows) {
    f32v x[ROWS][2];
    memset(x, 0, sizeof x);
    for (int block = 0; block < INTO; block++, in += (HIGH + 2) * (WIDE + 2) * LANES)
        for (int tap = 0; tap < 9; tap++) {
            const float *from = in + (tap / 3 * (WIDE + 2) + tap % 3) * LANES;
            for (int lane = 0; lane < LANES; lane++, w += 2)
                EACH_ROW {
                    x[r][0] += from[r * LANES + lane] * w[0];
                    x[r][1] += from[r * LANES + lane] * w[1];
                }
        }
    EACH_ROW {
        out[r] = x[r][0];
        out[r + HIGH * WIDE] = x[r][1];
    }
}

#define FILTERS(base) ((f32v *)(base) + INTO * (HIGH + 2) * (WIDE + 2))
#define MAPS(base) (FILTERS(base) + INTO * 9 * LANES * 2)

void direct_f32(Task *t) {
    const float *in = t->a;
    f32v *out = MAPS(t->a);
    for (int64_t r = 0; r < t->repeats; r++) {
        for (int y = 0; y < HIGH; y++)
            for (int x = 0; x < WIDE; x += ROWS)
                pixels(in + (y * (WIDE + 2) + x) * LANES, FILTERS(t->a), out + y * WIDE + x, ROWS);
        CLOBBER();
    }
}

static void small_floats(void *base, const void *end) {
    float *p = base;
    for (int64_t i = 0; p < (const float *)end; i++) *p++ = (float)small(i);
}

double direct_f32_ready(void *base, int check) {
    const float *in = base, *w = (const float *)FILTERS(base), *out = (const float *)MAPS(base);
    small_floats(base, out);
    if (!check) return 0;
    Task task = {.a = base, .repeats = 1};
    direct_f32(&task);
    double worst = 0;
    for (int at = 0; at < HIGH * WIDE * COLUMNS; at++) {
        int filter = at / (HIGH * WIDE * LANES), pixel = at / LANES % (HIGH * WIDE);
        double sum = 0;
        for (int c = 0; c < INTO * LANES; c++)
            for (int tap = 0; tap < 9; tap++) {
                int row = c / LANES * (HIGH + 2) + pixel / WIDE + tap / 3;
                int from = row * (WIDE + 2) + pixel % WIDE + tap % 3;
                int weight = (c / LANES * 9 + tap) * LANES + c % LANES;
                sum += (double)in[from * LANES + c % LANES] * w[(weight * 2 + filter) * LANES + at % LANES];
            }
        worst = fmax(worst, fabs(sum - out[at]));
    }
    return worst;
}

double direct_f32_count(void) { return HIGH * WIDE * COLUMNS * 9.0 * INTO * LANES; }

/* Each channel by itself, 3 x 3 over blocks of channels. */
#define SIDE 14

void depthwise_f32(Task *t) {
    const f32v *in = t->a, *w = in + (SIDE + 2) * (SIDE + 2);
    f32v *out = (f32v *)w + 9;
    for (int64_t r = 0; r < t->repeats; r++) {
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                const f32v *p = in + y * (SIDE + 2) + x;
                f32v sum = p[0] * w[0];
                _Pragma("GCC unroll 8") for (int tap = 1; tap < 9; tap++)
                    sum += p[tap / 3 * (SIDE + 2) + tap % 3] * w[tap];
                out[y * SIDE + x] = sum;
            }
        CLOBBER();
    }
}

double depthwise_f32_ready(void *base, int check) {
    const float *in = base, *w = in + (SIDE + 2) * (SIDE + 2) * LANES, *out = w + 9 * LANES;
    small_floats(base, out);
    if (!check) return 0;
    Task task = {.a = base, .repeats = 1};
    depthwise_f32(&task);
    double worst = 0;
    for (int at = 0; at < SIDE * SIDE * LANES; at++) {
        int y = at / LANES / SIDE, x = at / LANES % SIDE;
        double sum = 0;
        for (int tap = 0; tap < 9; tap++)
            sum += in[((y + tap / 3) * (SIDE + 2) + x + tap % 3) * LANES + at % LANES] *
                   w[tap * LANES + at % LANES];
        worst = fmax(worst, fabs(sum - out[at]));
    }
    return worst;
}

double depthwise_f32_count(void) { return SIDE * SIDE * 9.0 * LANES; }

/* out[x][y] = in[y][x] of 512 x 1024 floats, in squares of sixteen. */
#define TALL 512
#define BROAD 1024

void transposed_f32(Task *t) {
    const float *in = t->a;
    float *out = (float *)t->a + TALL * BROAD;
    for (int64_t r = 0; r < t->repeats; r++) {
        for (int y = 0; y < TALL; y += 16)
            for (int x = 0; x < BROAD; x += 16)
                for (int i = 0; i < 16; i++)
                    for (int j = 0; j < 16; j++) out[(x + i) * TALL + y + j] = in[(y + j) * BROAD + x + i];
        CLOBBER();
    }
}

double transposed_f32_ready(void *base, int check) {
    const float *in = base, *out = in + TALL * BROAD;
    small_floats(base, out);
    if (!check) return 0;
    Task task = {.a = base, .repeats = 1};
    transposed_f32(&task);
    for (int i = 0; i < TALL * BROAD; i++)
        if (out[i % BROAD * TALL + i / BROAD] != in[i]) return 1;
    return 0;
}

double transposed_f32_count(void) { return 8.0 * TALL * BROAD; }

/* Pages from the system, each written to once, and back. */
#define TOUCHED (4 << 20)

void touched_pages(Task *t) {
    for (int64_t r = 0; r < t->repeats; r++) {
        char *p = mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) continue;
        for (size_t at = 0; at < TOUCHED; at += 4096) p[at] = 1;
        CLOBBER();
        munmap(p, TOUCHED);
    }
}

double touched_pages_ready(void *base, int check) {
    (void)base, (void)check;
    return 0;
}

double touched_pages_count(void) { return TOUCHED; }
