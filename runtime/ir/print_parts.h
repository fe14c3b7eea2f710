/* Parts of the HLO text that the printers of this folder share; see print.h. */
#ifndef HLO_IR_PRINT_PARTS_H
#define HLO_IR_PRINT_PARTS_H

#include "ir/print.h"

/* The op's own attributes as ", name=value" each, called computations included. */
void hlo_print_attrs(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_print_style_t style);
void hlo_print_accuracy(hr_strbuf_t *text, const hlo_instr_t *instr);
void hlo_print_aliasing(hr_strbuf_t *text, const hlo_aliasing_t *aliasing,
                        bool with_kind); /* without outer braces */
/* A double, or a float, as short as reads back. */
void hlo_print_double(hr_strbuf_t *text, double value);
/* As hlo_print_literal; the rows of a long array go to the sink. */
void hlo_print_literal_to(hr_strbuf_t *text, const hlo_value_t *value, hr_text_sink_t *sink);
void hlo_print_typed_literal(hr_strbuf_t *text, const hlo_value_t *value);
/* %name in the long style, name in the short one. */
void hlo_print_name(hr_strbuf_t *text, hr_str_t name, hlo_print_style_t style);

#endif
