/* `hlorun convert`: a program in another form. */
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "ir/print.h"
#include "read/read.h"

enum { TO_HLO, TO_DOT };

static int target_form(const hr_options_t *options) {
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT), *dot = output ? strrchr(output, '.') : NULL;
  bool is_dot = dot && (strcmp(dot, ".dot") == 0 || strcmp(dot, ".gv") == 0);
  return (int)hr_option_int(options, HR_OPTION_TO, is_dot ? TO_DOT : TO_HLO);
}

hr_status_t cli_convert(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  if (options->operands.count != 1)
    return hr_error(HR_USAGE, "convert takes one program, found %zu; see hlorun convert --help",
                    options->operands.count);
  hlo_module_t *module = NULL;
  hr_text_t text;
  hr_text_init(&text);
  hr_status_t st = read_module_file(options->operands.data[0], &module);
  if (!st) st = hlo_verify(module);
  if (!st) {
    hlo_print_style_t style = hr_option_int(options, HR_OPTION_STYLE, 0) ? HLO_PRINT_SHORT : HLO_PRINT_LONG;
    if (target_form(options) == TO_DOT)
      hlo_print_dot(&text, module);
    else
      hlo_print_module(&text, module, style);
    const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
    st = hr_text_finish(&text);
    if (!st) st = output && strcmp(output, "-") ? hr_file_write_all(output, text.data, text.size) : cli_print(&text);
  }
  hr_text_deinit(&text);
  hlo_module_destroy(module);
  return st;
}
