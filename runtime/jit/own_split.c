/* Vectors wider than the processor's, or of lanes that are no power of two, become several that it has. All values of
 * an instruction are divided at the same lanes; users that are divided at others get lanes by shuffles.
 *
 * The last part of an odd count has a power of two of lanes, of which the last ones are anything: memory is reached
 * under a mask there. */
#include <string.h>

#include "jit/own_code.h"

#define REF(value) ((LLVMValueRef)(value))
#define TYPE_REF(type) ((LLVMTypeRef)(type))
#define SOURCES_MOST 64

typedef struct split {
  own_code_t *code;
  own_context_t *context;
  LLVMBuilderRef builder; /* before what is divided */
} split_t;

/* --- how much at a time ------------------------------------------------------------------------------------------ */

static bool is_vector(const own_type_t *type) { return type->kind == LLVMVectorTypeKind; }

/* Lanes that a register has. */
static unsigned lanes_most(const own_type_t *type) { return own_is_truth(type) ? 64 : OWN_VECTOR_BITS / type->bits; }

static bool is_odd(const own_type_t *type) { return (type->lanes & (type->lanes - 1)) != 0; }

static bool is_divided(const own_type_t *type) {
  return is_vector(type) && (type->lanes > lanes_most(type) || is_odd(type));
}

static unsigned power_above(unsigned count) {
  unsigned power = 1;
  while (power < count) power *= 2;
  return power;
}

static unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }

static unsigned lanes_at_once(const own_type_t *type) { return smaller(lanes_most(type), power_above(type->lanes)); }

/* Lanes of the part that begins at `first`. */
static unsigned lanes_of_part(unsigned lanes, unsigned at_once, unsigned first) {
  return smaller(at_once, power_above(lanes - first));
}

static own_type_t *part_type(own_type_t *type, unsigned lanes) {
  return is_vector(type) ? own_vector_of(type->element, lanes) : type;
}

/* --- lanes of values --------------------------------------------------------------------------------------------- */

static own_value_t *nothing_of(own_type_t *type) { return (own_value_t *)own_api.GetPoison(TYPE_REF(type)); }

static own_value_t *shuffle(split_t *s, own_value_t *a, own_value_t *b, const uint64_t *order, unsigned lanes) {
  own_type_t *i32 = own_type_of(s->context, LLVMIntegerTypeKind, 32);
  own_value_t *mask = own_constant(own_vector_of(i32, lanes), order, false);
  return (own_value_t *)own_api.BuildShuffleVector(s->builder, REF(a), REF(b), REF(mask), "");
}

static own_value_t *run_of(split_t *s, own_value_t *a, own_value_t *b, unsigned first, unsigned lanes) {
  uint64_t order[1024];
  for (unsigned i = 0; i < lanes; i++) order[i] = first + i;
  return shuffle(s, a, b, order, lanes);
}

static own_value_t *constant_lanes(const own_value_t *value, unsigned first, unsigned lanes) {
  uint64_t part[1024] = {0};
  for (unsigned i = 0; i < lanes && first + i < value->type->lanes; i++) part[i] = value->lanes[first + i];
  return own_constant(own_vector_of(value->type->element, lanes), part, value->is_poison);
}

static bool is_splat(const own_value_t *value) {
  if (value->op != OWN_SHUFFLE || value->parts) return false;
  for (unsigned i = 0; i < value->type->lanes; i++)
    if (value->lanes[i]) return false;
  return true;
}

/* Lanes of a whole value or of a part: `first` is a multiple of their number. */
static own_value_t *lanes_within(split_t *s, own_value_t *value, unsigned first, unsigned lanes) {
  if (!first && lanes == value->type->lanes) return value;
  if (own_is_constant(value)) return constant_lanes(value, first, lanes);
  if (is_splat(value)) {
    const uint64_t zeros[64] = {0};
    return shuffle(s, value->args[0], value->args[1], zeros, lanes);
  }
  return run_of(s, value, nothing_of(value->type), first, lanes);
}

