/* Arrays between convolutions are kept in the order that convolutions like, as order_plan.h chooses: what lies between
 * is done in that order, and transposes are left where it begins and ends. Exact but for the order of sums. */
#include "base/log.h"
#include "passes/order_plan.h"
#include "passes/pass_conv.h"
#include "passes/passes.h"

typedef struct reorder {
  pass_rewrite_t *rewrite;
  const order_plan_t *plan;
} reorder_t;

/* ---- transposes ---- */

static bool is_straight(int rank, const int64_t *dims) {
  for (int d = 0; d < rank; d++)
    if (dims[d] != d) return false;
  return true;
}

/* x in this order; of a transpose, what it transposes. */
static hlo_instr_t *turn(const reorder_t *r, hlo_instr_t *x, const int64_t *order) {
  int64_t dims[HLO_MAX_RANK];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) dims[d] = order[d];
  for (; x->op == HLO_TRANSPOSE; x = pass_resolve(r->rewrite, x->operands[0]))
    for (int d = 0; d < rank; d++) dims[d] = hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[dims[d]];
  return is_straight(rank, dims) ? x : pass_build_transpose(r->rewrite, x, dims);
}

static hlo_instr_t *turn_to(const reorder_t *r, hlo_instr_t *x, const order_t *order) {
  int64_t dims[HLO_MAX_RANK];
  order_write(order, dims);
  return order->rank ? turn(r, x, dims) : x;
}

static hlo_instr_t *turn_back(const reorder_t *r, hlo_instr_t *x, const order_t *order) {
  int64_t places[HLO_MAX_RANK];
  order_places(order, places);
  return x && order->rank ? turn(r, x, places) : x;
}

static const hlo_shape_t *turned_shape(const reorder_t *r, const hlo_shape_t *shape, const order_t *order) {
  int64_t sizes[HLO_MAX_RANK];
  for (int d = 0; d < order->rank; d++) sizes[d] = shape->dims[order->dims[d]];
  return pass_shape(r->rewrite, shape->dtype, order->rank, sizes);
}

/* ---- attributes ---- */

static hlo_attr_t places_of(const reorder_t *r, const hlo_attr_t *attr, const int64_t *places) {
  int64_t moved[HLO_MAX_RANK];
  for (int64_t i = 0; i < attr->ints.count; i++) moved[i] = places[attr->ints.data[i]];
  return hlo_attr_of_ints(&r->rewrite->builder, (hlo_attr_key_t)attr->key, attr->ints.count, moved);
}

/* Dimension i of the operand, as it is now, was operand->dims[i]. */
static hlo_attr_t spread_places(const reorder_t *r, const hlo_attr_t *attr, const order_t *operand,
                                const int64_t *places) {
  int64_t moved[HLO_MAX_RANK];
  for (int i = 0; i < operand->rank; i++) moved[i] = places[attr->ints.data[operand->dims[i]]];
  return hlo_attr_of_ints(&r->rewrite->builder, (hlo_attr_key_t)attr->key, operand->rank, moved);
}

static hlo_attr_t sizes_of(const reorder_t *r, const hlo_attr_t *attr, const order_t *order) {
  int64_t moved[HLO_MAX_RANK];
  for (int d = 0; d < order->rank; d++) moved[d] = attr->ints.data[order->dims[d]];
  return hlo_attr_of_ints(&r->rewrite->builder, (hlo_attr_key_t)attr->key, order->rank, moved);
}

