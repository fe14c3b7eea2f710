/* Constraints of infeed, outfeed, send, recv, asynchronous copies, and random numbers. Whether both
 * ends of a channel exist and agree is checked for the whole program (runtime/check). */
#include "ops/query/random_part.h"
#include "ops/rules/constraint.h"

hr_status_t verify_infeed(const hlo_instr_t *instr) {
  const hlo_shape_t *shape = instr->shape;
  HR_TRY(op_want_token(instr, op_operand_shape(instr, 0), 0, "I1"));
  OP_WANT(instr, hlo_shape_is_tuple(shape) && shape->element_count == 2, "C1",
          "declared as %s, want (data, token[])", OP_TEXT(shape));
  OP_WANT(instr, shape->elements[1]->dtype == HR_TOKEN, "C3",
          "declared as %s, want a token at the end", OP_TEXT(shape));
  OP_WANT(instr, hlo_shape_is_array(shape->elements[0]) || hlo_shape_is_tuple(shape->elements[0]),
          "C2", "the data is %s, want arrays", OP_TEXT(shape->elements[0]));
  return NULL;
}

hr_status_t verify_outfeed(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_OUTFEED_SHAPE);
  const hlo_shape_t *data = op_operand_shape(instr, 0);
  HR_TRY(op_want_token(instr, op_operand_shape(instr, 1), 1, "I2"));
  OP_WANT(instr, !attr || hlo_shape_compatible(attr->shape, data), NULL,
          "outfeed_shape is %s, want %s", OP_TEXT(attr->shape), OP_TEXT(data));
  return NULL;
}

/* ---- channels ---- */

static hr_status_t check_channel(const hlo_instr_t *instr) {
  const hlo_attr_t *channel = hlo_attr_find(instr, HLO_ATTR_CHANNEL_ID);
  OP_WANT(instr, !channel || channel->integer > 0, NULL, "channel_id %ld, want a positive one",
          (long)channel->integer);
  return NULL;
}

hr_status_t verify_send(const hlo_instr_t *instr) { return check_channel(instr); }

hr_status_t verify_recv(const hlo_instr_t *instr) {
  const hlo_shape_t *shape = instr->shape;
  HR_TRY(op_want_token(instr, op_operand_shape(instr, 0), 0, "I1"));
  OP_WANT(instr, hlo_shape_is_tuple(shape) && shape->element_count == 3, "C2",
          "declared as %s, want (data, u32[], token[])", OP_TEXT(shape));
  OP_WANT(instr, hlo_shape_compatible(shape->elements[1], hlo_shape_scalar(HR_U32)), NULL,
          "declared as %s, want u32[] as element 1", OP_TEXT(shape));
  OP_WANT(instr, shape->elements[2]->dtype == HR_TOKEN, "C4",
          "declared as %s, want a token at the end", OP_TEXT(shape));
  return check_channel(instr);
}

/* True for ops that may pass on the state of a transfer: a pipelined loop starts it in one
 * iteration and ends it in the next. */
static bool passes_state_on(const hlo_instr_t *instr) {
  return instr->op == HLO_GET_TUPLE_ELEMENT || instr->op == HLO_PARAMETER ||
         instr->op == HLO_TUPLE || instr->op == HLO_CALL || instr->op == HLO_WHILE ||
         instr->op == HLO_CONDITIONAL || hlo_op_is(instr->op, OP_IDENTITY);
}

/* True for a state from the program's caller, who cannot start a transfer. */
static bool is_from_caller(const hlo_instr_t *instr) {
  while (instr->op == HLO_GET_TUPLE_ELEMENT) instr = instr->operands[0];
  return instr->op == HLO_PARAMETER && instr->parent == instr->parent->module->entry;
}

static bool is_state(const hlo_shape_t *shape) {
  return hlo_shape_is_tuple(shape) && shape->element_count == 3 &&
         hlo_shape_compatible(shape->elements[1], hlo_shape_scalar(HR_U32)) &&
         shape->elements[2]->dtype == HR_TOKEN;
}

/* The two halves of a transfer have the same channel, if they have one. The proof of the schedule
 * checks whether a state from a tuple is that of a transfer of the right kind. */
static hr_status_t check_transfer_done(const hlo_instr_t *instr, hlo_opcode_t wanted) {
  const hlo_instr_t *start = instr->operands[0];
  if (passes_state_on(start) && !is_from_caller(start)) {
    OP_WANT(instr, is_state(start->shape), NULL,
            "operand 0 is %s, want the (data, u32[], token[]) of a %s", OP_TEXT(start->shape),
            hlo_op_name(wanted));
    return NULL;
  }
  OP_WANT(instr, start->op == wanted, NULL, "operand 0 is the %s %%%.*s, want a %s",
          hlo_op_name(start->op), HR_STR_ARGS(start->name), hlo_op_name(wanted));
  const hlo_attr_t *mine = hlo_attr_find(instr, HLO_ATTR_CHANNEL_ID),
                   *its = hlo_attr_find(start, HLO_ATTR_CHANNEL_ID);
  OP_WANT(instr, !mine || !its || mine->integer == its->integer, NULL,
          "channel_id %ld, want %ld as %%%.*s has", (long)mine->integer, (long)its->integer,
          HR_STR_ARGS(start->name));
  bool host = hlo_attr_bool(instr, HLO_ATTR_IS_HOST_TRANSFER);
  OP_WANT(instr, host == hlo_attr_bool(start, HLO_ATTR_IS_HOST_TRANSFER),
          wanted == HLO_RECV ? "C1" : NULL, "is_host_transfer=%s, want as %%%.*s has",
          host ? "true" : "false", HR_STR_ARGS(start->name));
  return NULL;
}

