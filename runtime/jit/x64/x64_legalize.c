/* Type legalisation: vectors wider than a register, or with a number of lanes that is no power of
 * two, are split into legal parts.
 *
 *   <40 x float>  ->  16 | 16 | 8         f32: 16 lanes per register; the remainder in one part
 *   <21 x float>  ->  16 | 8 (5 used)     lanes beyond the last one are unspecified
 *
 * All operands of an elementwise instruction are split at the same lanes. Users that need other
 * lanes get them by shuffles of the parts. Shuffles themselves are rebuilt for each part of the
 * result from the parts that it reads, merged pairwise. Phis are split first and filled when all
 * values have their parts, since their arguments may be defined in later blocks.
 *
 * The last part is padded to a power of two of lanes; the padding lanes are unspecified. Its memory
 * accesses are masked, so that nothing outside the array is touched. An instruction that cannot be
 * split sets code->unsupported, and LLVM compiles the module. */
#include "jit/x64/x64_legalize.h"

#include <string.h>

#define SOURCES_MAX 64

/* --- legal sizes ----------------------------------------------------------------------------- */

static bool is_vector(const kir_type_t *type) { return type->kind == KIR_TYPE_VECTOR; }

/* Lanes that fit a register; a mask register holds 64 in any case. */
static unsigned lanes_max(const kir_type_t *type) {
  return kir_is_i1(type) ? 64 : (unsigned)x64_isa(type->module)->vector_bits / type->bits;
}

static bool is_no_power_of_two(const kir_type_t *type) {
  return (type->lanes & (type->lanes - 1)) != 0;
}

/* Scalars are always legal. */
bool x64_is_illegal(const kir_type_t *type) {
  return is_vector(type) && (type->lanes > lanes_max(type) || is_no_power_of_two(type));
}

static unsigned power_of_two_ceil(unsigned count) {
  unsigned power = 1;
  while (power < count) power *= 2;
  return power;
}

static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }

/* Lanes per part: a register's, but no more than the vector needs. */
unsigned x64_legal_lanes(const kir_type_t *type) {
  return min(lanes_max(type), power_of_two_ceil(type->lanes));
}

unsigned x64_part_lanes(unsigned lanes, unsigned at_once, unsigned first) {
  return min(at_once, power_of_two_ceil(lanes - first));
}

/* Values made by legalisation are legal: their ids are beyond the table. */
static parts_t value_parts(const split_t *s, const kir_value_t *value) {
  return value->id < s->replacements.count ? s->parts[value->id] : (parts_t){0};
}

/* --- lanes of values -------------------------------------------------------------------------- */

/* `order` is copied into a constant of the shuffle. */
static kir_value_t *shuffle(split_t *s, kir_value_t *a, kir_value_t *b, const uint64_t *order,
                            unsigned lanes) {
  kir_type_t *i32 = kir_int_type(s->module, 32);
  kir_value_t *mask = kir_constant(kir_vector_type(i32, lanes), order);
  return kir_shuffle(s->builder, a, b, mask);
}

/* Lanes [first, first + lanes) of a followed by b. */
static kir_value_t *subvector(split_t *s, kir_value_t *a, kir_value_t *b, unsigned first,
                              unsigned lanes) {
  uint64_t order[1024];
  for (unsigned i = 0; i < lanes; i++) order[i] = first + i;
  return shuffle(s, a, b, order, lanes);
}

/* The same for a constant; lanes beyond its end are 0, or for AVX2 like the others if those are
 * equal, as an immediate operand is. */
static kir_value_t *constant_lanes(const kir_value_t *value, unsigned first, unsigned lanes) {
  uint64_t part[1024] = {0};
  bool stays_splat = !x64_isa(value->type->module)->has_evex && kir_is_splat(value);
  for (unsigned i = 0; i < lanes && stays_splat; i++) part[i] = value->lanes[0];
  for (unsigned i = 0; i < lanes && first + i < value->type->lanes; i++)
    part[i] = value->lanes[first + i];
  kir_type_t *type = kir_vector_type(value->type->element, lanes);
  return value->is_poison ? kir_poison(type) : kir_constant(type, part);
}

