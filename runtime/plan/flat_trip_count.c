/* Counted loops: a while whose condition compares a counter with a constant needs no condition
 * steps.
 *
 *   while(i < 10) { ...; i = i + 1 }    trip count 10, known before the loop starts
 *
 * If nothing but the counter itself and the condition reads the increment, it is not computed
 * either. The counter is matched through fusions of the body, whose parameters stand for the
 * fusion's operands. Matched: tuple state, condition of one compare; limit and step constant. Cost:
 * linear in the body. */
#include "ops/query/trip_count.h"
#include "plan/flat_build.h"

static int element_index(const hlo_instr_t *instr) {
  return (int)hlo_attr_int(instr, HLO_ATTR_INDEX);
}

int flat_element_read(const hlo_instr_t *instr) {
  return instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0]->op == HLO_PARAMETER
             ? element_index(instr)
             : -1;
}

static const hlo_instr_t *resolve_fusion_operand(flat_body_value_t of, const hlo_instr_t *operand) {
  if (!of.fusion) return operand;
  if (operand->op == HLO_PARAMETER) return of.fusion->operands[hlo_parameter_number(operand)];
  return operand->op == HLO_CONSTANT ? operand : NULL;
}

flat_body_value_t flat_next_value(const hlo_computation_t *body, int k) {
  const hlo_instr_t *next = body->root->operands[k], *fusion = next;
  int element = 0;
  if (next->op == HLO_GET_TUPLE_ELEMENT && next->operands[0]->op == HLO_FUSION) {
    fusion = next->operands[0];
    element = element_index(next);
  }
  if (fusion->op != HLO_FUSION) return (flat_body_value_t){next, NULL};
  const hlo_instr_t *root = fusion->called[0]->root;
  if (root->op == HLO_TUPLE && hlo_shape_is_tuple(fusion->shape)) root = root->operands[element];
  return (flat_body_value_t){root, fusion};
}

static bool is_passed_through(const hlo_computation_t *body, int k) {
  return flat_element_read(body->root->operands[k]) == k;
}

/* The integer value that an instruction of body or condition has before the loop. */
static bool constant_at_start(const hlo_instr_t *loop, const hlo_instr_t *instr,
                              int64_t *out_value) {
  int k = flat_element_read(instr);
  if (k >= 0) instr = loop->operands[0]->op == HLO_TUPLE ? loop->operands[0]->operands[k] : NULL;
  if (!instr || instr->op != HLO_CONSTANT || !instr->literal || !hlo_shape_is_scalar(instr->shape))
    return false;
  if (!hr_dtype_is_integer(instr->shape->dtype)) return false;
  *out_value = hlo_value_int_at(instr->literal, 0);
  return true;
}

bool flat_constant_in_loop(const hlo_instr_t *loop, const hlo_instr_t *instr, int64_t *out_value) {
  int k = flat_element_read(instr);
  return (k < 0 || is_passed_through(loop->called[1], k)) &&
         constant_at_start(loop, instr, out_value);
}

static bool find_step(const hlo_instr_t *loop, int k, int64_t *out_step) {
  flat_body_value_t next = flat_next_value(loop->called[1], k);
  if (next.instr->op != HLO_ADD) return false;
  for (int j = 0; j < 2; j++) {
    const hlo_instr_t *from = resolve_fusion_operand(next, next.instr->operands[j]);
    const hlo_instr_t *step = resolve_fusion_operand(next, next.instr->operands[1 - j]);
    if (from && step && flat_element_read(from) == k && flat_constant_in_loop(loop, step, out_step))
      return true;
  }
  return false;
}

/* Is the state a tuple that is only read by element, and the condition a single comparison? */
static bool is_plain(const hlo_instr_t *loop) {
  const hlo_computation_t *condition = loop->called[0], *body = loop->called[1];
  if (!hlo_shape_is_tuple(loop->shape) || body->root->op != HLO_TUPLE ||
      condition->root->op != HLO_COMPARE)
    return false;
  for (size_t i = 0; i < condition->instrs.count; i++) {
    hlo_opcode_t op = condition->instrs.data[i]->op;
    if (op != HLO_PARAMETER && op != HLO_GET_TUPLE_ELEMENT && op != HLO_CONSTANT &&
        op != HLO_COMPARE)
      return false;
  }
  return true;
}

static bool find_counter(const hlo_instr_t *loop, flat_trip_count_t *trips) {
  const hlo_instr_t *compare = loop->called[0]->root;
  int direction = hlo_attr_enum(compare, HLO_ATTR_DIRECTION);
  for (int side = 0; side < 2; side++) {
    const hlo_instr_t *read = compare->operands[side];
    int k = flat_element_read(read);
    int64_t limit;
    if (k < 0 || !flat_constant_in_loop(loop, compare->operands[1 - side], &limit) ||
        !constant_at_start(loop, read, &trips->start) || !find_step(loop, k, &trips->step))
      continue;
    trips->element = k;
    trips->count =
        loop_trip_count(read->shape->dtype, side ? op_direction_mirrored(direction) : direction,
                        trips->start, trips->step, limit);
    if (trips->count >= 0) return true;
  }
  return false;
}

int flat_count_uses(const hlo_computation_t *computation, const hlo_instr_t *instr) {
  int count = computation->root == instr;
  for (size_t i = 0; i < computation->instrs.count; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++)
      count += computation->instrs.data[i]->operands[k] == instr;
  return count;
}

/* Is element k, or the whole state, read after the loop? */
static bool is_read_after(const hlo_instr_t *loop, int k) {
  if (loop->parent->root == loop) return true;
  for (size_t i = 0; i < loop->parent->instrs.count; i++) {
    const hlo_instr_t *user = loop->parent->instrs.data[i];
    for (int j = 0; j < user->operand_count; j++)
      if (user->operands[j] == loop &&
          (user->op != HLO_GET_TUPLE_ELEMENT || element_index(user) == k))
        return true;
  }
  return false;
}

/* Does an instruction of the body other than `next` read element k, or the whole state? */
static bool is_read_by(const hlo_instr_t *instr, const hlo_instr_t *next, int k) {
  for (int j = 0; j < instr->operand_count; j++) {
    const hlo_instr_t *operand = instr->operands[j];
    if (operand->op == HLO_PARAMETER && instr->op != HLO_GET_TUPLE_ELEMENT) return true;
    if (flat_element_read(operand) == k && instr != next) return true;
  }
  return false;
}

/* Finds the increment if only the counter itself uses it. */
static void find_unused_increment(const hlo_instr_t *loop, flat_trip_count_t *trips) {
  const hlo_computation_t *body = loop->called[1];
  int counter = trips->element;
  const hlo_instr_t *next = body->root->operands[counter];
  if (next->op != HLO_ADD || flat_count_uses(body, next) != 1 || is_read_after(loop, counter))
    return;
  for (size_t i = 0; i < body->instrs.count; i++)
    if (is_read_by(body->instrs.data[i], next, counter)) return;
  trips->idle = next;
  trips->counter = next->operands[flat_element_read(next->operands[0]) == counter ? 0 : 1];
}

flat_trip_count_t flat_find_trip_count(const hlo_instr_t *loop) {
  flat_trip_count_t trips = {.count = -1};
  if (!is_plain(loop) || !find_counter(loop, &trips)) return (flat_trip_count_t){.count = -1};
  find_unused_increment(loop, &trips);
  return trips;
}
