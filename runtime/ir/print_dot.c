/* Printer of a module as a Graphviz graph: a cluster per computation, solid edges for data,
 * dashed grey ones for control predecessors and dashed ones from the root of a called
 * computation. Nodes are named by the numbers of computation and instruction, as names may need
 * quotes. */
#include "ir/print.h"

static void print_label_text(hr_strbuf_t *text, const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] == '"' || bytes[i] == '\\') hr_strbuf_add_char(text, '\\');
    hr_strbuf_add_char(text, bytes[i] == '\n' ? ' ' : bytes[i]);
  }
}

static void print_node_name(hr_strbuf_t *text, const hlo_instr_t *instr) {
  hr_strbuf_printf(text, "c%u_i%u", instr->parent->id, instr->id);
}

#define LABEL_SHAPE_MAX 80 /* a tuple's shape may fill pages */

/* A box with name, op and shape; the root has a double border, parameters and constants round
 * corners. */
static void print_node(hr_strbuf_t *text, const hlo_instr_t *instr) {
  char shape[HLO_SHAPE_TEXT];
  hlo_shape_text(instr->shape, shape);
  hr_strbuf_add_str(text, "    ");
  print_node_name(text, instr);
  hr_strbuf_add_str(text, " [label=\"");
  print_label_text(text, instr->name.data, instr->name.size);
  hr_strbuf_printf(text, "\\n%s", hlo_op_name(instr->op));
  if (instr->op == HLO_PARAMETER) hr_strbuf_printf(text, " %ld", (long)hlo_parameter_number(instr));
  hr_strbuf_printf(text, "\\n%.*s\"", LABEL_SHAPE_MAX, shape);
  if (instr == instr->parent->root) hr_strbuf_add_str(text, ", peripheries=2");
  if (instr->op == HLO_PARAMETER || instr->op == HLO_CONSTANT)
    hr_strbuf_add_str(text, ", style=rounded");
  hr_strbuf_add_str(text, "];\n");
}

static void print_edge(hr_strbuf_t *text, const hlo_instr_t *from, const hlo_instr_t *to,
                       const char *attributes) {
  hr_strbuf_add_str(text, "  ");
  print_node_name(text, from);
  hr_strbuf_add_str(text, " -> ");
  print_node_name(text, to);
  hr_strbuf_printf(text, "%s;\n", attributes);
}

/* Incoming edges of a node. Operands are numbered if there are several. */
static void print_edges(hr_strbuf_t *text, const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++) {
    char number[32] = "";
    if (instr->operand_count > 1) snprintf(number, sizeof number, " [label=\"%d\"]", k);
    print_edge(text, instr->operands[k], instr, number);
  }
  for (int k = 0; instr->extra && k < instr->extra->control_count; k++)
    print_edge(text, instr->extra->control_predecessors[k], instr, " [style=dashed, color=gray]");
  for (int k = 0; k < instr->called_count; k++)
    if (instr->called[k]->root) print_edge(text, instr->called[k]->root, instr, " [style=dashed]");
}

static void print_cluster(hr_strbuf_t *text, const hlo_computation_t *computation) {
  hr_strbuf_printf(text, "  subgraph cluster_%u {\n    label=\"", computation->id);
  if (computation == computation->module->entry) hr_strbuf_add_str(text, "ENTRY ");
  print_label_text(text, computation->name.data, computation->name.size);
  hr_strbuf_add_str(text, "\";\n");
  for (size_t i = 0; i < computation->instrs.count; i++)
    print_node(text, computation->instrs.data[i]);
  hr_strbuf_add_str(text, "  }\n");
}

void hlo_print_dot(hr_strbuf_t *text, const hlo_module_t *module) {
  hr_strbuf_add_str(text, "digraph \"");
  print_label_text(text, module->name.data, module->name.size);
  hr_strbuf_add_str(text, "\" {\n  node [shape=box, fontname=monospace];\n");
  for (size_t c = 0; c < module->computations.count; c++)
    print_cluster(text, module->computations.data[c]);
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      print_edges(text, module->computations.data[c]->instrs.data[i]);
  hr_strbuf_add_str(text, "}\n");
}
