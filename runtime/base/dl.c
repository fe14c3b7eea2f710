#include "base/dl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct library {
  const char *what;
  const char *files[4]; /* in order of preference, up to a NULL */
  void *(*open)(const char *file);
  void *handle;
} library_t;

static void *open_plainly(const char *file) { return dlopen(file, RTLD_NOW | RTLD_LOCAL); }

/* OpenBLAS from before a processor of AMD with AVX-512 takes it for one without, at half the speed. */
static const char *better_core(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
#endif
  return NULL;
}

/* OpenBLAS reads its settings while it is opened. It would start a thread per core, but the cores are shared out
 * already, among the processes of the machine and the workers of each. */
static void *open_blas(const char *file) {
  const char *core = getenv("OPENBLAS_CORETYPE") ? NULL : better_core();
  bool threads_told = getenv("OPENBLAS_NUM_THREADS");
  if (core) setenv("OPENBLAS_CORETYPE", core, 1);
  if (!threads_told) setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *handle = open_plainly(file);
  if (core) unsetenv("OPENBLAS_CORETYPE");
  if (!threads_told) unsetenv("OPENBLAS_NUM_THREADS");
  void (*set_threads)(int) = handle ? (void (*)(int))dlsym(handle, "openblas_set_num_threads") : NULL;
  if (set_threads) set_threads(1);
  return handle;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static library_t libraries[HR_LIBRARY_COUNT] = {
    [HR_LIBRARY_LAPACK] = {"LAPACK", {"libopenblas.so.0", "liblapack.so.3", NULL}, open_blas, NULL},
    [HR_LIBRARY_FFTW] = {"FFTW", {"libfftw3.so.3", NULL}, open_plainly, NULL},
    [HR_LIBRARY_FFTWF] = {"FFTW for floats", {"libfftw3f.so.3", NULL}, open_plainly, NULL},
    [HR_LIBRARY_DNNL] = {"oneDNN", {"libdnnl.so.2", NULL}, open_plainly, NULL},
};

static hr_status_t open_library(library_t *library) {
  for (int i = 0; library->files[i] && !library->handle; i++)
    library->handle = library->open(library->files[i]);
  if (!library->handle)
    return hr_error(HR_UNAVAILABLE, "this program needs %s, but none of its files (%s%s%s) can be opened: install it",
                    library->what, library->files[0], library->files[1] ? ", " : "",
                    library->files[1] ? library->files[1] : "");
  return NULL;
}

hr_status_t hr_dl_symbol(hr_library_t which, const char *symbol, void **out_address) {
  library_t *library = &libraries[which];
  pthread_mutex_lock(&lock);
  hr_status_t st = library->handle ? NULL : open_library(library);
  pthread_mutex_unlock(&lock);
  if (st) return st;
  void *address = dlsym(library->handle, symbol);
  if (!address) return hr_error(HR_UNAVAILABLE, "%s has no function '%s'", library->what, symbol);
  *out_address = address;
  return NULL;
}