/* Is it a shuffle that repeats lane 0? Each part is then a shorter shuffle of the same source. */
static bool is_splat(const split_t *s, const kir_value_t *value) {
  if (value->op != KIR_SHUFFLE || value_parts(s, value).of) return false;
  for (unsigned i = 0; i < value->type->lanes; i++)
    if (value->lanes[i]) return false;
  return true;
}

/* Lanes of a whole value or of one part; `first` is a multiple of `lanes`. */
static kir_value_t *sub_lanes(split_t *s, kir_value_t *value, unsigned first, unsigned lanes) {
  if (!first && lanes == value->type->lanes) return value;
  if (kir_is_constant(value)) return constant_lanes(value, first, lanes);
  if (is_splat(s, value)) {
    const uint64_t zeros[64] = {0};
    return shuffle(s, value->args[0], value->args[1], zeros, lanes);
  }
  return subvector(s, value, kir_poison(value->type), first, lanes);
}

/* Narrower parts are joined pairwise, so that only log2 shuffles are nested. */
kir_value_t *x64_lanes_of(split_t *s, kir_value_t *value, unsigned first, unsigned lanes) {
  const parts_t parts = value_parts(s, value);
  if (!is_vector(value->type)) return value;
  if (first >= value->type->lanes) return kir_poison(kir_vector_type(value->type->element, lanes));
  if (!parts.of) return sub_lanes(s, value, first, lanes);
  kir_value_t *part = parts.of[first / parts.lanes];
  if (part->type->lanes >= lanes) return sub_lanes(s, part, first % parts.lanes, lanes);
  kir_value_t *low = x64_lanes_of(s, value, first, lanes / 2),
              *high = x64_lanes_of(s, value, first + lanes / 2, lanes / 2);
  return subvector(s, low, high, 0, lanes);
}

/* --- instructions ----------------------------------------------------------------------------- */

kir_value_t **x64_new_parts(split_t *s, const kir_value_t *value, unsigned lanes) {
  unsigned count = (value->type->lanes + lanes - 1) / lanes;
  parts_t *parts = &s->parts[value->id];
  *parts = (parts_t){kir_alloc(s->module, count * sizeof *parts->of), lanes};
  return parts->of;
}

void x64_replace_by_parts(split_t *s, kir_value_t *instr) {
  if (kir_has_result(instr) && !x64_is_illegal(instr->type))
    s->replacements.of[instr->id] = x64_lanes_of(s, instr, 0, instr->type->lanes);
  kir_unlink(instr);
}

/* Index of the address operand that advances with the lanes; -1: none, or a vector of addresses. */
static int pointer_index(kir_op_t op) {
  switch (op) {
    case KIR_LOAD:
    case KIR_MASKED_LOAD:
      return 0;
    case KIR_STORE:
    case KIR_MASKED_STORE:
      return 1;
    default:
      return -1;
  }
}

static bool is_masked(kir_op_t op) {
  return op == KIR_MASKED_LOAD || op == KIR_MASKED_STORE || op == KIR_GATHER || op == KIR_SCATTER;
}

/* The address advanced by `distance` bytes. */
static kir_value_t *pointer_at(split_t *s, kir_value_t *pointer, uint64_t distance) {
  kir_value_t *index = kir_const_int(kir_int_type(s->module, 64), distance);
  return distance ? kir_gep(s->builder, kir_int_type(s->module, 8), pointer, index) : pointer;
}

/* `element`: element type of the mask. */
static kir_value_t *mask_of_first(kir_type_t *element, unsigned lanes, unsigned first_lanes) {
  uint64_t bits[64] = {0};
  for (unsigned i = 0; i < first_lanes; i++) bits[i] = UINT64_MAX;
  return kir_constant(kir_vector_type(element, lanes), bits);
}

/* Clears the mask bits of lanes beyond the first `lanes` of a masked access. */
static void mask_first_lanes(split_t *s, kir_op_t op, kir_value_t **args, unsigned lanes,
                             unsigned first_lanes) {
  int mask = op == KIR_MASKED_LOAD || op == KIR_GATHER ? 2 : 3;
  kir_type_t *element = args[mask]->type->element;
  args[mask] = kir_and(s->builder, args[mask], mask_of_first(element, lanes, first_lanes));
}

