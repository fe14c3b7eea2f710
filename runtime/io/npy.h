/* NumPy's files: .npy arrays and .npz collections of them.
 * Types that NumPy cannot name (bf16, f8, s4, ...) are raw bytes of the right width ("|V2", "|V1"),
 * one element after the other, sub-byte ones a byte each; the reader of an array says which type it
 * wants. Errors: INVALID with the file and the array's name. Source: NumPy enhancement proposal 1,
 * format versions 1 to 3. */
#ifndef HR_IO_NPY_H
#define HR_IO_NPY_H

#include "base/dtype.h"
#include "base/text.h"
#include "io/zip.h"

/* An array within a file: what its header says, and where its bytes are. */
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

/* Can the array be read as elements of this type? */
bool npy_is(const npy_t *npy, hr_dtype_t dtype);
/* "float32[3,2]", as NumPy and ml_dtypes name types: for messages; cut if it is long. */
#define NPY_TEXT 256
const char *npy_text(const npy_t *npy, char into[NPY_TEXT]);
/* The same name of a type: "float32", "bfloat16", "bool". */
const char *npy_type_name(hr_dtype_t dtype, char into[32]);
/* True if the bytes of the file serve as elements of a type that npy_is: native order, row-major,
 * no bits to mask; and aligned to the element, unless any_alignment. They then start at
 * offset_bytes of the buffer. */
bool npy_is_direct(const npy_t *npy, hr_dtype_t dtype, bool any_alignment);
/* Converts the elements to row-major ones of a type that npy_is. `to` has room for npy->count. */
void npy_convert(const npy_t *npy, hr_dtype_t dtype, void *to);

/* Raw bytes may carry anything above the bits of a pred or of an integer narrower than a byte: in
 * memory it is sign- or zero-extended. Other types stay as they are. */
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

/* An array as a file of its own. Errors: UNAVAILABLE. */
hr_status_t npy_write(const char *path, hr_dtype_t dtype, int rank, const int64_t *dims,
                      const void *data, size_t size_bytes);
/* Adds an array to an archive that is being written. Shapes have at most HR_MAX_RANK dimensions.
 */
hr_status_t npz_add(zip_writer_t *writer, const char *name, hr_dtype_t dtype, int rank,
                    const int64_t *dims, const void *data, size_t size_bytes);

#endif