/* What says something of each dimension: a list of its own kind, which all begin with rank and dims. */
#define TURN_LIST(field, type)                                                          \
  do {                                                                                  \
    type##_t *list;                                                                     \
    type##_dim_t *dims;                                                                 \
    HR_TRY(HR_NEW(arena, &list));                                                       \
    HR_TRY(HR_NEW_ARRAY(arena, order->rank, &dims));                                    \
    for (int d = 0; d < order->rank; d++) dims[d] = attr->field->dims[order->dims[d]];  \
    *list = (type##_t){order->rank, dims};                                              \
    attr->field = list;                                                                 \
  } while (0)

static hr_status_t turn_lists(hr_arena_t *arena, const order_t *order, hlo_attr_t *attr) {
  switch (attr->key) {
    case HLO_ATTR_WINDOW: TURN_LIST(window, hlo_window); break;
    case HLO_ATTR_PADDING: TURN_LIST(padding, hlo_padding); break;
    case HLO_ATTR_SLICE: TURN_LIST(slice, hlo_slice); break;
    default: break;
  }
  return NULL;
}

/* The attribute that speaks of dimensions, for an instruction in this order. False: it has none. */
static bool turned_attr(const reorder_t *r, const hlo_instr_t *instr, const order_t *order, hlo_attr_t *out_attr) {
  static const hlo_attr_key_t keys[] = {HLO_ATTR_DIMENSIONS, HLO_ATTR_DYNAMIC_SLICE_SIZES, HLO_ATTR_WINDOW,
                                        HLO_ATTR_PADDING, HLO_ATTR_SLICE};
  int64_t places[HLO_MAX_RANK];
  const hlo_attr_t *attr = NULL;
  order_t operand;
  hlo_builder_t *builder = &r->rewrite->builder;
  for (size_t i = 0; i < sizeof keys / sizeof *keys && !attr; i++) attr = hlo_attr_find(instr, keys[i]);
  if (!attr) return false;
  order_places(order, places);
  *out_attr = *attr;
  if (instr->op == HLO_BROADCAST && order_below(instr, 0, order, &operand))
    *out_attr = spread_places(r, attr, &operand, places);
  else if (attr->key == HLO_ATTR_DIMENSIONS)
    *out_attr = places_of(r, attr, places);
  else if (attr->key == HLO_ATTR_DYNAMIC_SLICE_SIZES)
    *out_attr = sizes_of(r, attr, order);
  else if (!builder->status)
    builder->status = turn_lists(r->rewrite->arena, order, out_attr);
  return true;
}

/* ---- instructions ---- */

/* Of dynamic slices and their updates the last operands say where, one for each dimension. */
static int first_place_operand(const hlo_instr_t *instr) {
  return instr->op == HLO_DYNAMIC_SLICE ? 1 : instr->op == HLO_DYNAMIC_UPDATE_SLICE ? 2 : instr->operand_count;
}

static hr_status_t turned_operands(const reorder_t *r, const hlo_instr_t *instr, const order_t *order,
                                   hlo_instr_t ***out_operands) {
  hlo_instr_t **operands;
  int places = first_place_operand(instr);
  order_t operand;
  HR_TRY(HR_NEW_ARRAY(&r->rewrite->scratch, instr->operand_count, &operands));
  for (int k = 0; k < places; k++) {
    order_below(instr, k, order, &operand);
    operands[k] = turn_to(r, instr->operands[k], &operand);
  }
  for (int k = places; k < instr->operand_count; k++) operands[k] = instr->operands[places + order->dims[k - places]];
  *out_operands = operands;
  return NULL;
}

static hr_status_t turn_instr(const reorder_t *r, hlo_instr_t *instr) {
  const order_t *order = &r->plan->choices[instr->id].order;
  order_t result;
  hlo_instr_t **operands, *turned;
  hlo_attr_t attr;
  order_below(instr, ORDER_RESULT, order, &result);
  HR_TRY(turned_operands(r, instr, order, &operands));
  const hlo_shape_t *shape = turned_shape(r, instr->shape, &result);
  if (turned_attr(r, instr, order, &attr))
    turned = pass_build_with(r->rewrite, instr, operands, shape, &attr);
  else
    turned = pass_build_like(r->rewrite, instr, operands, shape);
  return pass_replace(r->rewrite, instr, turn_back(r, turned, &result));
}

static hr_status_t turn_conv(const reorder_t *r, hlo_instr_t *conv) {
  const order_choice_t *choice = &r->plan->choices[conv->id];
  hlo_instr_t *operands[] = {conv->operands[0], conv->operands[1]};
  int64_t moved[PASS_CONV_SIDES][HLO_MAX_RANK];
  const int64_t *places[PASS_CONV_SIDES] = {NULL};
  const hlo_shape_t *shape = conv->shape;
  conv_orders_t orders;
  conv_orders_find(conv, &orders);
  for (int k = 0; k < 2; k++) {
    if (!choice->operand_turned[k]) continue;
    order_t order = order_of_dims(operands[k]->shape->rank, orders.dims[k]);
    order_places(&order, moved[k]);
    places[k] = moved[k];
    operands[k] = turn_to(r, operands[k], &order);
  }
  if (choice->turned) {
    order_places(&choice->order, moved[PASS_CONV_OUT]);
    places[PASS_CONV_OUT] = moved[PASS_CONV_OUT];
    shape = turned_shape(r, conv->shape, &choice->order);
  }
  if (!places[0] && !places[1] && !places[2]) return NULL;
  hlo_instr_t *turned = pass_conv_relabel(r->rewrite, conv, operands, shape, places);
  return pass_replace(r->rewrite, conv, choice->turned ? turn_back(r, turned, &choice->order) : turned);
}

/* Transposes stay: what uses them finds what they transpose. */
static hr_status_t turn_all(const reorder_t *r) {
  hr_status_t st = NULL;
  for (uint32_t i = 0; i < r->rewrite->old_count && !st; i++) {
    const order_choice_t *choice = &r->plan->choices[i];
    hlo_instr_t *instr = choice->is_conv || choice->turned ? pass_rewrite_visit(r->rewrite, i) : NULL;
    if (!instr || instr->op == HLO_TRANSPOSE) continue;
    st = choice->is_conv ? turn_conv(r, instr) : turn_instr(r, instr);
  }
  return st;
}

static void report(const hlo_computation_t *computation, const order_plan_t *plan) {
  hr_log(HR_LOG_PLAN, HR_LOG_INFO,
         "%.*s: %d arrays (%.4g MB) are moved for the sake of the order of dimensions, %d (%.4g MB) before",
         (int)computation->name.size, computation->name.data, plan->after.count, plan->after.paid / 1e6,
         plan->before.count, plan->before.paid / 1e6);
}

static hr_status_t reorder(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  order_plan_t plan;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = order_plan_find(&rewrite.scratch, computation, &plan);
  reorder_t r = {&rewrite, &plan};
  if (!st && plan.choices) report(computation, &plan);
  if (!st && plan.choices) st = turn_all(&r);
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_orders(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) HR_TRY(reorder(module->computations.data[c], out_changed));
  return NULL;
}