/* A load or store of only the first lanes: the masked form, with alignment 1. */
static kir_value_t *build_first_lanes(split_t *s, kir_op_t op, kir_type_t *type, kir_value_t **args,
                                      unsigned lanes, unsigned first_lanes) {
  const kir_type_t *moved = op == KIR_LOAD ? type : args[0]->type;
  kir_type_t *element = kir_int_type(s->module, s->code->isa->has_evex ? 1 : moved->bits);
  kir_value_t *mask = mask_of_first(element, lanes, first_lanes);
  kir_value_t *align = kir_splat_constant(kir_int_type(s->module, 32), 1);
  if (op == KIR_LOAD) {
    kir_value_t *all[] = {args[0], align, mask, kir_poison(type)};
    return kir_build(s->builder, KIR_MASKED_LOAD, type, 0, all, 4);
  }
  kir_value_t *all[] = {args[0], args[1], align, mask};
  return kir_build(s->builder, KIR_MASKED_STORE, type, 0, all, 4);
}

/* Lanes at which an instruction is split: the minimum over its types and its split mask operands.
 * *out_lanes: the number of lanes of its vectors. */
static unsigned common_lanes(const split_t *s, const kir_value_t *instr, unsigned *out_lanes) {
  unsigned at_once = 1024;
  for (int k = -1; k < instr->arg_count; k++) {
    const kir_type_t *type = k < 0 ? instr->type : instr->args[k]->type;
    if (is_vector(type)) {
      at_once = min(at_once, x64_legal_lanes(type));
      *out_lanes = type->lanes;
    }
    parts_t parts = k < 0 ? (parts_t){0} : value_parts(s, instr->args[k]);
    if (kir_is_i1(type) && parts.of) at_once = min(at_once, parts.lanes);
  }
  return at_once;
}

/* Builds the part from lane `first` on of an elementwise instruction; `all` is the total number of
 * lanes. */
static kir_value_t *build_part(split_t *s, const kir_value_t *instr, unsigned first, unsigned lanes,
                               unsigned all) {
  kir_value_t *args[8];
  kir_type_t *type = x64_part_type(instr->type, lanes);
  int pointer = pointer_index(instr->op);
  const kir_type_t *moved = kir_has_result(instr) ? instr->type : instr->args[0]->type;
  for (int k = 0; k < instr->arg_count; k++)
    args[k] = k == pointer ? pointer_at(s, instr->args[k], (uint64_t)first * moved->bits / 8)
                           : x64_lanes_of(s, instr->args[k], first, lanes);
  bool is_beyond = first + lanes > all;
  if (is_beyond && is_masked(instr->op)) mask_first_lanes(s, instr->op, args, lanes, all - first);
  kir_value_t *made =
      (instr->op == KIR_LOAD || instr->op == KIR_STORE) && is_beyond
          ? build_first_lanes(s, instr->op, type, args, lanes, all - first)
          : kir_build(s->builder, instr->op, type, instr->detail, args, instr->arg_count);
  if (!made->split_from) made->split_from = instr->id;
  made->align = instr->align;
  made->is_nontemporal = instr->is_nontemporal;
  return made;
}

/* Elementwise instructions and memory accesses: one instruction per part. */
static void split_lanes(split_t *s, kir_value_t *instr) {
  unsigned all = 0, at_once = common_lanes(s, instr, &all);
  kir_value_t *parts[1024];
  if (instr->arg_count > 8 || all > 1024) s->code->unsupported = "vectors of odd sizes";
  if (s->code->unsupported) return;
  for (unsigned first = 0; first < all; first += at_once)
    parts[first / at_once] = build_part(s, instr, first, x64_part_lanes(all, at_once, first), all);
  if (kir_has_result(instr)) {
    kir_value_t **made = x64_new_parts(s, instr, at_once);
    if (s->module->status) return;
    memcpy(made, parts, (all + at_once - 1) / at_once * sizeof *parts);
  }
  x64_replace_by_parts(s, instr);
}

