/* hlorun inside another program: runs hello.hlo on two arrays.
 *   cc embed.c $(pkg-config --cflags --libs hlorun) -o embed && ./embed hello.hlo */
#include <hlorun.h>
#include <stdio.h>
#include <stdlib.h>

static void must(hlorun_status_t status) {
  if (!status) return;
  char *report = hlorun_status_format(status);
  fprintf(stderr, "%s\n", report ? report : hlorun_status_message(status));
  exit(hlorun_status_exit_code(status));
}

int main(int argc, char **argv) {
  float a[] = {1, 2, 3}, b[] = {10, 20, 30};
  int64_t dims[] = {3};
  hlorun_client_options_t client_options;
  hlorun_program_options_t program_options;
  hlorun_client_t *client;
  hlorun_program_t *program;
  hlorun_buffer_t *arguments[2], *result;

  hlorun_client_options_init(&client_options);
  must(hlorun_client_create(&client_options, &client));
  hlorun_program_options_init(&program_options);
  must(hlorun_program_load(client, argc > 1 ? argv[1] : "hello.hlo", &program_options, &program));
  must(hlorun_buffer_create("f32", 1, dims, a, NULL, NULL, &arguments[0]));
  must(hlorun_buffer_create("f32", 1, dims, b, NULL, NULL, &arguments[1]));
  must(hlorun_execute(program, arguments, NULL, &result));

  const float *sums = hlorun_buffer_data(result);
  printf("%s: %g %g %g\n", hlorun_program_result_shape(program, 0), sums[0], sums[1], sums[2]);

  hlorun_buffer_release(result);
  hlorun_buffer_release(arguments[1]);
  hlorun_buffer_release(arguments[0]);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
  return 0;
}
