/* Trains an artifact on files NAME.bin of samples, one after another, and
 * prints the loss of each step: embedded ARTIFACT STEPS */
#include <stdio.h>
#include <stdlib.h>
#include <zc.h>

static char elements[1 << 22];

int main(int argc, char **argv) {
  zc_session *session = NULL;
  zc_status status = zc_open(argc > 2 ? argv[1] : "", NULL, &session);
  for (int step = 0; status == ZC_OK && step < atoi(argv[2]); ++step) {
    char *place = elements;
    for (size_t i = 0; status == ZC_OK && i < zc_input_count(session); ++i) {
      zc_tensor_info input = ZC_TENSOR_INFO_INIT;
      zc_input_info(session, i, &input);
      size_t bytes = input.type == ZC_INT64 ? 8 : 4; /* float32 or int64 */
      for (int dim = 0; dim < input.rank; ++dim)
        bytes *= (size_t)input.dims[dim];
      char name[256];
      snprintf(name, sizeof(name), "%s.bin", input.name);
      FILE *file = fopen(name, "rb");
      if (!file || fseek(file, (long)(bytes * step), SEEK_SET) != 0 ||
          fread(place, 1, bytes, file) != bytes)
        return fprintf(stderr, "cannot read %s\n", name), 1;
      fclose(file);
      status = zc_set_input(session, input.name, input.type, input.rank,
                            input.dims, place);
      place += (bytes + 63) / 64 * 64;
    }
    double loss = 0;
    if (status == ZC_OK && (status = zc_step(session)) == ZC_OK)
      status = zc_metric(session, "loss", &loss);
    if (status == ZC_OK)
      printf("%.17g\n", loss);
  }
  if (status != ZC_OK)
    fprintf(stderr, "%s: %s\n", zc_status_name(status), zc_last_error(session));
  zc_close(&session);
  return status != ZC_OK;
}