/* Splits a bitcast: equal bits in lanes of another width. A part of the result has the bits of the
 * operand's lanes from first * bits / from bits on. */
static void split_bits(split_t *s, kir_value_t *instr) {
  const kir_type_t *from = instr->args[0]->type, *type = instr->type;
  unsigned at_once = x64_legal_lanes(type);
  if (kir_is_i1(from) || kir_is_i1(type)) s->code->unsupported = "masks as integers";
  if (s->code->unsupported) return;
  kir_value_t **parts = x64_new_parts(s, instr, at_once);
  for (unsigned first = 0; first < type->lanes && !s->module->status; first += at_once) {
    unsigned lanes = x64_part_lanes(type->lanes, at_once, first);
    kir_value_t *part = x64_lanes_of(s, instr->args[0], first * type->bits / from->bits,
                                     lanes * type->bits / from->bits);
    parts[first / at_once] = kir_bitcast(s->builder, part, x64_part_type(instr->type, lanes));
  }
  x64_replace_by_parts(s, instr);
}

/* Creates a phi for each part. fill_phi adds the arguments when all values are split, since they
 * may be defined in later blocks. */
static void split_phi(split_t *s, kir_value_t *phi) {
  unsigned all = phi->type->lanes, at_once = x64_legal_lanes(phi->type);
  kir_value_t **parts = x64_new_parts(s, phi, at_once);
  for (unsigned first = 0; first < all && !s->module->status; first += at_once)
    parts[first / at_once] =
        kir_phi(s->builder, x64_part_type(phi->type, x64_part_lanes(all, at_once, first)));
}

/* Second pass: adds the parts of each argument, extracted at the end of the predecessor. */
static void fill_phi(split_t *s, kir_value_t *phi) {
  const parts_t parts = value_parts(s, phi);
  if (phi->op != KIR_PHI || !parts.of) return;
  for (int a = 0; a < phi->arg_count; a++) {
    kir_position_before(s->builder, phi->blocks[a]->last);
    for (unsigned first = 0; first < phi->type->lanes; first += parts.lanes) {
      kir_value_t *part = parts.of[first / parts.lanes];
      kir_value_t *value = x64_lanes_of(s, phi->args[a], first, part->type->lanes);
      kir_add_incoming(part, &value, &phi->blocks[a], 1);
    }
  }
  kir_unlink(phi);
}

/* --- shuffles --------------------------------------------------------------------------------- */

/* Distinct source vectors of a part of a shuffle, each of `lanes` lanes, identified by keys. */
typedef struct sources {
  kir_value_t *values[SOURCES_MAX];
  unsigned keys[SOURCES_MAX];
  unsigned count, lanes;
} sources_t;

/* Index in `sources` of the vector with this lane of the shuffle's operands; added if new. */
static unsigned source_of(split_t *s, sources_t *sources, const kir_value_t *instr, uint64_t lane) {
  unsigned each = instr->args[0]->type->lanes, arg = lane >= each, at = (unsigned)lane - arg * each;
  unsigned key = arg * each + at / sources->lanes, i = 0;
  while (i < sources->count && sources->keys[i] != key) i++;
  if (i == SOURCES_MAX) {
    s->code->unsupported = "such an order";
    i = 0;
  }
  if (i == sources->count) {
    sources->keys[i] = key;
    sources->values[i] =
        x64_lanes_of(s, instr->args[arg], at / sources->lanes * sources->lanes, sources->lanes);
    sources->count++;
  }
  return i;
}

/* One shuffle per source after the first puts that source's lanes into the result. Lanes of later
 * sources are unspecified until then. */
