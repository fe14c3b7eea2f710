/* Feeds and fetches of TensorFlow graphs on the command line. Graphs are read in several places
 * (run, check, convert), always through read_module, which asks for the choice made here. */
#include "cli/program/cli_tf.h"

#include <ctype.h>

#include "base/vec.h"
#include "cli/program/cli_tf_sizes.h"
#include "read/read.h"
#include "tf/file/tf_read.h"
#include "transport/core/transport.h"

/* One choice per process, since there is one command line. */
static struct {
  HR_VEC(const char *) feeds;
  HR_VEC(const char *) fetches;
  tf_read_options_t options;
} chosen;

/* True for names of tensors, such as "x:0=f32[2]" and "x"; false for data of a parameter, such as
 * "3=x.npy". */
bool cli_tf_names_tensor(const char *text) {
  const char *at = text;
  while (isdigit((unsigned char)*at)) at++;
  return at == text || *at != '=';
}

bool cli_tf_feed_is_named(const char *text) {
  return read_saw_graph() && cli_tf_names_tensor(text);
}

bool cli_tf_has_data_feed(const hr_options_t *options) {
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_FEED, &from));)
    if (!cli_tf_feed_is_named(given->text)) return true;
  return false;
}

hr_status_t cli_tf_choose(const hr_options_t *options) {
  const hr_option_given_t *given;
  int64_t processes = (int64_t)hr_option_int(options, HR_OPTION_PROCESSES, 0);
  if (!processes) processes = tp_launcher_world_size();
  for (size_t from = 0; (given = hr_option_next(options, HR_OPTION_FEED, &from));)
    if (cli_tf_names_tensor(given->text)) HR_VEC_PUSH(&chosen.feeds, given->text);
  for (size_t from = 0; (given = hr_option_next(options, HR_OPTION_FETCH, &from));)
    HR_VEC_PUSH(&chosen.fetches, given->text);
  chosen.options =
      (tf_read_options_t){.feed_count = (int)chosen.feeds.count,
                          .feeds = chosen.feeds.data,
                          .fetch_count = (int)chosen.fetches.count,
                          .fetches = chosen.fetches.data,
                          .signature = hr_option_text(options, HR_OPTION_SIGNATURE),
                          .config = hr_option_text(options, HR_OPTION_CONFIG),
                          .data_parallel = hr_option_text(options, HR_OPTION_DATA_PARALLEL),
                          .processes = processes,
                          .find_sizes = cli_tf_find_sizes,
                          .sizes_context = options};
  read_set_graph_options(&chosen.options);
  return NULL;
}

hr_status_t cli_tf_carry(const hr_options_t *options, const char *path, cli_carry_t *carry) {
  hlo_module_t *module;
  bool steps =
      hr_option_is_given(options, HR_OPTION_STEPS) || hr_option_is_given(options, HR_OPTION_EPOCHS);
  if (!steps || carry->count || !read_saw_graph()) return NULL;
  HR_TRY(read_structure_file(path, &module));
  hr_status_t st = NULL;
  const hlo_aliasing_t *aliasing = &module->input_output_alias;
  for (int64_t i = 0; i < aliasing->count && !st; i++) {
    const hlo_alias_t *alias = &aliasing->aliases[i];
    if (alias->output_index.count != 1) continue;
    cli_carried_t pair = {(int)alias->output_index.data[0], (int)alias->operand};
    st = HR_VEC_RESERVE(carry, carry->count + 1);
    if (!st) carry->data[carry->count++] = pair;
  }
  hlo_module_destroy(module);
  return st;
}

/* Copies the names, since the module is freed. */
static hr_status_t copy_names(const hlo_module_t *module, hr_arena_t *arena, int count,
                              hr_str_t *out_names, const char **out_prefix) {
  *out_prefix = NULL;
  for (int k = 0; k < count; k++) {
    out_names[k] = (hr_str_t){0};
    if (k < module->parameter_value_count && module->parameter_names)
      HR_TRY(hr_arena_str(arena, module->parameter_names[k], &out_names[k]));
  }
  if (!module->checkpoint_prefix) return NULL;
  return hr_arena_cstr(arena, hr_str_from(module->checkpoint_prefix), out_prefix);
}

hr_status_t cli_tf_variables(const char *path, hr_arena_t *arena, int count, hr_str_t *out_names,
                             const char **out_prefix) {
  hlo_module_t *module;
  if (!read_saw_graph())
    return hr_error(HR_USAGE, "--checkpoint-format tensor-bundle: %s is no TensorFlow graph", path);
  HR_TRY(read_structure_file(path, &module));
  hr_status_t st = copy_names(module, arena, count, out_names, out_prefix);
  hlo_module_destroy(module);
  return st;
}
