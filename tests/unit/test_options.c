/* Options of the command and of the environment: forms, refusals, nearest names, help. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/nearest_name.h"
#include "base/options.h"
#include "base/variables.h"
#include "tests/lib/unit.h"

#define WORDS(...) \
  (char *const[]) { __VA_ARGS__ }
#define COUNT(...) (int)(sizeof(WORDS(__VA_ARGS__)) / sizeof(char *))
#define PARSE(command, options, ...) \
  hr_options_parse((command), COUNT(__VA_ARGS__), WORDS(__VA_ARGS__), (options))

static void test_forms_of_options(void) {
  size_t live = hr_mem_live_blocks();
  hr_options_t options;
  CHECK_OK(PARSE(HR_COMMAND_RUN, &options, "-n8", "--steps", "5", "--input=a.npz", "x.hlo", "-i",
                 "1=3.5", "--rtol=1e-3", "--", "--steps"));
  CU_ASSERT_EQUAL(hr_option_int(&options, HR_OPTION_PROCESSES, 0), 8);
  CU_ASSERT_EQUAL(hr_option_int(&options, HR_OPTION_STEPS, 0), 5);
  CU_ASSERT_DOUBLE_EQUAL(hr_option_real(&options, HR_OPTION_RTOL, -1), 1e-3, 0);
  CU_ASSERT_DOUBLE_EQUAL(hr_option_real(&options, HR_OPTION_ATOL, -1), -1, 0);
  CU_ASSERT_EQUAL(options.operands.count, 2);
  CU_ASSERT_STRING_EQUAL(options.operands.data[1], "--steps");
  size_t from = 0;
  CU_ASSERT_STRING_EQUAL(hr_option_next(&options, HR_OPTION_INPUT, &from)->text, "a.npz");
  CU_ASSERT_STRING_EQUAL(hr_option_next(&options, HR_OPTION_INPUT, &from)->text, "1=3.5");
  CU_ASSERT_PTR_NULL(hr_option_next(&options, HR_OPTION_INPUT, &from));
  hr_options_deinit(&options);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void test_optional_arguments_and_choices(void) {
  hr_options_t options;
  CHECK_OK(PARSE(HR_COMMAND_RUN, &options, "--random-inputs", "7", "--bind", "none"));
  CU_ASSERT_TRUE(hr_option_is_given(&options, HR_OPTION_RANDOM_INPUTS));
  CU_ASSERT_EQUAL(hr_option_int(&options, HR_OPTION_RANDOM_INPUTS, 9), 0);
  CU_ASSERT_EQUAL(options.operands.count, 1);
  CU_ASSERT_EQUAL(hr_option_int(&options, HR_OPTION_BIND, 0), 2);
  hr_options_deinit(&options);
  CHECK_OK(PARSE(HR_COMMAND_RUN, &options, "--random-inputs=18446744073709551615"));
  CU_ASSERT_EQUAL(hr_option_int(&options, HR_OPTION_RANDOM_INPUTS, 0), UINT64_MAX);
  hr_options_deinit(&options);
}

/* The message of a command line that must be refused. */
static void refuse(hr_command_t command, int argc, char *const *argv, const char *text) {
  hr_options_t options;
  hr_status_t st = hr_options_parse(command, argc, argv, &options);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_USAGE);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), text));
  hr_status_release(st);
  hr_options_deinit(&options);
}
#define REFUSE(command, text, ...) refuse((command), COUNT(__VA_ARGS__), WORDS(__VA_ARGS__), (text))

static void test_what_is_refused(void) {
  REFUSE(HR_COMMAND_RUN, "--output", "--outptu", "x");
  REFUSE(HR_COMMAND_RUN, "--steps", "--step=3");
  REFUSE(HR_COMMAND_RUN, "--help", "--qqqqqqqqqqqqqq");
  REFUSE(HR_COMMAND_CHECK, "not an option of check", "--steps", "3");
  REFUSE(HR_COMMAND_RUN, "after it", "--steps");
  REFUSE(HR_COMMAND_RUN, "whole number", "--steps", "0");
  REFUSE(HR_COMMAND_RUN, "whole number", "--steps=3x");
  REFUSE(HR_COMMAND_RUN, "whole number", "--steps=-3");
  REFUSE(HR_COMMAND_RUN, "whole number", "--steps=3000000000");
  REFUSE(HR_COMMAND_RUN, "whole number", "--seed=18446744073709551616");
  REFUSE(HR_COMMAND_RUN, "not a number", "--timeout=-1");
  REFUSE(HR_COMMAND_RUN, "not a number", "--rtol=nan");
  REFUSE(HR_COMMAND_RUN, "core|numa|none", "--bind=socket");
  REFUSE(HR_COMMAND_RUN, "no argument", "--help=me");
  REFUSE(HR_COMMAND_RUN, "nothing", "--output=");
  REFUSE(HR_COMMAND_RUN, "-z", "-z");
}

