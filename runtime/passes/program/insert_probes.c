/* Inserts probes: custom calls that record an array while the program runs.
 *
 *   y = add(a, b)   ->   y = add(a, b); custom-call(y), target="interpreter.probe", probe_id="y"
 *
 * The computations that run step by step are visited from the entry; each probe follows its
 * operand. */
#include "passes/program/insert_probes.h"

#include <regex.h>
#include <stdio.h>

#include "base/vec.h"
#include "ir/print.h"
#include "ops/rules/builder.h"

#define TARGET "interpreter.probe"

typedef struct prober {
  regex_t regex;
  hr_arena_t arena; /* freed at the end */
  bool *visited;    /* by computation */
} prober_t;

/* Arrays whose names match the pattern, except probes. */
static bool is_wanted(const prober_t *prober, const hlo_instr_t *instr) {
  char name[1024];
  const hlo_attr_t *target = hlo_attr_find(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
  if (!hlo_shape_is_array(instr->shape) || (target && hr_str_is(target->text, TARGET)))
    return false;
  snprintf(name, sizeof name, "%.*s", HR_STR_ARGS(instr->name));
  return regexec(&prober->regex, name, 0, NULL, 0) == 0;
}

static hr_status_t make_config(hr_arena_t *arena, hr_str_t id, hlo_extra_t **out_extra) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, "{probe_id = ");
  hlo_print_string(&text, id);
  hr_strbuf_add_char(&text, '}');
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = HR_NEW(arena, out_extra);
  if (!st)
    st = hr_arena_str(arena, (hr_str_t){text.data, text.size}, &(*out_extra)->backend_config);
  hr_strbuf_deinit(&text);
  return st;
}

/* The call has a side effect, so that no pass removes it. */
static hr_status_t build_probe(hlo_instr_t *instr, hlo_instr_t **out_probe) {
  hlo_builder_t builder = hlo_builder_at(instr->parent, instr->line, instr->column);
  hlo_extra_t *extra;
  HR_TRY(make_config(&instr->parent->module->arena, instr->name, &extra));
  builder.extra = extra;
  const hlo_attr_t attrs[2] = {hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, HR_STR(TARGET)),
                               hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true)};
  *out_probe = hlo_build(&builder, HLO_CUSTOM_CALL, instr->shape, 1, &instr, 2, attrs, 0, NULL);
  return hlo_builder_finish(&builder);
}

/* Probes were appended to the list: moves each after its operand. */
static void put_in_order(hlo_computation_t *computation, hlo_instr_t *const *old,
                         hlo_instr_t *const *probes, size_t count) {
  size_t to = 0;
  for (size_t i = 0; i < count; i++) {
    computation->instrs.data[to++] = old[i];
    if (probes[i]) computation->instrs.data[to++] = probes[i];
  }
  for (size_t i = 0; i < to; i++) computation->instrs.data[i]->id = (uint32_t)i;
}

/* Users read the probe's result, which keeps it before them. */
static hr_status_t probe_instrs(prober_t *prober, hlo_computation_t *computation) {
  size_t count = computation->instrs.count;
  hlo_instr_t **old, **probes;
  HR_TRY(HR_NEW_ARRAY(&prober->arena, count, &old));
  HR_TRY(HR_NEW_ARRAY(&prober->arena, count, &probes));
  for (size_t i = 0; i < count; i++) old[i] = computation->instrs.data[i];
  for (size_t i = 0; i < count; i++) {
    for (int k = 0; k < old[i]->operand_count; k++) {
      hlo_instr_t *probe = probes[old[i]->operands[k]->id];
      if (probe) old[i]->operands[k] = probe;
    }
    probes[i] = NULL;
    if (is_wanted(prober, old[i])) HR_TRY(build_probe(old[i], &probes[i]));
  }
  if (probes[computation->root->id]) computation->root = probes[computation->root->id];
  put_in_order(computation, old, probes, count);
  return NULL;
}

/* Do the computations that the op calls run step by step? */
static bool runs_steps(hlo_opcode_t op) {
  return op == HLO_CALL || op == HLO_FUSION || op == HLO_WHILE || op == HLO_CONDITIONAL;
}

/* Visits called computations first, each once. */
static hr_status_t probe_computation(prober_t *prober, hlo_computation_t *computation) {
  if (prober->visited[computation->id]) return NULL;
  prober->visited[computation->id] = true;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    for (int c = 0; c < instr->called_count && runs_steps(instr->op); c++)
      HR_TRY(probe_computation(prober, instr->called[c]));
  }
  return probe_instrs(prober, computation);
}

static hr_status_t probe_module(prober_t *prober, hlo_module_t *module) {
  HR_TRY(HR_NEW_ARRAY(&prober->arena, module->computations.count, &prober->visited));
  for (size_t c = 0; c < module->computations.count; c++) prober->visited[c] = false;
  return probe_computation(prober, module->entry);
}

hr_status_t pass_probes(hlo_module_t *module, const char *pattern) {
  prober_t prober;
  char text[128];
  int error = regcomp(&prober.regex, pattern, REG_EXTENDED | REG_NOSUB);
  if (error) {
    regerror(error, &prober.regex, text, sizeof text);
    return hr_error(HR_USAGE, "--probe '%s': %s", pattern, text);
  }
  hr_arena_init(&prober.arena);
  hr_status_t st = probe_module(&prober, module);
  hr_arena_deinit(&prober.arena);
  regfree(&prober.regex);
  return st;
}