/* So many lanes, a power of two, from a multiple of them on; those behind the last one are anything. */
static own_value_t *lanes_of(split_t *s, own_value_t *value, unsigned first, unsigned lanes) {
  unsigned at_once = value->part_lanes;
  if (!is_vector(value->type)) return value;
  if (first >= value->type->lanes) return nothing_of(own_vector_of(value->type->element, lanes));
  if (!value->parts) return lanes_within(s, value, first, lanes);
  own_value_t *part = value->parts[first / at_once];
  if (part->type->lanes >= lanes) return lanes_within(s, part, first % at_once, lanes);
  own_value_t *low = lanes_of(s, value, first, lanes / 2), *high = lanes_of(s, value, first + lanes / 2, lanes / 2);
  return run_of(s, low, high, 0, lanes);
}

/* --- instructions ------------------------------------------------------------------------------------------------ */

static void keep_parts(split_t *s, own_value_t *value, unsigned at_once) {
  unsigned count = (value->type->lanes + at_once - 1) / at_once;
  value->parts = own_alloc(s->context, count * sizeof *value->parts), value->part_lanes = at_once;
}

/* The parts take its place; one behind the other if there is a register for all. */
static void replace(split_t *s, own_value_t *instr) {
  if (own_has_result(instr) && !is_divided(instr->type)) {
    instr->instead = lanes_of(s, instr, 0, instr->type->lanes);
    instr->parts[0] = instr->instead, instr->part_lanes = instr->type->lanes;
  }
  own_unlink(instr);
}

static int pointer_index(own_op_t op) {
  switch (op) {
    case OWN_LOAD:
    case OWN_MASKED_LOAD: return 0;
    case OWN_STORE:
    case OWN_MASKED_STORE: return 1;
    default: return -1;
  }
}

static bool is_masked(own_op_t op) {
  return op == OWN_MASKED_LOAD || op == OWN_MASKED_STORE || op == OWN_GATHER || op == OWN_SCATTER;
}

static own_value_t *pointer_at(split_t *s, own_value_t *pointer, uint64_t distance) {
  LLVMContextRef context = (LLVMContextRef)s->context;
  LLVMValueRef index = own_api.ConstInt(own_api.Int64TypeInContext(context), distance, false);
  return distance ? (own_value_t *)own_api.BuildGEP2(s->builder, own_api.Int8TypeInContext(context), REF(pointer),
                                                     &index, 1, "")
                  : pointer;
}

/* A load or store of the first lanes alone. */
static own_value_t *build_first_lanes(split_t *s, own_op_t op, own_type_t *type, own_value_t **args, unsigned lanes,
                                      unsigned first_lanes) {
  uint64_t bits[64] = {0};
  for (unsigned i = 0; i < first_lanes; i++) bits[i] = 1;
  own_value_t *mask = own_constant(own_vector_of(own_type_of(s->context, LLVMIntegerTypeKind, 1), lanes), bits, false);
  own_value_t *align = own_constant_of_all(own_type_of(s->context, LLVMIntegerTypeKind, 32), 1);
  if (op == OWN_LOAD) {
    own_value_t *all[] = {args[0], align, mask, nothing_of(type)};
    return own_build(s->builder, OWN_MASKED_LOAD, type, 0, all, 4);
  }
  own_value_t *all[] = {args[0], args[1], align, mask};
  return own_build(s->builder, OWN_MASKED_STORE, type, 0, all, 4);
}

static unsigned lanes_together(const own_value_t *instr, unsigned *out_lanes) {
  unsigned at_once = 1024;
  for (int k = -1; k < instr->arg_count; k++) {
    const own_type_t *type = k < 0 ? instr->type : instr->args[k]->type;
    if (is_vector(type)) at_once = smaller(at_once, lanes_at_once(type)), *out_lanes = type->lanes;
  }
  return at_once;
}