static void test_nearest_names(void) {
  static const char *const names[] = {"replicas", "partitions", "steps"};
  CU_ASSERT_STRING_EQUAL(hr_nearest_name("replcias", names, 3), "replicas");
  CU_ASSERT_STRING_EQUAL(hr_nearest_name("step", names, 3), "steps");
  CU_ASSERT_PTR_NULL(hr_nearest_name("quite another", names, 3));
  CU_ASSERT_PTR_NULL(hr_nearest_name("", names, 3));
  char longest[HR_NEAREST_WORD_MAX + 2];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  const char *const long_names[] = {longest, longest + 2};
  CU_ASSERT_PTR_EQUAL(hr_nearest_name(longest + 1, long_names, 2), longest + 2);
  CU_ASSERT_PTR_NULL(hr_nearest_name(longest, long_names, 2));
}

static void test_help_names_everything(void) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_options_list(&text);
  for (int id = 0; id < HR_OPTION_COUNT; id++)
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, hr_option_name(id)));
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "HLORUN_LOG"));
  hr_strbuf_deinit(&text);
}

/* What is said about a variable with that value: `want`, or nothing if it is NULL. */
static void check_variable(const char *name, const char *value, const char *want) {
  char *report = NULL;
  size_t size;
  FILE *stream = open_memstream(&report, &size);
  setenv(name, value, 1);
  hr_variables_check(stream);
  unsetenv(name);
  fclose(stream);
  CU_ASSERT_TRUE(want ? strstr(report, want) != NULL : !strstr(report, name));
  free(report);
}

static void test_variables(void) {
  check_variable("HLORUN_LGO", "info", "HLORUN_LGO; nearest: HLORUN_LOG\n");
  check_variable("HLORUN_VECTOR", "33", "HLORUN_VECTOR=33: want 16|32|64\n");
  check_variable("HLORUN_VECTOR", "32", NULL);
  check_variable("HLORUN_COMBINE", "much", "want BYTES");
  check_variable("HLORUN_COMBINE", "0", NULL);
  check_variable("HLORUN_CACHE", "anything", NULL);
  check_variable("HLORUN_CHECK", "memory", NULL);
  check_variable("HLORUN_CHECK", "memroy", "want 1|memory|memory:start");
  check_variable("HLORUN_CHECK", "\x01\x1b[31m", "HLORUN_CHECK=??[31m: want");
  check_variable("HLORUN_LAUNCHER", "", NULL);
}

static void test_old_names(void) {
  hr_options_t options;
  CHECK_OK(PARSE(HR_COMMAND_SCHEDULE, &options, "--turns", "7"));
  CU_ASSERT_EQUAL(hr_option_int(&options, HR_OPTION_ITERATIONS, 0), 7);
  hr_options_deinit(&options);
  REFUSE(HR_COMMAND_RUN, "--iterations is not an option of run; it is one of schedule",
         "--turns=7");
  setenv("HLORUN_OWN_CODE", "0", 1);
  unsetenv("HLORUN_X64");
  hr_variables_apply_aliases();
  CU_ASSERT_PTR_NULL(getenv("HLORUN_OWN_CODE"));
  CU_ASSERT_PTR_NOT_NULL_FATAL(getenv("HLORUN_X64"));
  CU_ASSERT_STRING_EQUAL(getenv("HLORUN_X64"), "0");
  setenv("HLORUN_OWN_CODE", "1", 1); /* the new name wins */
  hr_variables_apply_aliases();
  CU_ASSERT_STRING_EQUAL(getenv("HLORUN_X64"), "0");
  unsetenv("HLORUN_X64");
}

static void test_log_levels(void) {
  CHECK_OK(hr_log_configure("info,coll:trace"));
  CU_ASSERT_TRUE(hr_log_wants(HR_LOG_COLL, HR_LOG_TRACE));
  CU_ASSERT_TRUE(hr_log_wants(HR_LOG_EXEC, HR_LOG_INFO));
  CU_ASSERT_FALSE(hr_log_wants(HR_LOG_EXEC, HR_LOG_DEBUG));
  CHECK_FAILS(HR_USAGE, hr_log_configure("loud"));
  CHECK_FAILS(HR_USAGE, hr_log_configure("clol:info"));
  CHECK_OK(hr_log_configure(NULL));
  CU_ASSERT_TRUE(hr_log_wants(HR_LOG_EXEC, HR_LOG_WARN));
  CU_ASSERT_FALSE(hr_log_wants(HR_LOG_EXEC, HR_LOG_INFO));
}

CU_TestInfo suite_options[] = {
    {"forms", test_forms_of_options},
    {"optional arguments and choices", test_optional_arguments_and_choices},
    {"refused", test_what_is_refused},
    {"nearest names", test_nearest_names},
    {"help", test_help_names_everything},
    {"variables", test_variables},
    {"old names", test_old_names},
    {"log levels", test_log_levels},
    CU_TEST_INFO_NULL};
