/* Printers of HLO text in XLA's form. The reader (read/) makes the same module of the printed text,
 * with floats equal bit by bit.
 * Errors: failed allocations are recorded in the string buffer and reported by hr_strbuf_finish.
 * Thread: any; a module is only read. */
#ifndef HLO_IR_PRINT_H
#define HLO_IR_PRINT_H

#include "base/text_sink.h"
#include "ir/module.h"

typedef enum hlo_print_style {
  HLO_PRINT_LONG, /* with '%', signatures, metadata, control predecessors: compiled.as_text() */
  HLO_PRINT_SHORT /* with control predecessors, none of the others: as_hlo_text() */
} hlo_print_style_t;

/* The whole module; hidden bodies of asynchronous ops print as OP-start only. */
void hlo_print_module(hr_strbuf_t *text, const hlo_module_t *module, hlo_print_style_t style);
/* Prints the module into a sink in pieces, so that the text of large constants is never whole in
 * memory. Errors: those of the sink. */
hr_status_t hlo_print_module_to(hr_text_sink_t *sink, const hlo_module_t *module,
                                hlo_print_style_t style);
void hlo_print_instr(hr_strbuf_t *text, const hlo_instr_t *instr,
                     hlo_print_style_t style);                       /* one line, no newline */
void hlo_print_literal(hr_strbuf_t *text, const hlo_value_t *value); /* as in constant(...) */
void hlo_print_string(hr_strbuf_t *text, hr_str_t string);           /* quoted and escaped */
/* One element in the shortest form that reads back exactly. */
void hlo_print_number(hr_strbuf_t *text, hr_dtype_t dtype, const void *element);

/* Parts of the text, for writers of other forms. */

/* One attribute as ", name=value"; nothing if it has its default value. */
void hlo_print_attr(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_attr_key_t key);
/* Attributes of any op except sharding, frontend attributes and control predecessors. */
void hlo_print_frontend_attrs(hr_strbuf_t *text, const hlo_extra_t *extra);
/* Module attributes except counts and frontend attributes, "name=value, ...". */
void hlo_print_module_frontend_attrs(hr_strbuf_t *text, const hlo_module_t *module);
/* Tables of file names, function names, locations and stack frames, as in the long style. */
void hlo_print_stack_frames(hr_strbuf_t *text, const hlo_stack_frames_t *frames);
/* Graphviz: a cluster per computation. */
void hlo_print_dot(hr_strbuf_t *text, const hlo_module_t *module);

#endif
