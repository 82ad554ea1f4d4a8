/* Microseconds of each step of an artifact by libzc, one a line, on the one
 * batch that files NAME.bin hold: step_times ARTIFACT STEPS [each]
 * They are printed at the end, or each behind its step. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zc.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static char *read_file(const char *name, size_t bytes) {
  char path[256];
  snprintf(path, sizeof(path), "%s.bin", name);
  char *elements = malloc(bytes);
  FILE *file = fopen(path, "rb");
  if (!file || fread(elements, 1, bytes, file) != bytes) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
  return elements;
}

int main(int argc, char **argv) {
  zc_session *session = NULL;
  zc_status status = zc_open(argc > 2 ? argv[1] : "", NULL, &session);
  for (size_t i = 0; status == ZC_OK && i < zc_input_count(session); ++i) {
    zc_tensor_info input = ZC_TENSOR_INFO_INIT;
    zc_input_info(session, i, &input);
    size_t bytes = input.type == ZC_INT64 ? 8 : 4; /* float32 or int64 */
    for (int dim = 0; dim < input.rank; ++dim)
      bytes *= (size_t)input.dims[dim];
    status = zc_set_input(session, input.name, input.type, input.rank,
                          input.dims, read_file(input.name, bytes));
  }
  const int steps = argc > 2 ? atoi(argv[2]) : 0;
  double *times = malloc((size_t)(steps + 1) * sizeof(double));
  for (int step = 0; status == ZC_OK && step < steps; ++step) {
    double loss = 0;
    const double begin = now();
    if ((status = zc_step(session)) == ZC_OK)
      status = zc_metric(session, "loss", &loss);
    times[step] = now() - begin;
    if (argc > 3 && status == ZC_OK) {
      printf("%.3f\n", times[step]);
      fflush(stdout);
    }
  }
  if (status != ZC_OK)
    fprintf(stderr, "%s: %s\n", zc_status_name(status), zc_last_error(session));
  for (int step = 0; argc <= 3 && status == ZC_OK && step < steps; ++step)
    printf("%.3f\n", times[step]);
  zc_close(&session);
  return status != ZC_OK;
}
