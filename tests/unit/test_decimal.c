/* Decimal numbers: reading gives the nearest double, whatever the locale. */
#include "base/decimal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hlorun.h"
#include "tests/lib/api_driver.h"
#include "tests/lib/unit.h"

/* A locale whose decimal point is a comma, made from its source. */
static const char made_here[] =
    "folder=$(mktemp -d) && printf '%s\\n' 'comment_char %' LC_CTYPE 'copy \"POSIX\"' "
    "'END LC_CTYPE' LC_NUMERIC 'decimal_point \",\"' 'thousands_sep \".\"' 'grouping 3;3' "
    "'END LC_NUMERIC' >$folder/source && localedef -c -i $folder/source $folder/comma_XX "
    ">/dev/null 2>&1; echo $folder";

static bool is_comma(const char *name) {
  return setlocale(LC_NUMERIC, name) && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* Switches to a locale with a comma: an installed one, or one of localedef. */
static bool set_comma_locale(void) {
  static const char *const installed[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                          "fr_FR.utf8",  "de_DE",      "tr_TR.UTF-8"};
  char folder[256] = "", command[300];
  for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
    if (is_comma(installed[i])) return true;
  FILE *made = popen(made_here, "r");
  if (!made) return false;
  if (!fgets(folder, sizeof folder, made)) folder[0] = 0;
  pclose(made);
  folder[strcspn(folder, "\n")] = 0;
  if (!folder[0]) return false;
  setenv("LOCPATH", folder, 1);
  bool is_set = is_comma("comma_XX");
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) is_set = false;
  return is_set;
}

static void read_decimals(void) {
  const char *text = "1.25000000000000000000000000000000000001";
  char digits[32];
  CU_ASSERT_EQUAL(hr_decimal_read(text, strlen(text), NULL), 1.25);
  CU_ASSERT_EQUAL(hr_decimal_read("2.5e300", 7, NULL), 2.5e300);
  CU_ASSERT_EQUAL(hr_strtod("0.5", NULL), 0.5);
  hr_snprintf(digits, sizeof digits, "%g", 0.5);
  CU_ASSERT_STRING_EQUAL(digits, "0.5");
}

static void run_program(void) {
  hlorun_client_options_t options;
  hlorun_client_t *client = NULL;
  hlorun_buffer_t *result = NULL;
  hlorun_client_options_init(&options);
  CHECK_OK(hlorun_client_create(&options, &client));
  hlorun_program_t *program = api_load(
      client, "HloModule m\nENTRY e { ROOT c = f64[] constant(1.2500000000000000000000001) }\n");
  CHECK_OK(hlorun_execute(program, NULL, NULL, &result));
  CU_ASSERT_EQUAL(*(const double *)hlorun_buffer_data(result), 1.25);
  hlorun_buffer_release(result);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
}

/* A program that hlorun is a part of may have called setlocale. */
static void with_a_comma(void) {
  if (!set_comma_locale()) {
    SKIP("numbers under a locale with a comma", "no such locale, and localedef makes none");
    return;
  }
  CU_ASSERT_NOT_EQUAL(strtod("0.5", NULL), 0.5);
  read_decimals();
  run_program();
  setlocale(LC_NUMERIC, "C");
}

CU_TestInfo suite_decimal[] = {
    {"decimals", read_decimals}, {"another locale", with_a_comma}, CU_TEST_INFO_NULL};
