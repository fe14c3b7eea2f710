/* oneDNN is opened once per process; a failure is recorded, and native kernels then decline.
 * Functions of its OpenMP are optional. */
#include "ops/kernels/libs/onednn.h"

#include <pthread.h>
#include <string.h>

#include "base/dl.h"

static onednn_t library;
static bool is_open;

/* Optional functions of oneDNN's OpenMP. */
static void *symbol_or_null(const char *name) {
  void *address = NULL;
  hr_status_release(hr_dl_symbol(HR_LIBRARY_DNNL, name, &address));
  return address;
}

/* Fails on the first function that this version lacks. */
static hr_status_t find_functions(onednn_t *lib) {
#define X(name) HR_TRY(hr_dl_symbol(HR_LIBRARY_DNNL, "dnnl_" #name, (void **)&lib->name));
  ONEDNN_FUNCTIONS(X)
#undef X
  lib->omp_get_max_threads = (int (*)(void))symbol_or_null("omp_get_max_threads");
  lib->omp_set_num_threads = (void (*)(int))symbol_or_null("omp_set_num_threads");
  return NULL;
}

/* Scratchpads belong to the caller, so that primitives own no memory. */
static void open_once(void) {
  onednn_t *lib = &library;
  hr_status_t st = find_functions(lib);
  if (st) {
    hr_status_release(st);
    return;
  }
  is_open =
      lib->engine_create(&lib->engine, dnnl_cpu, 0) == dnnl_success &&
      lib->stream_create(&lib->stream, lib->engine, dnnl_stream_default_flags) == dnnl_success &&
      lib->primitive_attr_create(&lib->attr) == dnnl_success &&
      lib->primitive_attr_set_scratchpad_mode(lib->attr, dnnl_scratchpad_mode_user) == dnnl_success;
}

const onednn_t *onednn_open(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_once);
  return is_open ? &library : NULL;
}

/* Each primitive runs on one thread, as parallelism is that of the engine's workers. Returns the
 * count to be restored. */
int onednn_enter(const onednn_t *lib) {
  if (!lib->omp_get_max_threads || !lib->omp_set_num_threads) return 0;
  int threads = lib->omp_get_max_threads();
  if (threads != 1) lib->omp_set_num_threads(1);
  return threads;
}

void onednn_leave(const onednn_t *lib, int threads) {
  if (threads > 1) lib->omp_set_num_threads(threads);
}

/* Sums of s32 and u32 wrap alike. */
dnnl_data_type_t onednn_type(hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F32:
      return dnnl_f32;
    case HR_BF16:
      return dnnl_bf16;
    case HR_S8:
      return dnnl_s8;
    case HR_U8:
      return dnnl_u8;
    case HR_S32:
    case HR_U32:
      return dnnl_s32; /* sums wrap */
    default:
      return dnnl_data_type_undef;
  }
}

/* A description by strides, in elements. False: a rank that oneDNN does not support. */
bool onednn_array(const onednn_t *lib, dnnl_data_type_t type, int rank, const int64_t *dims,
                  const int64_t *strides, dnnl_memory_desc_t *out_desc) {
  dnnl_dims_t sizes, steps;
  if (rank < 1 || rank > DNNL_MAX_NDIMS) return false;
  memcpy(sizes, dims, (size_t)rank * sizeof *dims);
  memcpy(steps, strides, (size_t)rank * sizeof *strides);
  return lib->memory_desc_init_by_strides(out_desc, rank, sizes, type, steps) == dnnl_success;
}

/* A cleanup of the program; memories that were not created are NULL. */
static void destroy_op(void *object) {
  onednn_op_t *op = object;
  int threads = onednn_enter(op->lib);
  for (int i = 0; i < op->workers * (op->arg_count + 1); i++)
    if (op->args[i].memory) op->lib->memory_destroy(op->args[i].memory);
  if (op->primitive) op->lib->primitive_destroy(op->primitive);
  onednn_leave(op->lib, threads);
}

/* One set of memory objects per worker, whose addresses are set at each run. */
static bool make_memories(onednn_op_t *op, const dnnl_memory_desc_t *scratchpad,
                          const onednn_arg_t *args) {
  const onednn_t *lib = op->lib;
  for (int w = 0; w < op->workers; w++) {
    dnnl_exec_arg_t *row = op->args + w * (op->arg_count + 1);
    for (int i = 0; i <= op->arg_count; i++) {
      bool last = i == op->arg_count;
      row[i].arg = last ? DNNL_ARG_SCRATCHPAD : args[i].number;
      if (lib->memory_create(&row[i].memory, last ? scratchpad : args[i].desc, lib->engine,
                             DNNL_MEMORY_NONE))
        return false;
    }
  }
  return true;
}

