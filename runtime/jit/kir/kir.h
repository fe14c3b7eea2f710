/* Construction of the kernel IR (kir_ir.h): modules, types, constants, functions, and instructions
 * at a builder's insertion point. Instructions on constants are folded. No function fails: running
 * out of memory sets the module's status, which lowering reports.
 *
 *   kir_module_create(&kir_generic_target, "kernels", &module);
 *   kir_value_t *function = kir_add_function(module, "add1", kir_function_type(i64, &i64, 1));
 *   kir_position_at_end(b, kir_append_block(function, ""));
 *   kir_ret(b, kir_add(b, kir_param(function, 0), kir_const_int(i64, 1))); */
#ifndef JIT_KIR_H
#define JIT_KIR_H

#include "jit/kir/kir_ir.h"

/* A target that has all operations. */
extern const kir_target_t kir_generic_target;

/* Requires: target and name outlive the module.
 * Owner:   the caller destroys it.
 * Errors:  NO_MEMORY. */
hr_status_t kir_module_create(const kir_target_t *target, const char *name,
                              kir_module_t **out_module);
void kir_module_destroy(kir_module_t *module); /* accepts NULL */

/* --- types ------------------------------------------------------------------------------------ */

kir_type_t *kir_void_type(kir_module_t *module);
kir_type_t *kir_int_type(kir_module_t *module, unsigned bits);
kir_type_t *kir_half_type(kir_module_t *module);
kir_type_t *kir_float_type(kir_module_t *module);
kir_type_t *kir_double_type(kir_module_t *module);
kir_type_t *kir_pointer_type(kir_module_t *module);
kir_type_t *kir_vector_type(kir_type_t *element, unsigned lanes);
kir_type_t *kir_array_type(kir_type_t *element, uint64_t count);
kir_type_t *kir_function_type(kir_type_t *result, kir_type_t *const *params, unsigned count);
/* The element type with as many lanes as `like`: a vector if `like` is a vector. */
kir_type_t *kir_type_like(const kir_type_t *like, kir_type_t *element);
/* The type of a comparison: i1, or a vector of i1 with the lanes of `like`. */
kir_type_t *kir_i1_like(const kir_type_t *like);
uint64_t kir_type_bytes(const kir_type_t *type); /* in memory; for an array a lower bound */

static inline kir_type_t *kir_type_of(const kir_value_t *value) { return value->type; }

/* --- constants -------------------------------------------------------------------------------- */

/* A constant with these bits per lane; bits above the element's width are ignored. */
kir_value_t *kir_constant(kir_type_t *type, const uint64_t *lanes);
/* The same with poison in some of the first 64 lanes: bit l of poison_lanes for lane l. */
kir_value_t *kir_partly_poison(kir_type_t *type, const uint64_t *lanes, uint64_t poison_lanes);
kir_value_t *kir_splat_constant(kir_type_t *type, uint64_t lane);
kir_value_t *kir_const_int(kir_type_t *type, uint64_t value);
kir_value_t *kir_const_real(kir_type_t *type, double value);
/* A float of `width` bits (16, 32 or 64) from its bits, exact in f64; and its bits, rounded once.
 */
double kir_decode_float(uint64_t bits, unsigned width);
uint64_t kir_encode_float(double value, unsigned width);
kir_value_t *kir_const_vector(kir_value_t *const *elements, unsigned count);
kir_value_t *kir_null(kir_type_t *type);
kir_value_t *kir_all_ones(kir_type_t *type);
kir_value_t *kir_poison(kir_type_t *type);
bool kir_is_null(const kir_value_t *value);
/* Lane i of a constant vector; NULL: `value` is not constant, or has no such lane. */
kir_value_t *kir_const_lane(const kir_value_t *value, unsigned i);
double kir_const_as_double(const kir_value_t *value); /* lane 0 of f32 or f64 */

/* --- functions and blocks --------------------------------------------------------------------- */

kir_value_t *kir_add_function(kir_module_t *module, const char *name, kir_type_t *type);
kir_value_t *kir_find_function(const kir_module_t *module,
                               const char *name); /* NULL: no such function */
void kir_add_attributes(kir_value_t *function, unsigned attributes);
kir_value_t *kir_param(const kir_value_t *function, unsigned k);
kir_block_t *kir_append_block(kir_value_t *function, const char *name);
kir_block_t *kir_entry_block(const kir_value_t *function);
kir_value_t *kir_block_function(const kir_block_t *block);
kir_value_t *kir_terminator(const kir_block_t *block); /* NULL: the block is not terminated */

kir_builder_t *kir_builder_create(kir_module_t *module);
void kir_position(kir_builder_t *b, kir_block_t *block, kir_value_t *insert_before);
void kir_position_at_end(kir_builder_t *b, kir_block_t *block);
void kir_position_before(kir_builder_t *b, kir_value_t *instr);
static inline kir_block_t *kir_insert_block(const kir_builder_t *b) { return b->block; }

