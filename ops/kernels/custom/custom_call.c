/* Kernels of custom-call: finds the target's row when the step is prepared and forwards to its
 * functions. The kernel gets the instruction without the operands that are only sizes of results
 * (indices_of_shape_operands). An unknown target fails in prepare, with the nearest known name and
 * the source position from the metadata. */
#include "ops/kernels/custom/custom_call.h"

#include <string.h>

#include "ops/query/custom_host.h"
#include "ops/rules/dynamic_shape.h"

#define CUSTOM_CALL(target, kernel, native, traits, note) \
  extern const op_kernel_t custom_##kernel;               \
  extern const op_native_t native_custom_##native;
#include "ops/query/custom_calls.def"
#undef CUSTOM_CALL
extern const op_kernel_t custom_host; /* custom_host_kernel.c */
extern const op_kernel_t custom_ffi;  /* custom_ffi_kernel.c */

/* The functions of a row of op_custom_calls; the last ones are OP_CUSTOM_HOST and OP_CUSTOM_FFI. */
static const struct custom_functions {
  const op_kernel_t *kernel;
  const op_native_t *native; /* native->prepare is NULL if there is no native kernel */
} functions[] = {
#define CUSTOM_CALL(target, kernel, native, traits, note) \
  {&custom_##kernel, &native_custom_##native},
#include "ops/query/custom_calls.def"
#undef CUSTOM_CALL
    {&custom_host, &native_custom_none},
    {&custom_ffi, &native_custom_none},
};

int custom_result_count(const hlo_shape_t *out_shape) {
  return hlo_shape_is_tuple(out_shape) ? out_shape->element_count : 1;
}

const hlo_shape_t *custom_result_shape(const hlo_shape_t *out_shape, int k) {
  if (k < 0 || k >= custom_result_count(out_shape)) return NULL;
  return hlo_shape_is_tuple(out_shape) ? out_shape->elements[k] : out_shape;
}

/* The call's own layout constraint, or else the operand's layout; NULL is row-major. */
const hlo_layout_t *custom_operand_layout(const hlo_instr_t *instr, int k) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  if (attr && attr->shapes && k < attr->shapes->count) return attr->shapes->shapes[k]->layout;
  return k < instr->operand_count ? instr->operands[k]->shape->layout : NULL;
}

const hlo_layout_t *custom_result_layout(const hlo_instr_t *instr, int k) {
  const hlo_shape_t *shape = custom_result_shape(instr->shape, k);
  return shape ? shape->layout : NULL;
}

/* Takes ownership of the references of `parts`, also after a failure. */
hr_status_t custom_result(const hlo_shape_t *out_shape, int count, hlo_value_t **parts,
                          hlo_value_t **out_value) {
  hr_status_t st = NULL;
  if (hlo_shape_is_tuple(out_shape))
    st = hlo_value_tuple(count, parts, out_value);
  else
    *out_value = hlo_value_retain(parts[0]);
  for (int k = 0; k < count; k++) hlo_value_release(parts[k]);
  return st;
}

/* File and line of a frame of the module's call stack tables. */
static void frame_position(const hlo_module_t *module, int64_t frame, hr_str_t *file,
                           int64_t *line) {
  const hlo_stack_frames_t *tables = module->stack_frames;
  if (!tables || frame < 1 || frame > tables->frame_count) return;
  int64_t location = tables->frames[frame - 1].file_location_id;
  if (location < 1 || location > tables->location_count) return;
  const hlo_file_location_t *source = &tables->locations[location - 1];
  if (source->file_name_id < 1 || source->file_name_id > tables->file_count) return;
  *file = tables->files[source->file_name_id - 1];
  *line = source->line;
}

/* " (op name at file:line)" from the metadata, for messages; empty if there is none. */
hr_status_t custom_origin(hr_arena_t *arena, const hlo_instr_t *instr, const char **out_text) {
  const hlo_metadata_t *metadata = instr->extra ? instr->extra->metadata : NULL;
  *out_text = "";
  if (!metadata) return NULL;
  hr_str_t file = metadata->source_file;
  int64_t line = metadata->source_line;
  if (file.size == 0) frame_position(instr->parent->module, metadata->stack_frame_id, &file, &line);
  if (file.size)
    return hr_arena_printf(arena, out_text, " (%.*s%sat %.*s:%ld)", HR_STR_ARGS(metadata->op_name),
                           metadata->op_name.size ? " " : "", HR_STR_ARGS(file), (long)line);
  if (metadata->op_name.size)
    return hr_arena_printf(arena, out_text, " (%.*s)", HR_STR_ARGS(metadata->op_name));
  return NULL;
}

/* True for names that XLA and JAX give to calls of libraries for GPUs. */
static bool is_for_gpus(hr_str_t target) {
  static const char *const prefixes[] = {
      "__cublas$", "__cudnn$", "__cusolver$", "__gpu$",  "__triton",  "triton_",   "cublas",
      "cudnn",     "cusolver", "cusparse",    "hipblas", "hipsolver", "hipsparse_"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t size = strlen(prefixes[i]);
    if (target.size >= size && memcmp(target.data, prefixes[i], size) == 0) return true;
  }
  return false;
}

/* UNSUPPORTED with the position of the call, the nearest name, and the reason if a library of the
 * host that has the name was refused. */
