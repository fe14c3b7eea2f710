/* A description of a graph's arguments and results, as JSON: which parameter each feed or variable
 * is, which result each fetch is, and which results are new values of variables. */
#include "tf/file/tf_describe.h"

/* A JSON string: quotes, backslashes and control characters are escaped, other bytes are UTF-8
 * of the graph's names and stay. */
static void put_string(hr_strbuf_t *out, hr_str_t text) {
  hr_strbuf_add_char(out, '"');
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c == '"' || c == '\\')
      hr_strbuf_printf(out, "\\%c", c);
    else if (c < ' ')
      hr_strbuf_printf(out, "\\u%04x", c);
    else
      hr_strbuf_add_char(out, (char)c);
  }
  hr_strbuf_add_char(out, '"');
}

/* The shape in HLO's text form, such as f32[2,3]. */
static void put_shape(hr_strbuf_t *out, const hlo_shape_t *shape) {
  char text[HLO_SHAPE_TEXT];
  hr_strbuf_printf(out, ", \"shape\": \"%s\"", hlo_shape_text(shape, text));
}

/* Entry p describes XLA parameter p: a feed, or the initial value of a variable, with its name in
 * the checkpoint. */
static void put_parameters(hr_strbuf_t *out, const tf_selection_t *s,
                           const xla_compilation_result_t *result) {
  for (int p = 0; p < result->parameter_count; p++) {
    const xla_argument_t *argument = &s->arguments[result->input_mapping[p]];
    bool is_variable = argument->kind == XLA_ARGUMENT_RESOURCE;
    hr_strbuf_printf(out, "%s\n    {\"name\": ", p ? "," : "");
    put_string(out, argument->name);
    hr_strbuf_printf(out, ", \"kind\": \"%s\"", is_variable ? "variable" : "feed");
    put_shape(out, argument->shape);
    if (result->initial_names[p].size) {
      hr_strbuf_add_str(out, ", \"checkpoint\": ");
      put_string(out, result->initial_names[p]);
    }
    hr_strbuf_add_char(out, '}');
  }
}

/* input_mapping[p] is the number of the original argument of XLA parameter p. Constants and
 * variables that are not initialised take no parameter and do not appear. */
static void put_mapping(hr_strbuf_t *out, const xla_compilation_result_t *result) {
  for (int p = 0; p < result->parameter_count; p++)
    hr_strbuf_printf(out, "%s%d", p ? ", " : "", result->input_mapping[p]);
}

/* Fetches are the first elements of the result tuple, in the order in which they were asked for. */
static void put_outputs(hr_strbuf_t *out, const tf_selection_t *s,
                        const xla_compilation_result_t *result) {
  for (int k = 0; k < result->output_count; k++) {
    hr_strbuf_printf(out, "%s\n    {\"name\": ", k ? "," : "");
    put_string(out, s->fetch_names[k]);
    put_shape(out, result->outputs[k].shape);
    hr_strbuf_printf(out, ", \"result\": %d}", k);
  }
}

/* Element output_count + k of the result tuple is the new value of the variable that came as
 * argument input_index. A caller feeds it back to run the next step. */
static void put_updates(hr_strbuf_t *out, const tf_selection_t *s,
                        const xla_compilation_result_t *result) {
  for (int k = 0; k < result->update_count; k++) {
    const xla_resource_update_t *update = &result->updates[k];
    hr_strbuf_printf(out, "%s\n    {\"name\": ", k ? "," : "");
    put_string(out, s->arguments[update->input_index].name);
    put_shape(out, update->shape);
    hr_strbuf_printf(out, ", \"input_index\": %d, \"result\": %d, \"modified\": %s}",
                     update->input_index, result->output_count + k,
                     update->modified ? "true" : "false");
  }
}

void tf_describe(const tf_selection_t *s, const xla_compilation_result_t *result,
                 hr_strbuf_t *out) {
  hr_strbuf_add_str(out, "{\n  \"parameters\": [");
  put_parameters(out, s, result);
  hr_strbuf_add_str(out, "],\n  \"input_mapping\": [");
  put_mapping(out, result);
  hr_strbuf_add_str(out, "],\n  \"outputs\": [");
  put_outputs(out, s, result);
  hr_strbuf_add_str(out, "],\n  \"resource_updates\": [");
  put_updates(out, s, result);
  hr_strbuf_add_str(out, "]\n}\n");
}
