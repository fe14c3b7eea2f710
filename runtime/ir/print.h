/* Printers: what they print reads back the same. */
#ifndef HLO_IR_PRINT_H
#define HLO_IR_PRINT_H

#include "base/text.h"
#include "ir/module.h"

typedef enum hlo_print_style {
  HLO_PRINT_LONG, /* '%', signatures, metadata, control predecessors: as compiled.as_text() */
  HLO_PRINT_SHORT /* none of these: as as_hlo_text(); control predecessors are kept nevertheless */
} hlo_print_style_t;

void hlo_print_module(hr_strbuf_t *text, const hlo_module_t *module, hlo_print_style_t style);
void hlo_print_instr(hr_strbuf_t *text, const hlo_instr_t *instr,
                     hlo_print_style_t style);                       /* one line, no newline */
void hlo_print_literal(hr_strbuf_t *text, const hlo_value_t *value); /* as in constant(...) */
void hlo_print_string(hr_strbuf_t *text, hr_str_t string);           /* quoted and escaped */
/* One element, as short as reads back. */
void hlo_print_number(hr_strbuf_t *text, hr_dtype_t dtype, const void *element);
/* Parts of the text, for writers of other forms: one attribute, ", name=value"; what any
 * instruction may carry except sharding, frontend attributes and control predecessors; the module's
 * attributes without counts and frontend attributes, "name=value, ..."; its tables of stack frames.
 */
void hlo_print_attr(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_attr_key_t key);
void hlo_print_frontend_attrs(hr_strbuf_t *text, const hlo_extra_t *extra);
void hlo_print_module_frontend_attrs(hr_strbuf_t *text, const hlo_module_t *module);
void hlo_print_stack_frames(hr_strbuf_t *text, const hlo_stack_frames_t *frames);
/* Graphviz: a cluster per computation. */
void hlo_print_dot(hr_strbuf_t *text, const hlo_module_t *module);

#endif
