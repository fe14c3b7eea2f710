/* The extension for custom partitioners: the framework registers code that divides custom calls of
 * one target, as jax.custom_partitioning does. The code gets shapes and shardings as protos, and
 * returns the program of one partition as bytes of MLIR. Where a rule relates the call's dimensions
 * (sdy.sharding_rule), the partitioner's propagation needs no more; the callbacks for the
 * propagation of older programs are not called. */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "partition/host.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "proto/hlo_proto.h"
#include "proto/proto_wire.h"
#include "read/read.h"

/* A registered target. Rows are never removed: programs may ask at any time. */
typedef struct partitioner {
  struct partitioner *next;
  hr_str_t target;
  pjrt_partitioner_callbacks_t *callbacks;
} partitioner_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static partitioner_t *partitioners; /* guarded by the mutex; the newest first */

static pjrt_partitioner_callbacks_t *find_callbacks(hr_str_t target) {
  pthread_mutex_lock(&mutex);
  const partitioner_t *row = partitioners;
  while (row && !hr_str_equal(row->target, target)) row = row->next;
  pthread_mutex_unlock(&mutex);
  return row ? row->callbacks : NULL;
}

bool pjrt_divides(void *context, hr_str_t target) {
  (void)context;
  return find_callbacks(target) != NULL;
}

/* Register_Custom_Partitioner. The callbacks are the plugin's from here on, and live as long as the
 * process. */
static hr_status_t pjrt_partitioner_register(pjrt_partitioner_args_t *args) {
  void *memory;
  PJRT_NOT_NULL(args->name);
  PJRT_NOT_NULL(args->callbacks);
  HR_TRY(hr_alloc(sizeof(partitioner_t) + args->name_size, &memory));
  partitioner_t *row = memory;
  char *name = (char *)(row + 1);
  memcpy(name, args->name, args->name_size);
  *row = (partitioner_t){NULL, {name, args->name_size}, args->callbacks};
  pthread_mutex_lock(&mutex);
  row->next = partitioners;
  partitioners = row;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* Register_Batch_Partitionable. Nothing is stored: each call states the number of its leading batch
 * dimensions (num_batch_dims), which the partitioner uses. */
static hr_status_t pjrt_partitioner_register_batched(pjrt_batched_args_t *args) {
  PJRT_NOT_NULL(args->name);
  return NULL;
}

PJRT_ENTRY(Register_Custom_Partitioner, partitioner_register, pjrt_partitioner_args_t, callbacks)
PJRT_ENTRY(Register_Batch_Partitionable, partitioner_register_batched, pjrt_batched_args_t,
           name_size)

pjrt_partitioner_extension_t pjrt_partitioner_extension = {
    .base = {sizeof pjrt_partitioner_extension, PJRT_EXTENSION_CUSTOM_PARTITIONER, NULL},
    .functions = {call_partitioner_register, call_partitioner_register_batched}};

/* --- one call --- */

/* A question to the framework in preparation. */
typedef struct question {
  hr_arena_t *arena; /* storage of what the question points at */
  spmd_host_call_t *call;
  pjrt_partition_args_t args;
} question_t;

/* Number of devices of the shardings' mesh; 1: no sharding cuts anything. */
static int64_t device_count(const spmd_host_call_t *call, int count) {
  int64_t devices = 1;
  for (int t = 0; t < count && devices == 1; t++)
    for (int a = 0; call->cuts[t]->named && a < call->cuts[t]->mesh.axis_count; a++)
      devices *= call->cuts[t]->mesh.axes[a].size;
  return devices;
}

/* The text's bytes in the arena, and the text empty again. */
static hr_status_t keep_text(question_t *question, hr_strbuf_t *text, pjrt_answer_text_t *to) {
  hr_str_t copy;
  hr_status_t st = hr_arena_str(question->arena, (hr_str_t){text->data, text->size}, &copy);
  if (!st) *to = (pjrt_answer_text_t){copy.data, copy.size};
  text->size = 0;
  return st;
}

/* Leaf shardings from `first` on: alone, or as the elements of a tuple's. */
static hr_status_t write_cuts(question_t *question, const hlo_shape_t *shape, int first,
                              int64_t devices, hr_strbuf_t *text) {
  enum { KIND_TUPLE = 2 };
  const hlo_sharding_t *const *cuts = question->call->cuts + first;
  if (!hlo_shape_is_tuple(shape))
    return pjrt_sharding_write(cuts[0], shape->rank, devices, question->arena, text);
  proto_put_int(text, PROTO_sharding_type, KIND_TUPLE);
  for (int i = 0; i < hlo_shape_leaf_count(shape); i++) {
    size_t opened = proto_open(text, PROTO_sharding_tuple_shardings);
    HR_TRY(pjrt_sharding_write(cuts[i], hlo_shape_leaf(shape, i)->rank, devices, question->arena,
                               text));
    proto_close(text, opened);
  }
  return hr_strbuf_finish(text);
}

static hr_status_t describe_value(question_t *question, const hlo_shape_t *shape, int first,
                                  int64_t devices, pjrt_partitioner_value_t *to) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t st = hlo_proto_write_shape(shape, &text);
  if (!st) st = keep_text(question, &text, &to->shape);
  if (!st) st = write_cuts(question, shape, first, devices, &text);
  if (!st) st = keep_text(question, &text, &to->sharding);
  to->has_sharding = true;
  hr_strbuf_deinit(&text);
  return st;
}

