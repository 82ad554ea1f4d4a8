/* The generated kernels of the tests' tiny artifact, written by hand: a linear
   model with mean squared error and SGD with momentum. */
#include <stdint.h>

/* How a kernel is called: its grid, its number of buffers, the bytes of each. */
#define SIGNATURE(kernel, ...)                                                 \
  extern const int64_t kernel##_signature[] __asm__(#kernel ".signature");     \
  const int64_t kernel##_signature[] = {__VA_ARGS__}

SIGNATURE(tiny_loss, 1, 4, 16, 16, 16, 4);
SIGNATURE(tiny_sgd, 3, 4, 12, 4, 12, 12);
SIGNATURE(tiny_count, 1, 1, 8);
SIGNATURE(tiny_zero, 3, 1, 12);
SIGNATURE(tiny_zero_pair, 2, 1, 8);
SIGNATURE(tiny_eval, 1, 5, 16, 16, 16, 4, 4);

/* pred [n], labels [n] -> dpred [n], loss [1]; one work item. */
void tiny_loss(void *const *buffers, int64_t begin, int64_t end) {
  const float *pred = buffers[0], *labels = buffers[1];
  float *gradient = buffers[2], *loss = buffers[3];
  const int n = 4;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    float difference = pred[i] - labels[i];
    sum += difference * difference;
    gradient[i] = 2 * difference / n;
  }
  *loss = sum / n;
  (void)begin;
  (void)end;
}

/* gradient, lr, weight, momentum -> weight, momentum; an item an element. */
void tiny_sgd(void *const *buffers, int64_t begin, int64_t end) {
  const float *gradient = buffers[0], *lr = buffers[1];
  float *weight = buffers[2], *momentum = buffers[3];
  for (int64_t i = begin; i < end; ++i) {
    momentum[i] = 0.9f * momentum[i] + gradient[i];
    weight[i] -= *lr * momentum[i];
  }
}

/* step -> step + 1 */
void tiny_count(void *const *buffers, int64_t begin, int64_t end) {
  int64_t *step = buffers[0];
  *step += end - begin;
}

/* Zeros; an item an element of four bytes. */
void tiny_zero(void *const *buffers, int64_t begin, int64_t end) {
  float *out = buffers[0];
  for (int64_t i = begin; i < end; ++i)
    out[i] = 0;
}

void tiny_zero_pair(void *const *buffers, int64_t begin, int64_t end) {
  tiny_zero(buffers, begin, end);
}

/* pred [n], labels [n], weights [n] -> weighted sum of losses, of weights. */
void tiny_eval(void *const *buffers, int64_t begin, int64_t end) {
  const float *pred = buffers[0], *labels = buffers[1], *weights = buffers[2];
  float *loss = buffers[3], *weight = buffers[4];
  *loss = *weight = 0;
  for (int i = 0; i < 4; ++i) {
    float difference = pred[i] - labels[i];
    *loss += weights[i] * difference * difference;
    *weight += weights[i];
  }
  (void)begin;
  (void)end;
}

/* A kernel without a signature. */
void tiny_unsigned(void *const *buffers, int64_t begin, int64_t end) {
  tiny_zero(buffers, begin, end);
}