/* Every worker has its own memory objects, since setting an address changes the object: args and
 * addresses hold arg_count + 1 entries per worker, the last one the scratchpad. */
static hr_status_t fill_op(onednn_op_t *op, const op_native_target_t *target,
                           dnnl_primitive_desc_t desc, const onednn_arg_t *args) {
  const onednn_t *lib = op->lib;
  size_t count = (size_t)op->workers * (size_t)(op->arg_count + 1);
  const dnnl_memory_desc_t *scratchpad =
      lib->primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  HR_TRY(HR_NEW_ARRAY(target->arena, count, &op->args));
  HR_TRY(HR_NEW_ARRAY(target->arena, count, &op->addresses));
  lib->primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&op->name);
  op->scratch_bytes = lib->memory_desc_get_size(scratchpad);
  HR_TRY(target->add_cleanup(target->context, destroy_op, op));
  if (lib->primitive_create(&op->primitive, desc))
    return hr_error(HR_UNAVAILABLE, "oneDNN makes no primitive");
  if (!make_memories(op, scratchpad, args))
    return hr_error(HR_NO_MEMORY, "oneDNN has no memory for a primitive");
  return NULL;
}

/* Takes ownership of the descriptor, also when it fails. */
hr_status_t onednn_op_new(const onednn_t *lib, const op_native_target_t *target,
                          dnnl_primitive_desc_t desc, int count, const onednn_arg_t *args,
                          const onednn_op_t **out_op) {
  onednn_op_t *op;
  int threads = onednn_enter(lib);
  hr_status_t st = HR_NEW(target->arena, &op);
  if (!st) {
    *op = (onednn_op_t){.lib = lib, .arg_count = count, .workers = target->workers};
    st = fill_op(op, target, desc, args);
  }
  lib->primitive_desc_destroy(desc);
  onednn_leave(lib, threads);
  if (!st) *out_op = op;
  return st;
}

hr_status_t onednn_reorder_new(const onednn_t *lib, const op_native_target_t *target,
                               const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                               const onednn_op_t **out_op) {
  dnnl_primitive_desc_t desc;
  *out_op = NULL;
  int threads = onednn_enter(lib);
  bool none =
      lib->reorder_primitive_desc_create(&desc, from, lib->engine, to, lib->engine, lib->attr);
  onednn_leave(lib, threads);
  if (none) return NULL;
  onednn_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  return onednn_op_new(lib, target, desc, 2, args, out_op);
}

/* Addresses are set only if they differ from those of the last call; after a failure the recorded
 * address is reset. */
bool onednn_op_run(const onednn_op_t *op, int worker, void *const *addresses, void *scratch) {
  const onednn_t *lib = op->lib;
  dnnl_exec_arg_t *args = op->args + worker * (op->arg_count + 1);
  void **set = op->addresses + worker * (op->arg_count + 1);
  int threads = onednn_enter(lib);
  dnnl_status_t st = dnnl_success;
  for (int i = 0; i <= op->arg_count && !st; i++) {
    void *address = i < op->arg_count ? addresses[i] : scratch;
    if (address == set[i]) continue;
    st = lib->memory_set_data_handle(args[i].memory, address);
    set[i] = st ? NULL : address;
  }
  if (!st) st = lib->primitive_execute(op->primitive, lib->stream, op->arg_count + 1, args);
  onednn_leave(lib, threads);
  return st == dnnl_success;
}

bool onednn_bytes_are_exact(const onednn_t *lib) {
  unsigned isa =
      (unsigned)lib->get_effective_cpu_isa(); /* bit sets: a larger set contains the smaller ones */
  return (isa & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni ||
         (isa & dnnl_cpu_isa_avx2_vnni) == dnnl_cpu_isa_avx2_vnni;
}

bool onednn_is_slow(const onednn_t *lib, const_dnnl_primitive_desc_t desc) {
  const char *name = "";
  lib->primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name);
  return strstr(name, "ref") || strstr(name, "simple");
}

hr_status_t onednn_refused(void) {
  return hr_error(HR_INTERNAL, "oneDNN refused to run a primitive that it made");
}