static hr_status_t unknown_target(hr_arena_t *arena, const hlo_instr_t *instr, hr_str_t target) {
  const char *origin;
  HR_TRY(custom_origin(arena, instr, &origin));
  if (is_for_gpus(target))
    return hlo_unsupported(instr,
                           "no custom call '%.*s' here%s: it is of a library for GPUs; lower the "
                           "program for the cpu platform",
                           HR_STR_ARGS(target), origin);
  const char *nearest = op_custom_call_nearest(target);
  if (nearest)
    return hlo_unsupported(instr, "no custom call '%.*s' here%s; the nearest that exists is '%s'%s",
                           HR_STR_ARGS(target), origin, nearest, custom_host_refusal(target));
  return hlo_unsupported(instr, "no custom call '%.*s' here%s%s", HR_STR_ARGS(target), origin,
                         custom_host_refusal(target));
}

/* True if every path to the computation is in a branch of a conditional, which a run may never
 * take: a program for several platforms has calls of all of them. Callers are listed after their
 * callees. Cost: instructions of the module. */
static hr_status_t find_enclosing_branch(hr_arena_t *arena, const hlo_computation_t *computation,
                                         bool *out_in_branch) {
  const hlo_module_t *module = computation->module;
  size_t count = module->computations.count;
  bool *always;
  HR_TRY(HR_NEW_ARRAY(arena, count, &always));
  for (size_t c = 0; c < count; c++) always[c] = module->computations.data[c] == module->entry;
  for (size_t c = count; c-- > 0;) {
    const hlo_computation_t *caller = module->computations.data[c];
    for (size_t i = 0; always[c] && i < caller->instrs.count; i++) {
      const hlo_instr_t *call = caller->instrs.data[i];
      for (int k = 0; call->op != HLO_CONDITIONAL && k < call->called_count; k++)
        always[call->called[k]->id] = true;
    }
  }
  *out_in_branch = !always[computation->id];
  return NULL;
}

typedef struct call_plan {
  const op_kernel_t *kernel; /* NULL: this call cannot run here */
  hlo_instr_t instr;         /* without the operands that are only sizes */
  const void *plan;          /* plan of that kernel */
} call_plan_t;

/* The kernel gets the instruction without the operands that are only sizes of dynamic results. */
static hr_status_t prepare_kernel(hr_arena_t *arena, const op_step_t *step, call_plan_t *plan) {
  hr_str_t target = op_custom_call_target(step->instr);
  const op_custom_call_t *call = op_custom_call_find(target);
  if (!call) return unknown_target(arena, step->instr, target);
  const op_kernel_t *kernel = functions[call->row].kernel;
  plan->instr = *step->instr;
  plan->instr.operand_count = op_shape_operands_start(step->instr);
  op_step_t inner = *step;
  inner.instr = &plan->instr;
  if (kernel->prepare) HR_TRY(kernel->prepare(arena, &inner, &plan->plan));
  plan->kernel = kernel;
  return NULL;
}

/* A call that cannot run here is an error at once, or, in a branch, when a run takes the branch. */
static hr_status_t prepare_custom_call(hr_arena_t *arena, const op_step_t *step,
                                       const void **out_plan) {
  call_plan_t *plan;
  bool in_branch = false;
  HR_TRY(HR_NEW(arena, &plan));
  hr_status_t st = prepare_kernel(arena, step, plan);
  *out_plan = plan;
  if (hr_status_code(st) != HR_UNSUPPORTED) return st;
  hr_status_t found = find_enclosing_branch(arena, step->instr->parent, &in_branch);
  if (found || !in_branch) return hr_status_join(st, found);
  hr_status_release(st);
  return NULL;
}

/* The kernel gets its own instruction and plan. */
static hr_status_t run_custom_call(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  const call_plan_t *plan = step->plan;
  call_plan_t again = {NULL};
  if (!plan->kernel)
    return prepare_kernel(env->scratch, step, &again); /* gives the error of prepare again */
  op_step_t inner = *step;
  inner.instr = &plan->instr;
  inner.plan = plan->plan;
  return plan->kernel->run(env, &inner, in, out_value);
}

const op_kernel_t kernel_custom_call = {prepare_custom_call, run_custom_call};

/* --- native kernels --------------------------------------------------------------------------- */

const op_native_t native_custom_none = {"none", NULL, NULL};

typedef struct native_call_plan {
  const op_native_t *native;
  const void *plan;
} native_call_plan_t;

/* Prepares native kernels of targets that have one; the plan is wrapped so that run finds the
 * kernel. */
static hr_status_t prepare_native_call(const op_native_target_t *target, const op_step_t *step,
                                       op_native_step_t *out) {
  const op_custom_call_t *call = op_custom_call_find(op_custom_call_target(step->instr));
  const op_native_t *native = call ? functions[call->row].native : NULL;
  native_call_plan_t *plan;
  if (!native || !native->prepare) return NULL;
  HR_TRY(native->prepare(target, step, out));
  if (!out->plan) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  *plan = (native_call_plan_t){native, out->plan};
  out->plan = plan;
  return NULL;
}

static hr_status_t run_native_call(const op_native_run_t *run, const void *plan_, void *const *in,
                                   void *const *out) {
  const native_call_plan_t *plan = plan_;
  return plan->native->run(run, plan->plan, in, out);
}

const op_native_t native_custom_call = {"custom call", prepare_native_call, run_native_call};
