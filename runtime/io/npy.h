/* NumPy's files: .npy arrays and .npz collections of them. Types without a NumPy name (bf16, f8,
 * s4, ...) are raw bytes of the right width ("|V2", "|V1"), one byte per element for types narrower
 * than a byte; the reader of an array gives its type.
 * Errors: INVALID with the file and the array's name.
 * Source: NumPy enhancement proposal 1, format versions 1 to 3. */
#ifndef HR_IO_NPY_H
#define HR_IO_NPY_H

#include "base/dtype.h"
#include "base/text.h"
#include "io/zip.h"

/* An array within a file: the contents of its header, and the place of its data. */
typedef struct npy {
  hr_buffer_t *buffer; /* retained */
  size_t offset_bytes; /* start of the data within the buffer */
  char kind;           /* 'b', 'i', 'u', 'f', 'c' or 'V' */
  hr_dtype_t dtype;    /* element type in files that name all types; else HR_TOKEN */
  bool swapped;        /* big-endian */
  bool column_major;
  int item_bytes;
  int rank;
  int64_t dims[HR_MAX_RANK];
  int64_t count;
} npy_t;

/* Reads the header of the array that has `size_bytes` bytes at `offset_bytes` of the buffer, which
 * is retained. `name` is for messages. */
hr_status_t npy_header(const char *name, hr_buffer_t *buffer, size_t offset_bytes,
                       size_t size_bytes, npy_t *out_npy);
/* FILE.npy, mapped. */
hr_status_t npy_open(const char *path, npy_t *out_npy);
void npy_deinit(npy_t *npy);

/* True if the array can be read as elements of this type. */
bool npy_is(const npy_t *npy, hr_dtype_t dtype);
/* "float32[3,2]", with the type name of NumPy or ml_dtypes, for messages; cut if it is long. */
#define NPY_TEXT 256
const char *npy_text(const npy_t *npy, char into[NPY_TEXT]);
/* The name of a type in NumPy or ml_dtypes: "float32", "bfloat16", "bool". */
const char *npy_type_name(hr_dtype_t dtype, char into[32]);
/* True if the bytes of the file, from offset_bytes on, can be used in place as elements of `dtype`,
 * which npy_is must accept: native order, row-major, no bits to mask, and aligned to the element
 * unless any_alignment. */
bool npy_is_direct(const npy_t *npy, hr_dtype_t dtype, bool any_alignment);
/* Converts the elements to row-major ones of `dtype`, which npy_is must accept. `to` has room for
 * npy->count elements. */
void npy_convert(const npy_t *npy, hr_dtype_t dtype, void *to);

/* Sign- or zero-extends elements of pred and of integers narrower than a byte, whose upper bits are
 * undefined in files. Other types stay unchanged. */
void npy_normalize(hr_dtype_t dtype, void *data, int64_t count);

typedef struct npz {
  zip_t zip;
} npz_t;

hr_status_t npz_open(const char *path, npz_t *out_npz);
hr_status_t npz_open_bytes(const char *name, hr_buffer_t *bytes,
                           npz_t *out_npz); /* zip_open_bytes */
void npz_deinit(npz_t *npz);
/* Member "NAME.npy"; *out_found false if there is none. */
hr_status_t npz_find(const npz_t *npz, const char *name, bool *out_found, npy_t *out_npy);
size_t npz_count(const npz_t *npz);
/* Name without ".npy". */
hr_str_t npz_name(const npz_t *npz, size_t index);

/* Writes a .npy file. Errors: UNAVAILABLE. */
hr_status_t npy_write(const char *path, hr_dtype_t dtype, int rank, const int64_t *dims,
                      const void *data, size_t size_bytes);
/* Adds an array to an archive that is being written. Shapes have at most HR_MAX_RANK dimensions.
 */
hr_status_t npz_add(zip_writer_t *writer, const char *name, hr_dtype_t dtype, int rank,
                    const int64_t *dims, const void *data, size_t size_bytes);

#endif