/* --- instructions ----------------------------------------------------------------------------- */

/* Operands must be built before their users, except operands of phis. */
typedef kir_value_t *kir_unary_fn(kir_builder_t *b, kir_value_t *x);
typedef kir_value_t *kir_binary_fn(kir_builder_t *b, kir_value_t *x, kir_value_t *y);
typedef kir_value_t *kir_cast_fn(kir_builder_t *b, kir_value_t *x, kir_type_t *type);
kir_binary_fn kir_add, kir_nsw_add, kir_sub, kir_mul, kir_udiv, kir_sdiv, kir_urem, kir_srem,
    kir_and, kir_or, kir_xor, kir_shl, kir_lshr, kir_ashr, kir_fadd, kir_fsub, kir_fmul, kir_fdiv;
kir_unary_fn kir_neg, kir_not, kir_fneg;
/* A cast to the same type returns its operand. */
kir_cast_fn kir_trunc, kir_zext, kir_sext, kir_fptrunc, kir_fpext, kir_fptosi, kir_fptoui,
    kir_sitofp, kir_uitofp, kir_bitcast;
kir_value_t *kir_int_cast(kir_builder_t *b, kir_value_t *x, kir_type_t *type, bool is_signed);
kir_value_t *kir_icmp(kir_builder_t *b, kir_icmp_t predicate, kir_value_t *x, kir_value_t *y);
kir_value_t *kir_fcmp(kir_builder_t *b, kir_fcmp_t predicate, kir_value_t *x, kir_value_t *y);
kir_value_t *kir_select(kir_builder_t *b, kir_value_t *condition, kir_value_t *x, kir_value_t *y);

kir_value_t *kir_alloca(kir_builder_t *b, kir_type_t *type);
kir_value_t *kir_load(kir_builder_t *b, kir_type_t *type, kir_value_t *pointer);
kir_value_t *kir_store(kir_builder_t *b, kir_value_t *value, kir_value_t *pointer);
void kir_set_align(kir_value_t *instr, unsigned align);
void kir_set_nontemporal(kir_value_t *store);
/* pointer + index elements; a vector of indices gives a vector of pointers. */
kir_value_t *kir_gep(kir_builder_t *b, kir_type_t *element, kir_value_t *pointer,
                     kir_value_t *index);
kir_value_t *kir_inbounds_gep(kir_builder_t *b, kir_type_t *element, kir_value_t *pointer,
                              kir_value_t *index);

kir_value_t *kir_extract(kir_builder_t *b, kir_value_t *vector, kir_value_t *index);
kir_value_t *kir_insert(kir_builder_t *b, kir_value_t *vector, kir_value_t *value,
                        kir_value_t *index);
/* mask: a constant of i32, lanes of x followed by y. */
kir_value_t *kir_shuffle(kir_builder_t *b, kir_value_t *x, kir_value_t *y, kir_value_t *mask);

kir_value_t *kir_phi(kir_builder_t *b, kir_type_t *type);
void kir_add_incoming(kir_value_t *phi, kir_value_t *const *values, kir_block_t *const *blocks,
                      unsigned count);
kir_value_t *kir_br(kir_builder_t *b, kir_block_t *to);
kir_value_t *kir_cond_br(kir_builder_t *b, kir_value_t *condition, kir_block_t *then,
                         kir_block_t *otherwise);
kir_value_t *kir_ret(kir_builder_t *b, kir_value_t *value);
kir_value_t *kir_ret_void(kir_builder_t *b);
kir_value_t *kir_call(kir_builder_t *b, kir_type_t *type, kir_value_t *callee,
                      kir_value_t *const *args, unsigned count);
/* Requires: op has the flag KIR_INTRINSIC. type: of the result; of a reduction: the vector. */
kir_value_t *kir_intrinsic(kir_builder_t *b, kir_op_t op, kir_type_t *type,
                           kir_value_t *const *args, int count);

/* --- for passes and back ends ----------------------------------------------------------------- */

/* Builds the op, or folds it; no expansion. */
kir_value_t *kir_build(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                       kir_value_t *const *args, int count);
/* The op, or what the target has instead. */
kir_value_t *kir_expand_or_build(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                                 kir_value_t *const *args, int count);
/* The op as it is. */
kir_value_t *kir_append(kir_builder_t *b, kir_op_t op, kir_type_t *type, kir_value_t *const *args,
                        int count);
/* The result of an op if it is known at construction: a constant, or one of the arguments. NULL: it
 * must be computed. */
kir_value_t *kir_fold(kir_op_t op, kir_type_t *type, int detail, kir_value_t *const *args,
                      int count, const kir_target_t *target);
kir_value_t *kir_splat(kir_builder_t *b, kir_value_t *value,
                       kir_type_t *type); /* broadcasts to all lanes */
/* x / y or its remainder (`op`) for vectors of integers, expanded into ops that vectors have. */
kir_value_t *kir_divide_vectors(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y);

#endif
