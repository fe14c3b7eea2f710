/* Shared libraries that are opened when the first program needs them: one that needs no LAPACK pays
 * nothing for it. Thread: any. The libraries stay open until the process ends. */
#ifndef HR_BASE_DL_H
#define HR_BASE_DL_H

#include "base/status.h"

typedef enum hr_library {
  HR_LIBRARY_LAPACK, /* with BLAS; kept to one thread where it has its own */
  HR_LIBRARY_FFTW,   /* double */
  HR_LIBRARY_FFTWF,  /* float */
  HR_LIBRARY_DNNL,   /* oneDNN; ops/kernels/libs/onednn.h keeps it to one thread */
  HR_LIBRARY_COUNT
} hr_library_t;

/* dlopen() of a file that somebody has named: not of pipes, which would wait, nor of devices.
 * NULL: *out_reason says why, until the next call. */
void *hr_dl_open(const char *file, int flags, const char **out_reason);

/* The address of a function. Errors: UNAVAILABLE with the files that were looked for, or the symbol
 * that is missing. */
hr_status_t hr_dl_symbol(hr_library_t library, const char *symbol, void **out_address);

/* What dlsym() finds by a name through an open library. */
typedef enum hr_dl_found {
  HR_DL_NOTHING,
  HR_DL_FOREIGN, /* only in a library that this one needs, libc among them */
  HR_DL_DATA,    /* in the library itself, but no function */
  HR_DL_FUNCTION
} hr_dl_found_t;
/* A function that the library itself defines: *out_address is set for HR_DL_FUNCTION only. */
hr_dl_found_t hr_dl_find_function(void *library, const char *name, void **out_address);

/* Opens a module of hlorun's own, such as "transport_mpi.so": from the folder HLORUN_MODULE_DIR,
 * from where a build or an installation has it beside the executable, or from where this build
 * installs it. `flags` as of dlopen. Errors: UNAVAILABLE with the paths that were tried. */
hr_status_t hr_dl_module(const char *file, int flags, void **out_module);

#endif
