/* Shared libraries that are opened when a program first needs them. They stay open until the
 * process ends. Thread: any. */
#ifndef HR_BASE_DL_H
#define HR_BASE_DL_H

#include "base/status.h"

typedef enum hr_library {
  HR_LIBRARY_LAPACK, /* with BLAS; limited to one thread if it is multi-threaded */
  HR_LIBRARY_FFTW,   /* double */
  HR_LIBRARY_FFTWF,  /* float */
  HR_LIBRARY_DNNL,   /* oneDNN; ops/kernels/libs/onednn.h limits it to one thread */
  HR_LIBRARY_COUNT
} hr_library_t;

/* dlopen() of a file named by the user; refuses pipes, which would block, and devices. NULL:
 * failed; *out_reason is valid until the next call. */
void *hr_dl_open(const char *file, int flags, const char **out_reason);

/* The address of a function. Errors: UNAVAILABLE with the files that were tried, or the missing
 * symbol. */
hr_status_t hr_dl_symbol(hr_library_t library, const char *symbol, void **out_address);

/* Result of dlsym() for a name in an open library. */
typedef enum hr_dl_found {
  HR_DL_NOTHING,
  HR_DL_FOREIGN, /* defined only in a dependency of the library, such as libc */
  HR_DL_DATA,    /* defined in the library itself, but no function */
  HR_DL_FUNCTION
} hr_dl_found_t;
/* Finds a function that the library itself defines; *out_address is set for HR_DL_FUNCTION only. */
hr_dl_found_t hr_dl_find_function(void *library, const char *name, void **out_address);

/* Opens a module of hlorun, such as "transport_mpi.so": from the folder HLORUN_MODULE_DIR, from its
 * place relative to the executable in a build or installation, or from this build's installation
 * folder. `flags` as for dlopen. Errors: UNAVAILABLE with the paths that were tried. */
hr_status_t hr_dl_module(const char *file, int flags, void **out_module);

#endif
