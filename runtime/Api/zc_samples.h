/* zc_samples.h: samples in tensors of other libraries and in files, and which
 * of them steps take; a part of zc.h, which includes this. */
#ifndef ZC_RUNTIME_API_ZC_SAMPLES_H
#define ZC_RUNTIME_API_ZC_SAMPLES_H

#include <zc_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As zc_set_input(), of a tensor of another library by DLPack (dlpack.h), in
 * the host's memory and in row-major order. On ZC_OK the session owns it and
 * calls its deleter once it reads it no more; otherwise it is still the
 * caller's. */
struct DLManagedTensor;
ZC_API zc_status zc_set_input_dlpack(zc_session *session, const char *name,
                                     struct DLManagedTensor *tensor);
struct DLManagedTensorVersioned; /* DLPack 1 */
ZC_API zc_status
zc_set_input_dlpack_versioned(zc_session *session, const char *name,
                              struct DLManagedTensorVersioned *tensor);

/* --- Files (since version 1.3) -------------------------------------------- */

/* Samples of files, in place of inputs that are set one by one: `path` is what
 * `zc run --data` takes, an .npz, a folder of .npy, .bin files of tokens, which
 * have `token_bits` (16 or 32) where they don't say so; else 0. Names, types
 * and shapes are checked at once. NULL or "": no more. */
ZC_API zc_status zc_set_data(zc_session *session, const char *path,
                             int32_t token_bits);

/* How many samples there are: of the data, or in the inputs that were set. */
ZC_API int64_t zc_sample_count(const zc_session *session);

/* Which samples the next steps take, counted from 0: zc_batch() for the next
 * one, then as many for each that follows. Behind them, or without, a step
 * takes those that follow in the data, from the first again behind the last;
 * of inputs that were set, it takes all. A selection is all ranks' the same.
 * Inputs may hold any number of samples where some are selected. */
ZC_API zc_status zc_select(zc_session *session, const int64_t *samples,
                           size_t count);

/* Reads and checks the samples of the next step now, which zc_step() does
 * otherwise: to learn what is wrong with them before ranks wait for one
 * another, or while the application has time. It fails on this rank alone. */
ZC_API zc_status zc_read_samples(zc_session *session);

/* Held-out samples, for zc_eval_data(), of files as for zc_set_data().
 * `metrics`: what is told besides the loss and accuracy, separated by commas,
 * as --metrics of `zc run` has them ("top5,f1"); NULL: nothing. */
ZC_API zc_status zc_set_eval_data(zc_session *session, const char *path,
                                  int32_t token_bits, const char *metrics);

/* Loss and metrics over the samples of zc_set_eval_data(): "eval_loss",
 * "eval_accuracy", "eval_top5" and so on, exact over all samples. It computes
 * no outputs. */
ZC_API zc_status zc_eval_data(zc_session *session);

#ifdef __cplusplus
}
#endif

#endif /* ZC_RUNTIME_API_ZC_SAMPLES_H */
