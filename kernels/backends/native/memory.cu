/* Streams: every block passes `repeats` times over its own part of `words` 16-byte words. */
#define FOUR(X) X(0) X(1) X(2) X(3)

/* volatile: each pass reads again, from L2 (cg) or from L1 too (ca); blocks of a multiprocessor
   pass over their parts one after another, so that together they may exceed its L1 and yet hit */
#define FETCH(NAME, CACHE)                                            \
    __device__ __forceinline__ uint4 NAME(const uint4 *p) {           \
        uint4 v;                                                      \
        asm volatile("ld.global." CACHE ".v4.u32 {%0, %1, %2, %3}, [%4];" \
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)     \
                     : "l"(p));                                       \
        return v;                                                     \
    }
FETCH(fetch, "cg")
FETCH(fetch_near, "ca")

__device__ __forceinline__ void store(uint4 *p, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/* Adds the 32-bit words of b to `sum`, modulo 2^32, once for each repeat. */
template <uint4 (*load)(const uint4 *)>
__device__ void add_up(const uint4 *b, long long words, int repeats, unsigned *sum) {
    const uint4 *p = b + (long long)blockIdx.x * words;
    unsigned total = 0;
    int step = blockDim.x;
    for (int r = 0; r < repeats; r++) {
        long long i = threadIdx.x;
        for (; i + 3 * step < words; i += 4 * step) {
            uint4 v[4];
#define X(k) v[k] = load(p + i + k * step);
            FOUR(X)
#undef X
#define X(k) total += v[k].x + v[k].y + v[k].z + v[k].w;
            FOUR(X)
#undef X
        }
        for (; i < words; i += step) {
            uint4 v = load(p + i);
            total += v.x + v.y + v.z + v.w;
        }
    }
    for (int lane = 16; lane; lane >>= 1) total += __shfl_down_sync(0xFFFFFFFFu, total, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, total);
}

extern "C" __global__ void read_stream(
    uint4 *a, const uint4 *b, const uint4 *c, long long words, int repeats, unsigned *sum) {
    add_up<fetch>(b, words, repeats, sum);
}

extern "C" __global__ void near_stream(
    uint4 *a, const uint4 *b, const uint4 *c, long long words, int repeats, unsigned *sum) {
    add_up<fetch_near>(b, words, repeats, sum);
}

/* a = the first word of b. */
extern "C" __global__ void write_stream(
    uint4 *a, const uint4 *b, const uint4 *c, long long words, int repeats, unsigned *sum) {
    uint4 *q = a + (long long)blockIdx.x * words;
    uint4 value = b[0];
    for (int r = 0; r < repeats; r++)
        for (long long i = threadIdx.x; i < words; i += blockDim.x) store(q + i, value);
}

/* a = b. */
extern "C" __global__ void copy_stream(
    uint4 *a, const uint4 *b, const uint4 *c, long long words, int repeats, unsigned *sum) {
    long long first = (long long)blockIdx.x * words;
    int step = blockDim.x;
    for (int r = 0; r < repeats; r++) {
        long long i = first + threadIdx.x, end = first + words;
        for (; i + 3 * step < end; i += 4 * step) {
            uint4 v[4];
#define X(k) v[k] = fetch(b + i + k * step);
            FOUR(X)
#undef X
#define X(k) store(a + i + k * step, v[k]);
            FOUR(X)
#undef X
        }
        for (; i < end; i += step) store(a + i, fetch(b + i));
    }
}

__device__ __forceinline__ unsigned scaled(unsigned b, unsigned c) {
    return __float_as_uint(fmaf(1.5f, __uint_as_float(c), __uint_as_float(b)));
}

/* a = b + 1.5 c, in single precision. Source: McCalpin, STREAM. */
extern "C" __global__ void triad_stream(
    uint4 *a, const uint4 *b, const uint4 *c, long long words, int repeats, unsigned *sum) {
    long long first = (long long)blockIdx.x * words;
    int step = blockDim.x;
    for (int r = 0; r < repeats; r++) {
        long long i = first + threadIdx.x, end = first + words;
        for (; i + step < end; i += 2 * step) {
            uint4 p0 = fetch(b + i), q0 = fetch(c + i);
            uint4 p1 = fetch(b + i + step), q1 = fetch(c + i + step);
            store(a + i, make_uint4(scaled(p0.x, q0.x), scaled(p0.y, q0.y), scaled(p0.z, q0.z),
                                    scaled(p0.w, q0.w)));
            store(a + i + step, make_uint4(scaled(p1.x, q1.x), scaled(p1.y, q1.y),
                                           scaled(p1.z, q1.z), scaled(p1.w, q1.w)));
        }
        for (; i < end; i += step) {
            uint4 p = fetch(b + i), q = fetch(c + i);
            store(a + i,
                  make_uint4(scaled(p.x, q.x), scaled(p.y, q.y), scaled(p.z, q.z), scaled(p.w, q.w)));
        }
    }
}
