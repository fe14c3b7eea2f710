/* Result shapes of calls, asynchronous pairs, and point-to-point transfers. A call has the shape of
 * its computation's root; the verifier compares other branches and the arguments. The value of a
 * start is a tuple (operands, results, contexts...); element 1 is the result of the done. */
#include "ops/rules/constraint.h"

/* Arguments are checked by the verifier. */
hr_status_t infer_call(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                       const hlo_shape_t **out_shape) {
  (void)arena, (void)in;
  *out_shape = op_body_of(instr)->root->shape;
  return NULL;
}

/* The first branch decides; the verifier compares the others with it. */
hr_status_t infer_conditional(hr_arena_t *arena, const hlo_instr_t *instr,
                              const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena, (void)in;
  OP_WANT(instr, instr->called_count > 0, "C1", "no branches, want at least one");
  *out_shape = op_body_of(instr)->root->shape;
  return NULL;
}

/* Element 1 of a start op's value: (operands, result, ...). */
hr_status_t infer_start_result(hr_arena_t *arena, const hlo_instr_t *instr,
                               const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena;
  OP_WANT(instr, hlo_shape_is_tuple(in[0]) && in[0]->element_count >= 2, NULL,
          "the operand is %s, want the tuple (operands, result, ...) of a start", OP_TEXT(in[0]));
  *out_shape = in[0]->elements[1];
  return NULL;
}

hr_status_t infer_async_done(hr_arena_t *arena, const hlo_instr_t *instr,
                             const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  return infer_start_result(arena, instr, in, out_shape);
}

/* (data, context, token) */
hr_status_t infer_send(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                       const hlo_shape_t **out_shape) {
  HR_TRY(op_want_token(instr, in[1], 1, "I2"));
  return hlo_shape_tuple(
      arena, 3,
      (const hlo_shape_t *const[]){in[0], hlo_shape_scalar(HR_U32), hlo_shape_scalar(HR_TOKEN)},
      out_shape);
}

/* (data, token) from (data, context, token) */
hr_status_t infer_recv_done(hr_arena_t *arena, const hlo_instr_t *instr,
                            const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  OP_WANT(instr, hlo_shape_is_tuple(in[0]) && in[0]->element_count == 3, NULL,
          "the operand is %s, want the tuple (data, u32[], token[]) of a recv", OP_TEXT(in[0]));
  return hlo_shape_tuple(
      arena, 2, (const hlo_shape_t *const[]){in[0]->elements[0], in[0]->elements[2]}, out_shape);
}

/* (destination, source, context) */
hr_status_t infer_copy_start(hr_arena_t *arena, const hlo_instr_t *instr,
                             const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)instr;
  return hlo_shape_tuple(
      arena, 3, (const hlo_shape_t *const[]){in[0], in[0], hlo_shape_scalar(HR_U32)}, out_shape);
}

/* The tuple is that of a copy-start. */
hr_status_t infer_copy_done(hr_arena_t *arena, const hlo_instr_t *instr,
                            const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena;
  OP_WANT(instr, hlo_shape_is_tuple(in[0]) && in[0]->element_count == 3, NULL,
          "the operand is %s, want the tuple (destination, source, u32[]) of a copy-start",
          OP_TEXT(in[0]));
  *out_shape = in[0]->elements[0];
  return NULL;
}
