/* oneDNN, opened when the first kernel needs it, and its primitives for the compiled engine:
 * created once, run by any worker, one thread per call. The functions are those of its C API, by
 * their names without "dnnl_". Thread: any. */
#ifndef HLO_OPS_ONEDNN_H
#define HLO_OPS_ONEDNN_H

#include <dnnl.h>

#include "ops/kernels/native.h"

#define ONEDNN_FUNCTIONS(X)                      \
  X(get_effective_cpu_isa)                       \
  X(engine_create)                               \
  X(stream_create)                               \
  X(primitive_attr_create)                       \
  X(primitive_attr_destroy)                      \
  X(primitive_attr_set_scratchpad_mode)          \
  X(primitive_create)                            \
  X(primitive_destroy)                           \
  X(primitive_execute)                           \
  X(primitive_desc_create)                       \
  X(primitive_desc_destroy)                      \
  X(primitive_desc_query)                        \
  X(primitive_desc_query_md)                     \
  X(memory_create)                               \
  X(memory_destroy)                              \
  X(memory_set_data_handle)                      \
  X(memory_desc_init_by_strides)                 \
  X(memory_desc_init_by_tag)                     \
  X(memory_desc_get_size)                        \
  X(memory_desc_equal)                           \
  X(reorder_primitive_desc_create)               \
  X(matmul_desc_init)                            \
  X(dilated_convolution_forward_desc_init)       \
  X(dilated_convolution_backward_data_desc_init) \
  X(dilated_convolution_backward_weights_desc_init)

typedef struct onednn {
#define X(name) __typeof__(dnnl_##name) *name;
  ONEDNN_FUNCTIONS(X)
#undef X
  dnnl_engine_t engine;
  dnnl_stream_t stream;       /* only carries the engine: calls return when the work is done */
  dnnl_primitive_attr_t attr; /* scratchpads belong to the caller */
  int (*omp_get_max_threads)(void); /* NULL if oneDNN was built without OpenMP */
  void (*omp_set_num_threads)(int);
} onednn_t;

/* NULL if oneDNN is missing: other kernels run then. */
const onednn_t *onednn_open(void);

/* The calling thread uses one OpenMP thread between these two calls; leave() gets the result of
 * enter(). Primitives are created and run in between, since oneDNN divides its work by the number
 * of threads. */
int onednn_enter(const onednn_t *lib);
void onednn_leave(const onednn_t *lib, int threads);

/* The oneDNN type of an array's elements; undef if oneDNN has none. */
dnnl_data_type_t onednn_type(hr_dtype_t dtype);

/* Describes an array of the caller: sizes, and strides in elements. False if oneDNN cannot describe
 * it. */
bool onednn_array(const onednn_t *lib, dnnl_data_type_t type, int rank, const int64_t *dims,
                  const int64_t *strides, dnnl_memory_desc_t *out_desc);

/* A primitive with its arguments. */
typedef struct onednn_op {
  const onednn_t *lib;
  const char *name; /* name of the implementation: "brg:avx512_core" */
  dnnl_primitive_t primitive;
  int arg_count, workers;
  size_t scratch_bytes;  /* size for one worker, in bytes */
  dnnl_exec_arg_t *args; /* [workers][arg_count + 1], the scratchpad last */
  void **addresses;      /* addresses that the memories have now */
} onednn_op_t;

/* An argument: its number in oneDNN, and its layout. */
typedef struct onednn_arg {
  int number;
  const dnnl_memory_desc_t *desc;
} onednn_arg_t;

/* Creates a primitive of `desc`, which is destroyed in any case; the target destroys the
 * primitive. */
hr_status_t onednn_op_new(const onednn_t *lib, const op_native_target_t *target,
                          dnnl_primitive_desc_t desc, int count, const onednn_arg_t *args,
                          const onednn_op_t **out_op);
/* Reorders from one layout to another; *out_op is NULL if oneDNN cannot. */
hr_status_t onednn_reorder_new(const onednn_t *lib, const op_native_target_t *target,
                               const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                               const onednn_op_t **out_op);

/* Runs the primitive on the worker's own memories. addresses: in the order of the arguments;
 * scratch: scratch_bytes, aligned. False if oneDNN fails. */
bool onednn_op_run(const onednn_op_t *op, int worker, void *const *addresses, void *scratch);

/* True if products of bytes are exact: only on processors that add four of them at once into 32
 * bits. */
bool onednn_bytes_are_exact(const onednn_t *lib);

/* True for reference implementations, which are not optimised. */
bool onednn_is_slow(const onednn_t *lib, const_dnnl_primitive_desc_t desc);

/* The status for a failure that a worker has recorded; for run(). */
hr_status_t onednn_refused(void);

#endif
