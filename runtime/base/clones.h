/* HR_CLONES("avx2", "default"): the function that follows exists once for each of these processors,
 * and the loader chooses. Not in builds for ThreadSanitizer, which is not there yet when it
 * chooses. */
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
