/* Dependent loads, a clock that counts, and a kernel that does nothing. */

/* One thread follows pointers from place[0] for `steps` steps and leaves there where it ends. */
extern "C" __global__ void pointer_chase(void **place, long long steps) {
    void **p = (void **)place[0];
    for (long long i = 0; i < steps; i++)
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p));
    place[0] = p;
}

/* Every multiprocessor waits until its clock has counted `cycles`. */
extern "C" __global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

extern "C" __global__ void nothing(void) {}