/* One part of an instruction whose lanes have nothing to do with each other. */
static own_value_t *build_part(split_t *s, const own_value_t *instr, unsigned first, unsigned lanes, unsigned all) {
  own_value_t *args[8];
  own_type_t *type = part_type(instr->type, lanes);
  int pointer = pointer_index(instr->op);
  const own_type_t *moved = own_has_result(instr) ? instr->type : instr->args[0]->type;
  for (int k = 0; k < instr->arg_count; k++)
    args[k] = k == pointer ? pointer_at(s, instr->args[k], (uint64_t)first * moved->bits / 8)
                           : lanes_of(s, instr->args[k], first, lanes);
  bool is_beyond = first + lanes > all;
  if (is_beyond && is_masked(instr->op)) s->code->lacks = "odd vectors under masks";
  own_value_t *made = (instr->op == OWN_LOAD || instr->op == OWN_STORE) && is_beyond
                          ? build_first_lanes(s, instr->op, type, args, lanes, all - first)
                          : own_build(s->builder, instr->op, type, instr->predicate, args, instr->arg_count);
  made->align = instr->align, made->streams = instr->streams;
  return made;
}

static void split_lanes(split_t *s, own_value_t *instr) {
  unsigned all = 0, at_once = lanes_together(instr, &all);
  own_value_t *parts[1024];
  if (instr->arg_count > 8 || all > 1024) s->code->lacks = "vectors of odd sizes";
  if (s->code->lacks) return;
  for (unsigned first = 0; first < all; first += at_once)
    parts[first / at_once] = build_part(s, instr, first, lanes_of_part(all, at_once, first), all);
  if (own_has_result(instr)) {
    keep_parts(s, instr, at_once);
    if (s->context->status) return;
    memcpy(instr->parts, parts, (all + at_once - 1) / at_once * sizeof *parts);
  }
  replace(s, instr);
}

/* Of as many bits, in lanes of other widths. */
static void split_bits(split_t *s, own_value_t *instr) {
  const own_type_t *from = instr->args[0]->type, *type = instr->type;
  unsigned at_once = lanes_at_once(type);
  if (own_is_truth(from) || own_is_truth(type)) s->code->lacks = "masks as integers";
  if (s->code->lacks) return;
  keep_parts(s, instr, at_once);
  for (unsigned first = 0; first < type->lanes && !s->context->status; first += at_once) {
    unsigned lanes = lanes_of_part(type->lanes, at_once, first);
    own_value_t *part = lanes_of(s, instr->args[0], first * type->bits / from->bits, lanes * type->bits / from->bits);
    instr->parts[first / at_once] =
        (own_value_t *)own_api.BuildBitCast(s->builder, REF(part), TYPE_REF(part_type(instr->type, lanes)), "");
  }
  replace(s, instr);
}

/* Its values come when all are divided: they may be of blocks that follow. */
static void split_phi(split_t *s, own_value_t *phi) {
  unsigned all = phi->type->lanes, at_once = lanes_at_once(phi->type);
  keep_parts(s, phi, at_once);
  for (unsigned first = 0; first < all && !s->context->status; first += at_once)
    phi->parts[first / at_once] = (own_value_t *)own_api.BuildPhi(
        s->builder, TYPE_REF(part_type(phi->type, lanes_of_part(all, at_once, first))), "");
}

static void fill_phi(split_t *s, own_value_t *phi) {
  if (phi->op != OWN_PHI || !phi->parts) return;
  for (int a = 0; a < phi->arg_count; a++) {
    own_api.PositionBuilderBefore(s->builder, REF(phi->blocks[a]->last));
    for (unsigned first = 0; first < phi->type->lanes; first += phi->part_lanes) {
      own_value_t *part = phi->parts[first / phi->part_lanes];
      LLVMValueRef value = REF(lanes_of(s, phi->args[a], first, part->type->lanes));
      own_api.AddIncoming(REF(part), &value, (LLVMBasicBlockRef *)&phi->blocks[a], 1);
    }
  }
  own_unlink(phi);
}