hr_status_t verify_send_done(const hlo_instr_t *instr) {
  return check_transfer_done(instr, HLO_SEND);
}

hr_status_t verify_recv_done(const hlo_instr_t *instr) {
  return check_transfer_done(instr, HLO_RECV);
}

hr_status_t verify_copy_done(const hlo_instr_t *instr) {
  const hlo_instr_t *start = instr->operands[0];
  OP_WANT(instr, start->op == HLO_COPY_START, NULL, "operand 0 is the %s %%%.*s, want a copy-start",
          hlo_op_name(start->op), HR_STR_ARGS(start->name));
  return NULL;
}

/* ---- random numbers ---- */

/* Only checks; the part is read again when the step is prepared. */
static hr_status_t check_rng_part(const hlo_instr_t *instr) {
  hr_arena_t arena;
  op_random_part_t part;
  hr_arena_init(&arena);
  hr_status_t st = op_random_part(&arena, instr, &part);
  hr_arena_deinit(&arena);
  return st;
}

hr_status_t verify_rng(const hlo_instr_t *instr) {
  const hlo_shape_t *a = op_operand_shape(instr, 0), *b = op_operand_shape(instr, 1);
  int distribution = hlo_attr_enum(instr, HLO_ATTR_DISTRIBUTION);
  HR_TRY(op_want_scalar(instr, a, "operand 0", "I1"));
  HR_TRY(op_want_scalar(instr, b, "operand 1", "I2"));
  OP_WANT(
      instr,
      hlo_shape_is_array(instr->shape) && a->dtype == b->dtype && a->dtype == instr->shape->dtype,
      "C1", "%s and %s give %s, want equal types", OP_TEXT(a), OP_TEXT(b), OP_TEXT(instr->shape));
  OP_WANT(instr,
          distribution == HLO_DISTRIBUTION_UNIFORM || distribution == HLO_DISTRIBUTION_NORMAL, "I4",
          "distribution is rng_invalid, want rng_uniform or rng_normal");
  OP_WANT(instr, distribution == HLO_DISTRIBUTION_UNIFORM || hr_dtype_is_float(a->dtype), "C2",
          "rng_normal of elements of type %s, want a float type", hr_dtype_name(a->dtype));
  OP_WANT(instr, !hr_dtype_is_complex(a->dtype), "I1",
          "elements of type %s, want integers, floats or preds", hr_dtype_name(a->dtype));
  return check_rng_part(instr);
}

/* Number of u64 of an algorithm's state: Threefry has a key and a counter; Philox may have a wider
 * counter. */
static hr_status_t check_rng_state(const hlo_instr_t *instr, const hlo_shape_t *state) {
  int algorithm = hlo_attr_enum(instr, HLO_ATTR_RNG_ALGORITHM);
  OP_WANT(instr, state->dtype == HR_U64 && state->rank == 1 && !state->dynamic, "I2",
          "the state is %s, want u64[2] or u64[3]", OP_TEXT(state));
  bool fits =
      state->dims[0] == 2 || (state->dims[0] == 3 && algorithm != HLO_RNG_ALGORITHM_THREE_FRY);
  OP_WANT(instr, fits, "C2", "the state is %s, want %s", OP_TEXT(state),
          algorithm == HLO_RNG_ALGORITHM_THREE_FRY ? "u64[2]" : "u64[2] or u64[3]");
  return NULL;
}

hr_status_t verify_rng_bit_generator(const hlo_instr_t *instr) {
  const hlo_shape_t *state = op_operand_shape(instr, 0), *shape = instr->shape;
  HR_TRY(check_rng_state(instr, state));
  OP_WANT(instr, hlo_shape_is_tuple(shape) && shape->element_count == 2, "C1",
          "declared as %s, want (state, bits)", OP_TEXT(shape));
  OP_WANT(instr, hlo_shape_compatible(shape->elements[0], state), "C1",
          "the new state is %s, want %s", OP_TEXT(shape->elements[0]), OP_TEXT(state));
  op_kind_t kind = op_kind(shape->elements[1]->dtype);
  OP_WANT(instr, kind == OP_KIND_INTEGER || kind == OP_KIND_FLOAT, "O2",
          "the bits are %s, want integers or floats", OP_TEXT(shape->elements[1]));
  return NULL;
}

hr_status_t verify_rng_get_and_update_state(const hlo_instr_t *instr) {
  const hlo_shape_t *shape = instr->shape;
  OP_WANT(instr, shape->dtype == HR_U64 && shape->rank == 1 && shape->dims[0] == 2, NULL,
          "declared as %s, want u64[2]", OP_TEXT(shape));
  return NULL;
}
