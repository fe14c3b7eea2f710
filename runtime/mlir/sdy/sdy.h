/* The verifier of the sdy dialect: meshes, shardings, and what Shardy's ops require of them. Other
 * parts keep shardings as text; here the texts are parsed, checked against the types of the values
 * that carry them, and dropped.
 * A message has the place of the axis, dimension or sharding that is wrong, if the text is that of
 * the source, else the place of the op.
 * Source: Shardy's dialect; its verifiers. */
#ifndef MLIR_SDY_H
#define MLIR_SDY_H

#include "base/map.h"
#include "mlir/mlir.h"

typedef struct sdy_verifier sdy_verifier_t;

/* Reads and verifies the meshes of the module's block. `module` must outlive the verifier, which
 * lives in the arena until sdy_verifier_deinit. Errors: INVALID with the place of a mesh. */
hr_status_t sdy_verifier_create(const mlir_module_t *module, const mlir_block_t *block,
                                hr_arena_t *arena, sdy_verifier_t **out_verifier);
void sdy_verifier_deinit(sdy_verifier_t *verifier); /* accepts NULL */
/* Verifies the ops and attributes of sdy in a function: its arguments, results and body. Uses
 * mlir_value_t.mapped of its values, which is NULL before and after. Errors: INVALID with the
 * place. Cost: one pass; shardings are parsed each time they are asked for. */
hr_status_t sdy_verify_function(sdy_verifier_t *verifier, const mlir_op_t *function);
/* Verifies the attributes of sdy that an op has, and not the op. A sharding may be without a list,
 * as HLO has it, if the op has one result. */
hr_status_t sdy_verify_attrs(sdy_verifier_t *verifier, const mlir_op_t *op);

#endif
