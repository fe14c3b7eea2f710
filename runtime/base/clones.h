/* HR_CLONES("avx2", "default"): compiles the next function once for each of these instruction sets;
 * the loader selects one. No clones in builds for ThreadSanitizer, which is not initialised yet
 * when the loader selects. */
#ifndef HR_BASE_CLONES_H
#define HR_BASE_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define HR_HAS_CLONES 1
#define HR_CLONES(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define HR_HAS_CLONES 0
#define HR_CLONES(...)
#endif

#endif
