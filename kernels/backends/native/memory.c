/* Streams over buffers: read, write, copy, triad, and the fill that touches pages first. */
#include "task.h"

#include <string.h>

#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define BLOCKS(t) ((t)->bytes / (8 * VECTOR_BYTES))

/* Sum of all 32-bit words of b, modulo 2^32. */
void read_stream(Task *t) {
    u32v s[8] = {{0}};
    for (int64_t r = 0; r < t->repeats; r++) {
        const u32v *p = t->b;
        for (size_t i = 0; i < BLOCKS(t); i++, p += 8) {
#define X(k) s[k] += p[k];
            EIGHT(X)
#undef X
        }
        CLOBBER();
    }
    u32v sum = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
    uint32_t answer = 0;
    for (size_t k = 0; k < VECTOR_BYTES / 4; k++) answer += sum[k];
    t->answer = answer;
}

/* a = the first vector of b, repeated. */
void write_stream(Task *t) {
    u32v value = *(const u32v *)t->b;
    for (int64_t r = 0; r < t->repeats; r++) {
        u32v *q = t->a;
        for (size_t i = 0; i < BLOCKS(t); i++, q += 8) {
#define X(k) q[k] = value;
            EIGHT(X)
#undef X
        }
        CLOBBER();
    }
}

/* a = b. */
void copy_stream(Task *t) {
    for (int64_t r = 0; r < t->repeats; r++) {
        const u32v *p = t->b;
        u32v *q = t->a;
        for (size_t i = 0; i < BLOCKS(t); i++, p += 8, q += 8) {
#define X(k) q[k] = p[k];
            EIGHT(X)
#undef X
        }
        CLOBBER();
    }
}

/* a = b + 1.5 c, in single precision. Source: McCalpin, STREAM. */
void triad_stream(Task *t) {
    for (int64_t r = 0; r < t->repeats; r++) {
        const f32v *p = t->b, *s = t->c;
        f32v *q = t->a;
        for (size_t i = 0; i < BLOCKS(t); i++, p += 8, s += 8, q += 8) {
#define X(k) q[k] = p[k] + 1.5f * s[k];
            EIGHT(X)
#undef X
        }
        CLOBBER();
    }
}

/* a = the bytes of b again and again, `repeats` of them: places pages near who will use them. */
void fill(Task *t) {
    for (size_t at = 0; at < t->bytes; at += (size_t)t->repeats) {
        size_t left = t->bytes - at;
        memcpy((char *)t->a + at, t->b, left < (size_t)t->repeats ? left : (size_t)t->repeats);
    }
}
