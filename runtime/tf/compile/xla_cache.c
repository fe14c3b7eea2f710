/* XlaCompiler as an object: the channels of all its compilations, and a cache of their results. The
 * key of the cache is a text of the function, its arguments and the options; constants count with
 * their bytes. */
#include "tf/compile/xla_compiler.h"

typedef struct cache_entry {
  struct cache_entry *next;
  xla_compiled_t compiled;
} cache_entry_t;

struct xla_compiler {
  const tf_graph_t *graph;
  hr_arena_t arena; /* keys and entries */
  hr_map_t by_key;
  cache_entry_t *entries;
  xla_channels_t channels;
};

/* Everything that an argument says; names are for messages only, but names of variables identify
 * their handles. */
static void add_argument(hr_strbuf_t *key, const xla_argument_t *argument) {
  char shape[HLO_SHAPE_TEXT];
  hr_strbuf_printf(key, "|%d,%d,%s,%d,%ld,%.*s,%d", argument->kind, argument->resource_kind,
                   argument->shape ? hlo_shape_text(argument->shape, shape) : "-",
                   argument->initialized, (long)argument->tensor_array_size,
                   HR_STR_ARGS(argument->name), argument->has_core ? argument->core : -1);
  for (int g = 0; g < argument->gradient_count; g++)
    hr_strbuf_printf(key, ",%.*s", HR_STR_ARGS(argument->gradients[g]));
  const hlo_value_t *value = argument->constant;
  if (argument->kind != XLA_ARGUMENT_CONSTANT || !value) return;
  hr_strbuf_printf(key, ",%d,%d", value->dtype, value->rank);
  for (int d = 0; d < value->rank; d++) hr_strbuf_printf(key, ",%ld", (long)value->dims[d]);
  hr_strbuf_add_char(key, '=');
  size_t size = (size_t)value->count * hr_dtype_bytes(value->dtype);
  for (size_t i = 0; i < size; i++)
    hr_strbuf_printf(key, "%02x", ((const unsigned char *)value->data)[i]);
}

/* All that a compilation depends on. */
static hr_status_t make_key(hr_arena_t *arena, hr_str_t function, int count,
                            const xla_argument_t *arguments, const xla_compile_options_t *options,
                            hr_str_t *out_key) {
  hr_strbuf_t key;
  hr_strbuf_init(&key);
  hr_strbuf_printf(&key, "%.*s|%d%d%d%d%p%p", HR_STR_ARGS(function), options->use_tuple_arg,
                   options->return_updated_values_for_all_resources,
                   options->resolve_compile_time_constants, options->is_entry_computation,
                   (void *)(uintptr_t)options->represent, options->represent_context);
  for (int i = 0; i < count; i++) add_argument(&key, &arguments[i]);
  hr_status_t st = hr_strbuf_finish(&key);
  if (!st) st = hr_arena_str(arena, (hr_str_t){key.data, key.size}, out_key);
  hr_strbuf_deinit(&key);
  return st;
}

hr_status_t xla_compiler_create(const tf_graph_t *graph, xla_compiler_t **out_compiler) {
  xla_compiler_t *compiler;
  HR_TRY(hr_alloc_zeroed(sizeof *compiler, (void **)&compiler));
  compiler->graph = graph;
  hr_arena_init(&compiler->arena);
  hr_map_init(&compiler->by_key);
  xla_channels_init(&compiler->channels);
  *out_compiler = compiler;
  return NULL;
}

void xla_compiler_destroy(xla_compiler_t *compiler) {
  if (!compiler) return;
  for (cache_entry_t *entry = compiler->entries; entry; entry = entry->next)
    hlo_module_destroy(entry->compiled.module);
  xla_channels_deinit(&compiler->channels);
  hr_map_deinit(&compiler->by_key);
  hr_arena_deinit(&compiler->arena);
  hr_free(compiler);
}

const xla_channels_t *xla_compiler_channels(const xla_compiler_t *compiler) {
  return &compiler->channels;
}

/* A failure is not remembered. */
hr_status_t xla_compiler_function(xla_compiler_t *compiler, hr_str_t function, int argument_count,
                                  const xla_argument_t *arguments,
                                  const xla_compile_options_t *options,
                                  const xla_compiled_t **out_compiled) {
  const tf_body_t *body = tf_graph_function(compiler->graph, function);
  xla_compile_options_t own = *options;
  cache_entry_t *entry;
  hr_str_t key;
  if (!body) return hr_error(HR_INVALID, "there is no function %.*s", HR_STR_ARGS(function));
  HR_TRY(make_key(&compiler->arena, function, argument_count, arguments, options, &key));
  entry = hr_map_get(&compiler->by_key, key);
  if (entry) {
    *out_compiled = &entry->compiled;
    return NULL;
  }
  HR_TRY(HR_NEW(&compiler->arena, &entry));
  HR_TRY(hlo_module_create(function, &entry->compiled.module));
  own.channels = &compiler->channels;
  hr_status_t st = xla_compile_function(compiler->graph, body, argument_count, arguments, &own,
                                        entry->compiled.module, &entry->compiled.result);
  if (!st) st = hr_map_put(&compiler->by_key, key, entry, NULL);
  if (st) {
    hlo_module_destroy(entry->compiled.module);
    return st;
  }
  entry->next = compiler->entries;
  compiler->entries = entry;
  *out_compiled = &entry->compiled;
  return NULL;
}