/* --- shuffles ---------------------------------------------------------------------------------------------------- */

/* Vectors that lanes are taken from, each with `lanes` of them. */
typedef struct sources {
  own_value_t *values[SOURCES_MOST];
  unsigned keys[SOURCES_MOST];
  unsigned count, lanes;
} sources_t;

static unsigned source_of(split_t *s, sources_t *sources, const own_value_t *instr, uint64_t lane) {
  unsigned each = instr->args[0]->type->lanes, arg = lane >= each, at = (unsigned)lane - arg * each;
  unsigned key = arg * each + at / sources->lanes, i = 0;
  while (i < sources->count && sources->keys[i] != key) i++;
  if (i == SOURCES_MOST) s->code->lacks = "such an order", i = 0;
  if (i == sources->count) {
    sources->keys[i] = key;
    sources->values[i] = lanes_of(s, instr->args[arg], at / sources->lanes * sources->lanes, sources->lanes);
    sources->count++;
  }
  return i;
}

/* From each source after the first in turn, into what the ones before it gave. */
static own_value_t *merge_sources(split_t *s, const sources_t *sources, const unsigned *from, const uint64_t *at,
                                  unsigned lanes) {
  own_value_t *so_far = sources->values[0];
  uint64_t order[64];
  for (unsigned k = sources->count > 1 ? 1 : 0; k < sources->count; k++) {
    unsigned made = k + 1 < sources->count ? sources->lanes : lanes;
    bool is_begun = k > 1;
    for (unsigned i = 0; i < made; i++)
      order[i] = i >= lanes              ? 0
                 : k && from[i] == k     ? sources->lanes + at[i]
                 : is_begun || from[i] > k ? i % sources->lanes
                                         : at[i];
    own_value_t *other = k ? sources->values[k] : nothing_of(so_far->type);
    so_far = shuffle(s, so_far, other, order, made);
  }
  return so_far;
}

static own_value_t *shuffle_part(split_t *s, const own_value_t *instr, unsigned first, unsigned lanes) {
  sources_t sources = {.lanes = lanes_at_once(instr->args[0]->type)};
  unsigned from[64] = {0};
  uint64_t at[64] = {0};
  for (unsigned i = 0; i < lanes && first + i < instr->type->lanes; i++) {
    uint64_t lane = instr->lanes[first + i];
    from[i] = source_of(s, &sources, instr, lane);
    at[i] = lane % instr->args[0]->type->lanes % sources.lanes;
  }
  if (sources.count > 2 && lanes > sources.lanes) s->code->lacks = "such an order";
  return merge_sources(s, &sources, from, at, lanes);
}

static void split_shuffle(split_t *s, own_value_t *instr) {
  unsigned all = instr->type->lanes, at_once = lanes_at_once(instr->type);
  own_value_t *parts[1024];
  for (unsigned first = 0; first < all && !s->code->lacks; first += at_once)
    parts[first / at_once] = shuffle_part(s, instr, first, lanes_of_part(all, at_once, first));
  keep_parts(s, instr, at_once);
  if (s->code->lacks || s->context->status) return;
  memcpy(instr->parts, parts, (all + at_once - 1) / at_once * sizeof *parts);
  replace(s, instr);
}

/* --- one lane ---------------------------------------------------------------------------------------------------- */

static void split_insertion(split_t *s, own_value_t *instr) {
  unsigned all = instr->type->lanes, at_once = lanes_at_once(instr->type), lane = (unsigned)instr->args[2]->lanes[0];
  keep_parts(s, instr, at_once);
  for (unsigned first = 0; first < all && !s->context->status; first += at_once) {
    own_value_t *part = lanes_of(s, instr->args[0], first, lanes_of_part(all, at_once, first));
    LLVMValueRef at = REF(own_constant_of_all(instr->args[2]->type, lane % at_once));
    if (lane / at_once == first / at_once)
      part = (own_value_t *)own_api.BuildInsertElement(s->builder, REF(part), REF(instr->args[1]), at, "");
    instr->parts[first / at_once] = part;
  }
  own_unlink(instr);
}

