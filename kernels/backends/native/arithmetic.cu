/* Multiply-add chains, dot products and special functions: operands in registers, eight chains a
   thread. Each starts from `start`, taken cyclically, and writes what it ends with to `out`. */
#define CHAINS 8
#define STEPS 16

#define CHAIN(NAME, TYPE, STEP)                                                            \
    extern "C" __global__ void NAME(TYPE *out, const TYPE *start, int given, int repeats) { \
        long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * CHAINS;        \
        TYPE x[CHAINS];                                                                    \
        _Pragma("unroll") for (int k = 0; k < CHAINS; k++) x[k] = start[(at + k) % given]; \
        for (int r = 0; r < repeats; r++) {                                                \
            _Pragma("unroll") for (int s = 0; s < STEPS; s++) {                            \
                _Pragma("unroll") for (int k = 0; k < CHAINS; k++) { STEP; }               \
            }                                                                              \
        }                                                                                  \
        _Pragma("unroll") for (int k = 0; k < CHAINS; k++) out[at + k] = x[k];             \
    }

/* x = 0.75 x + 0.25; constants as bits, two 16-bit values a register: as immediates, which `repeats`
   prevents, they bind every instruction to one of the two units that sm_80 has for them. */
CHAIN(fma_f32, float,
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[k]) : "f"(0.75f), "f"(0.25f)))
CHAIN(fma_f64, double,
      asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x[k]) : "d"(0.75), "d"(0.25)))
CHAIN(fma_f16, unsigned,
      asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x[k]) : "r"(0x3A003A00u + (repeats < 0)),
                                                          "r"(0x34003400u + (repeats < 0))))
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
CHAIN(fma_bf16, unsigned,
      asm volatile("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x[k]) : "r"(0x3F403F40u + (repeats < 0)),
                                                           "r"(0x3E803E80u + (repeats < 0))))
#endif
CHAIN(fma_i32, int, asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(x[k]) : "r"(5), "r"(7)))

/* The assembler removes pairs of reciprocals; an addition, on other units, prevents that. */
#define UNARY(NAME, INSTRUCTION)                                                           \
    CHAIN(NAME, float, asm volatile(INSTRUCTION ".ftz.f32 %0, %0;\n\t"                     \
                                    "add.ftz.f32 %0, %0, %1;" : "+f"(x[k]) : "f"(0.25f)))  \
    extern "C" __global__ void NAME##_once(float *out, const float *start, int given) {    \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
        float x = i < given ? start[i] : 1.0f;                                             \
        asm volatile(INSTRUCTION ".ftz.f32 %0, %0;" : "+f"(x));                            \
        if (i < given) out[i] = x;                                                         \
    }
UNARY(special_exp2, "ex2.approx")
UNARY(special_rsqrt, "rsqrt.approx")
UNARY(special_reciprocal, "rcp.approx")

/* acc += four products of bytes; p and q taken cyclically, `given` words of them. */
extern "C" __global__ void dot_i8(int *out, const int *p, const int *q, int given, int repeats) {
    long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * CHAINS;
    int x[CHAINS], a[CHAINS], b[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) {
        x[k] = 0;
        a[k] = p[(at + k) % given];
        b[k] = q[(at + k) % given];
    }
    for (int r = 0; r < repeats; r++) {
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
#pragma unroll
            for (int k = 0; k < CHAINS; k++)
                asm volatile("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(x[k]) : "r"(a[k]), "r"(b[k]));
        }
    }
#pragma unroll
    for (int k = 0; k < CHAINS; k++) out[at + k] = x[k];
}