static kir_value_t *merge_sources(split_t *s, const sources_t *sources, const unsigned *from,
                                  const uint64_t *at, unsigned lanes) {
  kir_value_t *so_far = sources->values[0];
  uint64_t order[64];
  for (unsigned k = sources->count > 1 ? 1 : 0; k < sources->count; k++) {
    unsigned made = k + 1 < sources->count ? sources->lanes : lanes;
    bool is_begun = k > 1;
    for (unsigned i = 0; i < made; i++)
      order[i] = i >= lanes                ? 0
                 : k && from[i] == k       ? sources->lanes + at[i]
                 : is_begun || from[i] > k ? i % sources->lanes
                                           : at[i];
    kir_value_t *other = k ? sources->values[k] : kir_poison(so_far->type);
    so_far = shuffle(s, so_far, other, order, made);
  }
  return so_far;
}

/* Unspecified lanes after the last one continue a sequence: subvectors of bits need one. */
static kir_value_t *shuffle_part(split_t *s, const kir_value_t *instr, unsigned first,
                                 unsigned lanes) {
  sources_t sources = {.lanes = x64_legal_lanes(instr->args[0]->type)};
  unsigned from[64] = {0}, count = min(lanes, instr->type->lanes - first);
  uint64_t at[64] = {0};
  bool is_sequence = count > 1;
  for (unsigned i = 0; i < count; i++) {
    uint64_t lane = instr->lanes[first + i];
    from[i] = source_of(s, &sources, instr, lane);
    at[i] = lane % instr->args[0]->type->lanes % sources.lanes;
    is_sequence &= !from[i] && (!i || at[i] == at[i - 1] + 1);
  }
  for (unsigned i = count; i < lanes && is_sequence; i++) at[i] = (at[i - 1] + 1) % sources.lanes;
  if (sources.count > 2 && lanes > sources.lanes) s->code->unsupported = "such an order";
  return merge_sources(s, &sources, from, at, lanes);
}

static void split_shuffle(split_t *s, kir_value_t *instr) {
  unsigned all = instr->type->lanes, at_once = x64_legal_lanes(instr->type);
  kir_value_t *parts[1024];
  for (unsigned first = 0; first < all && !s->code->unsupported; first += at_once)
    parts[first / at_once] = shuffle_part(s, instr, first, x64_part_lanes(all, at_once, first));
  kir_value_t **made = x64_new_parts(s, instr, at_once);
  if (s->code->unsupported || s->module->status) return;
  memcpy(made, parts, (all + at_once - 1) / at_once * sizeof *parts);
  x64_replace_by_parts(s, instr);
}

/* --- one lane --------------------------------------------------------------------------------- */

static void split_insertion(split_t *s, kir_value_t *instr) {
  unsigned all = instr->type->lanes, at_once = x64_legal_lanes(instr->type),
           lane = (unsigned)instr->args[2]->lanes[0];
  kir_value_t **parts = x64_new_parts(s, instr, at_once);
  for (unsigned first = 0; first < all && !s->module->status; first += at_once) {
    kir_value_t *part = x64_lanes_of(s, instr->args[0], first, x64_part_lanes(all, at_once, first));
    kir_value_t *at = kir_splat_constant(instr->args[2]->type, lane % at_once);
    if (lane / at_once == first / at_once) part = kir_insert(s->builder, part, instr->args[1], at);
    parts[first / at_once] = part;
  }
  kir_unlink(instr);
}

/* An extraction reads one part, at the lane within it. */
static void split_extraction(split_t *s, kir_value_t *instr) {
  kir_value_t *vector = instr->args[0];
  unsigned lane = (unsigned)instr->args[1]->lanes[0], at_once = x64_legal_lanes(vector->type);
  unsigned first = lane / at_once * at_once;
  instr->args[0] =
      x64_lanes_of(s, vector, first, x64_part_lanes(vector->type->lanes, at_once, first));
  instr->args[1] = kir_splat_constant(instr->args[1]->type, lane % at_once);
}

/* An or of all lanes: combines the parts first. */
static void split_reduce_or(split_t *s, kir_value_t *instr) {
  const kir_value_t *vector = instr->args[0];
  unsigned at_once = x64_legal_lanes(vector->type);
  kir_value_t *sum = NULL;
  for (unsigned first = 0; first < vector->type->lanes; first += at_once) {
    kir_value_t *part = x64_lanes_of(s, instr->args[0], first, at_once);
    sum = sum ? kir_or(s->builder, sum, part) : part;
  }
  instr->args[0] = sum;
}