static void split_extraction(split_t *s, own_value_t *instr) {
  own_value_t *vector = instr->args[0];
  unsigned lane = (unsigned)instr->args[1]->lanes[0], at_once = lanes_at_once(vector->type);
  unsigned first = lane / at_once * at_once;
  instr->args[0] = lanes_of(s, vector, first, lanes_of_part(vector->type->lanes, at_once, first));
  instr->args[1] = own_constant_of_all(instr->args[1]->type, lane % at_once);
}

/* An or of all lanes: of all parts first. */
static void split_any(split_t *s, own_value_t *instr) {
  const own_value_t *vector = instr->args[0];
  unsigned at_once = lanes_at_once(vector->type);
  own_value_t *sum = NULL;
  for (unsigned first = 0; first < vector->type->lanes; first += at_once) {
    own_value_t *part = lanes_of(s, instr->args[0], first, at_once);
    sum = sum ? (own_value_t *)own_api.BuildOr(s->builder, REF(sum), REF(part), "") : part;
  }
  instr->args[0] = sum;
}

/* --- all --------------------------------------------------------------------------------------------------------- */

static bool touches_divided(const own_value_t *instr) {
  if (is_divided(instr->type)) return true;
  for (int k = 0; k < instr->arg_count; k++)
    if (is_divided(instr->args[k]->type) && !(instr->op == OWN_SHUFFLE && k == 2)) return true;
  return false;
}

static bool has_unknown_lane(const own_value_t *instr) {
  return !own_is_constant(instr->args[instr->op == OWN_INSERT ? 2 : 1]);
}

static void split_one(split_t *s, own_value_t *instr) {
  if (!touches_divided(instr)) return;
  own_api.PositionBuilderBefore(s->builder, REF(instr));
  switch (instr->op) {
    case OWN_PHI: split_phi(s, instr); return;
    case OWN_SHUFFLE: split_shuffle(s, instr); return;
    case OWN_BITCAST: (instr->args[0]->type->lanes == instr->type->lanes ? split_lanes : split_bits)(s, instr); return;
    case OWN_INSERT:
    case OWN_EXTRACT:
      if (has_unknown_lane(instr))
        s->code->lacks = "such a lane";
      else
        (instr->op == OWN_INSERT ? split_insertion : split_extraction)(s, instr);
      return;
    case OWN_REDUCE_OR:
      if (is_odd(instr->args[0]->type)) s->code->lacks = "vectors of odd sizes";
      split_any(s, instr);
      return;
    case OWN_CALL:
    case OWN_RET: s->code->lacks = "wide arguments"; return;
    default: split_lanes(s, instr);
  }
}

typedef void (*split_fn)(split_t *s, own_value_t *instr);

/* Instructions that come to be meanwhile are left out. */
static void each_instr(split_t *s, split_fn do_one) {
  for (int b = 0; b < s->code->block_count; b++)
    for (own_value_t *instr = s->code->order[b]->first, *next; instr && !s->code->lacks && !s->context->status;
         instr = next) {
      next = instr->after;
      do_one(s, instr);
    }
}

static bool any_divided(const own_code_t *code) {
  for (int b = 0; b < code->block_count; b++)
    for (const own_value_t *instr = code->order[b]->first; instr; instr = instr->after)
      if (touches_divided(instr)) return true;
  return false;
}

hr_status_t own_split(own_code_t *code) {
  split_t s = {.code = code, .context = code->function->context};
  if (!any_divided(code)) return NULL;
  s.builder = own_api.CreateBuilderInContext((LLVMContextRef)s.context);
  each_instr(&s, split_one);
  each_instr(&s, fill_phi);
  own_read_instead(code);
  hr_status_t st = s.context->status;
  s.context->status = NULL;
  return st;
}
