/* Reads the arguments of an HloSnapshot in a second pass over the file, after the program. Tuples
 * are flattened, as parameters are. */
#include "cli/arrays/cli_snapshot.h"

#include "base/buffer.h"
#include "io/gzip.h"
#include "ir/module.h"
#include "proto/hlo_proto.h"

/* Stores the leaves of a value as values of the parameters from *k on. */
static void take_leaves(hlo_value_t *value, const cli_signature_t *signature, hlo_value_t **values,
                        int *k) {
  for (int i = 0; i < value->element_count; i++)
    take_leaves(value->elements[i], signature, values, k);
  if (value->dtype == HR_TUPLE || *k >= signature->param_count) return;
  bool fits = hlo_value_fits(value, signature->params[*k]);
  if (fits && !values[*k]) values[*k] = hlo_value_retain(value);
  ++*k;
}

/* A temporary module holds the arguments while they are copied. */
static hr_status_t take_arguments(const char *path, hr_buffer_t *bytes,
                                  const cli_signature_t *signature, hlo_value_t **values) {
  hlo_module_t *module;
  hlo_value_t **arguments;
  int count, k = 0;
  HR_TRY(hlo_module_create(HR_STR("snapshot"), &module));
  module->source = (hr_source_t){path, hr_buffer_data(bytes), hr_buffer_size(bytes)};
  hr_status_t st = hlo_proto_read_arguments(module, &arguments, &count);
  for (int i = 0; i < count && !st; i++) take_leaves(arguments[i], signature, values, &k);
  hlo_module_destroy(module);
  return st;
}

/* Only for files that the reader recognises as protos. */
hr_status_t cli_inputs_from_snapshot(const char *program_path, const cli_signature_t *signature,
                                     hlo_value_t **values) {
  hr_buffer_t *bytes;
  int missing = 0;
  for (int k = 0; k < signature->param_count; k++) missing += !values[k];
  if (!missing || hr_str_is(hr_str_from(program_path), "-")) return NULL;
  HR_TRY(gzip_map_file(program_path, &bytes));
  hr_str_t text = {hr_buffer_data(bytes), hr_buffer_size(bytes)};
  hr_status_t st =
      hlo_proto_is(text) ? take_arguments(program_path, bytes, signature, values) : NULL;
  hr_buffer_release(bytes);
  return st;
}