static hr_status_t make_question(question_t *question) {
  const hlo_instr_t *instr = question->call->instr;
  int operands = instr->operand_count;
  int64_t devices = device_count(question->call, operands + hlo_shape_leaf_count(instr->shape));
  hr_str_t config = instr->extra ? instr->extra->backend_config : HR_STR("");
  pjrt_partitioner_value_t *values;
  HR_TRY(HR_NEW_ARRAY(question->arena, operands + 1, &values));
  for (int k = 0; k < operands; k++)
    HR_TRY(describe_value(question, instr->operands[k]->shape, k, devices, &values[k]));
  HR_TRY(describe_value(question, instr->shape, operands, devices, &question->args.result));
  question->args.operand_count = (size_t)operands;
  question->args.operands = values;
  question->args.config = (pjrt_answer_text_t){config.data, config.size};
  return NULL;
}

/* --- the answer --- */

static hr_status_t read_body(const pjrt_partition_args_t *args, hlo_module_t **out_body) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_create(args->module.size, &bytes));
  memcpy(hr_buffer_data(bytes), args->module.data, args->module.size);
  hr_status_t st = read_module("<custom_partitioning>", bytes, out_body);
  hr_buffer_release(bytes);
  return st;
}

/* A tuple has a list of shardings, one per leaf; another value has one sharding. Strings of a proto
 * point into the framework's bytes, which live as long as the answer: shardings have none. */
static hr_status_t read_results(const pjrt_partition_args_t *args, const hlo_instr_t *instr,
                                hlo_module_t *body, const hlo_sharding_t **wanted) {
  const hlo_sharding_t *all;
  hr_str_t text = {args->result_sharding.data, args->result_sharding.size};
  int count = hlo_shape_leaf_count(instr->shape);
  HR_TRY(hlo_proto_read_sharding(body, text, &all));
  bool is_list = all->kind == HLO_TILE_KIND_TUPLE;
  if (is_list && all->element_count != count)
    return hlo_error(instr, NULL, "its host answers %d shardings for %d results",
                     all->element_count, count);
  for (int i = 0; i < count; i++) wanted[i] = is_list ? all->elements[i] : all;
  return NULL;
}

static hr_status_t read_answer(question_t *question) {
  const pjrt_partition_args_t *args = &question->args;
  spmd_host_call_t *call = question->call;
  const hlo_instr_t *instr = call->instr;
  int operands = instr->operand_count, count = operands + hlo_shape_leaf_count(instr->shape);
  HR_TRY(read_body(args, &call->body));
  HR_TRY(HR_NEW_ARRAY(&call->body->arena, count, &call->wanted));
  for (int k = 0; k < operands; k++) {
    hr_str_t text = {args->operand_shardings[k].data, args->operand_shardings[k].size};
    HR_TRY(hlo_proto_read_sharding(call->body, text, &call->wanted[k]));
  }
  return read_results(args, instr, call->body, call->wanted + operands);
}

static hr_status_t ask(question_t *question, pjrt_partitioner_callbacks_t *callbacks) {
  HR_TRY(make_question(question));
  callbacks->partition(callbacks, &question->args);
  hr_status_t st = pjrt_answer_status(&question->args.header);
  if (!st) st = read_answer(question);
  if (question->args.header.free) question->args.header.free(question->args.header.data);
  return st;
}

hr_status_t pjrt_divide(void *context, spmd_host_call_t *call) {
  hr_arena_t arena;
  question_t question = {.arena = &arena, .call = call};
  hr_str_t target = hlo_attr_str(call->instr, HLO_ATTR_CUSTOM_CALL_TARGET);
  (void)context;
  hr_arena_init(&arena);
  hr_status_t st = ask(&question, find_callbacks(target));
  hr_arena_deinit(&arena);
  if (!st) return NULL;
  hlo_module_destroy(call->body);
  call->body = NULL;
  return hr_status_note(st, "while dividing a call of %.*s", HR_STR_ARGS(target));
}
