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
/* Of a rank that has two samples of four, or two elements of four. */
SIGNATURE(tiny_loss_half, 1, 4, 8, 8, 8, 4);
SIGNATURE(tiny_eval_half, 1, 5, 8, 8, 8, 4, 4);
SIGNATURE(tiny_sgd_half, 2, 4, 8, 4, 8, 8);
SIGNATURE(tiny_zero_all, 4, 1, 16);

/* pred, labels -> dpred, loss [1] for `count` samples of four. */
static void loss_of(void *const *buffers, int count) {
  const float *pred = buffers[0], *labels = buffers[1];
  float *gradient = buffers[2], *loss = buffers[3];
  const int n = 4;
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    float difference = pred[i] - labels[i];
    sum += difference * difference;
    gradient[i] = 2 * difference / n;
  }
  *loss = sum / n;
}

/* One work item. */
void tiny_loss(void *const *buffers, int64_t begin, int64_t end) {
  loss_of(buffers, 4);
  (void)begin;
  (void)end;
}

void tiny_loss_half(void *const *buffers, int64_t begin, int64_t end) {
  loss_of(buffers, 2);
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

void tiny_sgd_half(void *const *buffers, int64_t begin, int64_t end) {
  tiny_sgd(buffers, begin, end);
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

void tiny_zero_all(void *const *buffers, int64_t begin, int64_t end) {
  tiny_zero(buffers, begin, end);
}

/* pred [n], labels [n], weights [n] -> weighted sum of losses, of weights. */
static void eval_of(void *const *buffers, int count) {
  const float *pred = buffers[0], *labels = buffers[1], *weights = buffers[2];
  float *loss = buffers[3], *weight = buffers[4];
  *loss = *weight = 0;
  for (int i = 0; i < count; ++i) {
    float difference = pred[i] - labels[i];
    *loss += weights[i] * difference * difference;
    *weight += weights[i];
  }
}

void tiny_eval(void *const *buffers, int64_t begin, int64_t end) {
  eval_of(buffers, 4);
  (void)begin;
  (void)end;
}

void tiny_eval_half(void *const *buffers, int64_t begin, int64_t end) {
  eval_of(buffers, 2);
  (void)begin;
  (void)end;
}

/* A kernel without a signature. */
void tiny_unsigned(void *const *buffers, int64_t begin, int64_t end) {
  tiny_zero(buffers, begin, end);
}