/* --- the pass --------------------------------------------------------------------------------- */

/* Is it an op on split masks, which need not be joined for it? */
static bool reads_parts(const split_t *s, const kir_value_t *instr) {
  bool is_of_bits = instr->op == KIR_AND || instr->op == KIR_OR || instr->op == KIR_XOR;
  return is_of_bits && is_vector(instr->type) && kir_is_i1(instr->type) &&
         (value_parts(s, instr->args[0]).of || value_parts(s, instr->args[1]).of);
}

/* A shuffle's mask operand does not count as a use. */
static bool is_illegal_use(const kir_value_t *instr) {
  if (x64_is_illegal(instr->type)) return true;
  for (int k = 0; k < instr->arg_count; k++)
    if (x64_is_illegal(instr->args[k]->type) && !(instr->op == KIR_SHUFFLE && k == 2)) return true;
  return false;
}

/* Lanes at variable positions cannot be split. */
static bool has_dynamic_lane(const kir_value_t *instr) {
  return !kir_is_constant(instr->args[instr->op == KIR_INSERT ? 2 : 1]);
}

/* The builder is positioned before the instruction, so that its parts follow those of its
 * operands. */
static void split_instr(split_t *s, kir_value_t *instr) {
  if (!is_illegal_use(instr) && !reads_parts(s, instr)) return;
  kir_position_before(s->builder, instr);
  switch (instr->op) {
    case KIR_PHI:
      split_phi(s, instr);
      return;
    case KIR_SHUFFLE:
      split_shuffle(s, instr);
      return;
    case KIR_BITCAST:
      (instr->args[0]->type->lanes == instr->type->lanes ? split_lanes : split_bits)(s, instr);
      return;
    case KIR_INSERT:
    case KIR_EXTRACT:
      if (has_dynamic_lane(instr))
        s->code->unsupported = "such a lane";
      else
        (instr->op == KIR_INSERT ? split_insertion : split_extraction)(s, instr);
      return;
    case KIR_REDUCE_OR:
      if (is_no_power_of_two(instr->args[0]->type)) s->code->unsupported = "vectors of odd sizes";
      split_reduce_or(s, instr);
      return;
    case KIR_CALL:
      x64_split_call(s, instr);
      return;
    case KIR_RET:
      x64_split_return(s, instr);
      return;
    default:
      split_lanes(s, instr);
  }
}

typedef void (*split_fn)(split_t *s, kir_value_t *instr);

/* Visits the instructions of all blocks, except those created meanwhile. */
static void split_instrs(split_t *s, split_fn do_one) {
  for (int b = 0; b < s->code->cfg.block_count; b++)
    for (kir_value_t *instr = s->code->cfg.order[b]->first, *next;
         instr && !s->code->unsupported && !s->module->status; instr = next) {
      next = instr->next;
      do_one(s, instr);
    }
}

static bool any_illegal(const x64_code_t *code) {
  for (int k = 0; k < code->function->param_count; k++)
    if (x64_is_illegal(code->function->params[k].type)) return true;
  for (int b = 0; b < code->cfg.block_count; b++)
    for (const kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next)
      if (is_illegal_use(instr)) return true;
  return false;
}

/* Functions without illegal types, which are nearly all, are left unchanged. Failures of the
 * builder are kept in the module's status. */
hr_status_t x64_legalize(x64_code_t *code) {
  split_t s = {.code = code, .module = code->function->module};
  if (!any_illegal(code)) return NULL;
  HR_TRY(kir_replacements_init(&s.replacements, &code->cfg));
  HR_TRY(HR_NEW_ARRAY(code->arena, s.replacements.count + 1, &s.parts));
  s.builder = kir_builder_create(s.module);
  x64_split_parameters(&s);
  split_instrs(&s, split_instr);
  split_instrs(&s, fill_phi);
  kir_replace_uses(&s.replacements, &code->cfg);
  hr_status_t st = s.module->status;
  s.module->status = NULL;
  return st;
}
