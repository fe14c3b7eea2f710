/* Decides whether a program is global: some annotation or option cuts a value. A program that XLA
 * has partitioned is not, although its parameters keep their sharding strings; it is recognised by
 * its schedule, its name or its collectives. Cost: one pass. */
#include <string.h>

#include "ir/sharding.h"
#include "partition/annotations/reader.h"
#include "partition/host.h"

hr_str_t spmd_module_attribute(const hlo_module_t *module, const char *name) {
  for (int i = 0; i < module->frontend_attributes.count; i++)
    if (hr_str_is(module->frontend_attributes.items[i].name, name))
      return module->frontend_attributes.items[i].value;
  return (hr_str_t){"", 0};
}

static bool text_has(hr_str_t text, const char *word) {
  return text.size && memmem(text.data, text.size, word, strlen(word));
}

/* True if the sharding divides the value, or an element of the tuple. Trailing tile dimensions for
 * replication or subgroups do not divide it. */
static bool hlo_cuts(const hlo_sharding_t *sharding) {
  if (!sharding) return false;
  for (int i = 0; i < sharding->element_count; i++)
    if (hlo_cuts(sharding->elements[i])) return true;
  if (sharding->kind != HLO_TILE_KIND_OTHER) return false;
  if (sharding->named && sharding->unreduced_axes.count) return true;
  for (int d = 0; d < sharding->dim_count && sharding->named; d++)
    if (sharding->dims[d].axes.count) return true;
  int64_t extra = sharding->last_tile_kinds.count + sharding->replicate_last_dim;
  for (int64_t d = 0; d + extra < sharding->tile_dims.count; d++)
    if (sharding->tile_dims.data[d] > 1) return true;
  return false;
}

static bool hlo_is_whole(const hlo_sharding_t *sharding) {
  return sharding && !sharding->element_count && sharding->kind == HLO_TILE_KIND_REPLICATED;
}

/* True if Shardy's text of shardings names an axis. Also true for malformed text, which reading
 * then refuses. */
static bool names_axis(hr_str_t text) {
  bool listed = !text.size;
  for (size_t i = 0; i + 1 < text.size; i++) {
    listed |= text.data[i] == '[';
    if (text.data[i] == '{' && text.data[i + 1] != '}' && text.data[i + 1] != '?') return true;
  }
  return !listed;
}

bool spmd_is_host_call(const hlo_instr_t *instr) {
  if (instr->op == HLO_INFEED || instr->op == HLO_OUTFEED) return true;
  return instr->op == HLO_CUSTOM_CALL && spmd_marker_of(instr) == SPMD_NO_MARKER;
}

static void look_at(const hlo_instr_t *instr, spmd_findings_t *found) {
  spmd_marker_t marker = spmd_marker_of(instr);
  found->manual |= marker >= SPMD_ENTER_MANUAL;
  found->hosted |= spmd_is_hosted(instr) || (marker == SPMD_INSPECT && spmd_host_current());
  hr_str_t sharding = hlo_frontend_attribute(instr, "xla.sdy.sharding");
  found->sdy_cut |= names_axis(sharding) || (spmd_is_host_call(instr) && sharding.size) ||
                    hlo_frontend_attribute(instr, "xla.sdy.manual_axes").size;
  found->hlo_cut |= instr->extra && hlo_cuts(instr->extra->sharding);
  found->hlo_whole |= instr->extra && hlo_is_whole(instr->extra->sharding);
  found->collective |= hlo_op_is(instr->op, OP_COLLECTIVE) || instr->op == HLO_PARTITION_ID;
}

spmd_findings_t spmd_look_at_all(const hlo_module_t *module) {
  spmd_findings_t found = {false};
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      look_at(module->computations.data[c]->instrs.data[i], &found);
  return found;
}

/* XLA names the entry of a partitioned module NAME_spmd. */
bool spmd_is_partitioned(const hlo_module_t *module) {
  static const char suffix[] = "_spmd";
  hr_str_t name = module->entry->name;
  size_t size = sizeof suffix - 1;
  return module->is_scheduled ||
         (name.size > size && !memcmp(name.data + name.size - size, suffix, size));
}

bool spmd_is_sdy(const hlo_module_t *module, const spmd_findings_t *found) {
  return text_has(spmd_module_attribute(module, "xla.sdy.meshes"), "mesh<") || found->sdy_cut;
}

/* The order of the tests matters: manual parts need the partitioner even on one device; options
 * request it; the strings of a partitioned program must not be taken for cuts. */
bool spmd_is_global(const hlo_module_t *module, const spmd_options_t *options) {
  spmd_findings_t found = spmd_look_at_all(module);
  if (found.manual) return true;
  if (options->mesh || options->sharding) return true;
  if (options->device_count == 1) return false;
  if (spmd_is_partitioned(module)) return false;
  if (spmd_is_sdy(module, &found))
    return found.sdy_cut || found.hosted ||
           text_has(spmd_module_attribute(module, "xla.sdy.tuple_args_shardings"), "{\"");
  return found.hlo_cut && !found.collective;
}

bool spmd_is_whole(const hlo_module_t *module) {
  spmd_findings_t found = spmd_look_at_all(module);
  bool is_cut = found.manual || found.sdy_cut || found.hlo_cut || found.collective;
  if (module->num_partitions < 2 || is_cut || spmd_is_partitioned(module)) return false;
  return found.hlo_whole || spmd_is_sdy(module, &found);
}
