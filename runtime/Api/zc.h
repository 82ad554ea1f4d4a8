/* zc.h: training inside other programs. The stable C interface of libzc.so,
 * which trains and evaluates what `zc compile` made (an artifact, .zca). It
 * needs no compiler, no Python and no LLVM.
 *
 *   zc_session *session = NULL;
 *   if (zc_open("step.zca", NULL, &session) != ZC_OK)
 *     fprintf(stderr, "%s\n", zc_last_error(session));
 *   zc_set_input(session, "x", ZC_FLOAT32, 2, dims, data);
 *   zc_step(session);
 *   zc_close(&session);
 *
 * Errors. Every function that can fail returns a zc_status and leaves a text
 * for people in the session, which zc_last_error() returns. No function throws,
 * changes signal handlers, ends the process or writes to the terminal, but
 * where MPI's other ranks do not come in time (a line on stderr, and the end:
 * nothing else ends MPI_Init) and where ranks share a GPU (a warning there).
 * The system ends a process where planned memory cannot be had page by page, or
 * where a file is cut short in the moment of reading it.
 *
 * Threads. A session is used by one thread at a time, which may be another one
 * each time. While a call is under way, others of that session that return a
 * zc_status do nothing, leave no text and return ZC_BUSY; the rest must not be
 * called. Different sessions are independent, and share mapped files and caches
 * under locks: threads may use them at once. A thread that computes keeps
 * helpers until it ends or takes up a session with another number of threads.
 *
 * Ranks. A session is one rank: of one, or of several that train together, in
 * processes or threads (zc_open_options: launcher, transport). Ranks open the
 * same artifact and call zc_open, zc_prepare, zc_set_data, zc_set_eval_data,
 * zc_step, zc_eval, zc_eval_data, zc_get_state, zc_set_state, zc_save,
 * zc_resume, zc_load_weights and zc_export_weights in the same order with the
 * same arguments: these wait for all of them. Where one fails in such
 * a call, all do, one with the reason and others with ZC_CANCELLED, and the
 * sessions can do no more but be closed. Numbers that all must have alike
 * (learning rate, seed, settings) are compared at each step.
 *
 * Memory. Pointers that functions return belong to the session and live as
 * long as each says. Structures that are passed begin with their own size, so
 * that later versions may add fields at their end; ZC_..._INIT sets it.
 *
 * Samples come from inputs that the caller sets, or from files (zc_samples.h).
 *
 * Versions. Programs that were built with one minor version run with all later
 * ones of the same major version: functions, enumerators and fields are only
 * added.
 */
#ifndef ZC_RUNTIME_API_ZC_H
#define ZC_RUNTIME_API_ZC_H

#include <zc_types.h>

#define ZC_API_MAJOR 1
#define ZC_API_MINOR 4

#ifdef __cplusplus
extern "C" {
#endif

/* --- Status ------------------------------------------------------------- */

/* The name of a status, "ZC_OK"; never NULL. */
ZC_API const char *zc_status_name(zc_status status);

/* The library's ZC_API_MAJOR * 65536 + ZC_API_MINOR. */
ZC_API uint32_t zc_api_version(void);

/* The version of zc, "0.1.0". */
ZC_API const char *zc_version(void);

/* --- Sessions ------------------------------------------------------------ */

/* Opens an artifact and gives all states their initial values. `options` may be
 * NULL: one rank alone. On failure *session is a session that can do nothing
 * but tell why by zc_last_error(), and that must be closed as well (NULL when
 * not even that could be made). Fails where the file is missing or damaged, is
 * for another number of ranks or another machine, or lets steps overlap (a
 * pipeline without flush). */
ZC_API zc_status zc_open(const char *artifact, const zc_open_options *options,
                         zc_session **session);

/* Takes the memory of a session that was opened for later, and gives all states
 * their initial values; until then there are no states, steps and evaluations.
 * Since version 1.3. */
ZC_API zc_status zc_prepare(zc_session *session);

/* Frees a session and sets *session to NULL. Of NULL, or a pointer to NULL,
 * nothing is done: closing twice is harmless. */
ZC_API zc_status zc_close(zc_session **session);

/* Why the last call that failed did so; "" when none has. The text lives until
 * the session's next call that fails, or its end. */
ZC_API const char *zc_last_error(const zc_session *session);

/* Bytes of the memory that was planned for this rank, all of which it has; 0
 * before there is any. And the bytes that it has sent to other ranks so far.
 * Since version 1.3. */
ZC_API uint64_t zc_memory_bytes(const zc_session *session);
ZC_API uint64_t zc_sent_bytes(const zc_session *session);

/* Which rank the session is, from 0, and of how many. Since version 1.2. */
ZC_API int32_t zc_rank(const zc_session *session);
ZC_API int32_t zc_ranks(const zc_session *session);

/* --- Inputs -------------------------------------------------------------- */

/* How many inputs there are, labels included. */
ZC_API size_t zc_input_count(const zc_session *session);

/* The input of that number, from 0. What *info points to lives as long as the
 * session. */
ZC_API zc_status zc_input_info(zc_session *session, size_t index,
                               zc_tensor_info *info);

/* How many samples a step takes: all inputs that have a batch dim have so many
 * along it. 0: no input counts samples. */
ZC_API int64_t zc_batch(const zc_session *session);

/* How many of them this rank computes. Where ranks share the samples, a step
 * takes either all zc_batch() of them on every rank, the same ones, or on each
 * its own zc_rank_batch() alone. Since version 1.2. */
ZC_API int64_t zc_rank_batch(const zc_session *session);

/* Gives an input's elements, in row-major order. The memory is borrowed: it is
 * read by each zc_step() and zc_eval() until the input is given anew or the
 * session is closed, and may change between them. Integers of any width are
 * taken for integers and floats for floats, as --data takes them. Fails at once
 * where name, type or shape are wrong; any number of samples is right here,
 * for zc_eval() takes any, zc_step() takes zc_batch(). Of an input that
 * another rank alone reads, nothing is read. */
ZC_API zc_status zc_set_input(zc_session *session, const char *name,
                              zc_type type, int32_t rank, const int64_t *dims,
                              const void *data);

/* The same, but copies the elements: the memory is free at once. */
ZC_API zc_status zc_copy_input(zc_session *session, const char *name,
                               zc_type type, int32_t rank, const int64_t *dims,
                               const void *data);

/* Forgets an input's elements: their memory is read no more. As labels, so that
 * zc_eval() does without them. Since version 1.1. */
ZC_API zc_status zc_clear_input(zc_session *session, const char *name);

/* --- Training ------------------------------------------------------------- */

/* Does one optimizer step with the samples of zc_set_data(), or the inputs that
 * were set. A failure before the step (an input is missing, a label is out of
 * range) leaves everything as it was. ZC_NOT_FINITE: the step was done, and its
 * loss or gradients are no numbers; parameters are updated from them. */
ZC_API zc_status zc_step(zc_session *session);

/* The wish of the progress callback, the largest of all ranks', that has
 * stopped the last step or evaluation; 0: none has. Since version 1.3. */
ZC_API int32_t zc_stopped_by(const zc_session *session);

/* How many steps were done, those before a checkpoint that was resumed
 * included. */
ZC_API int64_t zc_steps_done(const zc_session *session);

/* The learning rate from the next step on; 1e-3 to begin with. It is rounded to
 * float32. Fails where it is no finite number of at least 0. */
ZC_API zc_status zc_set_learning_rate(zc_session *session, double rate);
ZC_API double zc_learning_rate(const zc_session *session);

/* Another number of the update, by its option of `zc run` without dashes
 * ("weight-decay"). Fails where the artifact's code does not read it, or the
 * option refuses the value. */
ZC_API zc_status zc_set_setting(zc_session *session, const char *name,
                                double value);

/* What dropout is drawn from, from the next step on. Initial weights are drawn
 * by zc_open(), from the seed of its options. */
ZC_API zc_status zc_set_seed(zc_session *session, uint64_t seed);

/* --- Evaluation ----------------------------------------------------------- */

/* Runs the forward over all samples of the inputs that were set, however many,
 * without dropout and with running statistics. All ranks are given all samples,
 * and get all outputs. Labels may be left out: then
 * there is no "eval_loss". Fails where the artifact has no evaluation. */
ZC_API zc_status zc_eval(zc_session *session);

/* What the last zc_eval() has computed. dims and data live until the next
 * zc_eval(); before the first one the dim of samples is 0. */
ZC_API size_t zc_output_count(const zc_session *session);
ZC_API zc_status zc_output_info(zc_session *session, size_t index,
                                zc_tensor_info *info);
/* The elements of an output, row-major. NULL, with a text for
 * zc_last_error(), where there is no such output or no evaluation was done. */
ZC_API const void *zc_output_data(zc_session *session, const char *name);

/* --- Metrics -------------------------------------------------------------- */

/* A number of the last step ("loss", of all its samples and before its update;
 * "grad_norm", before clipping; "loss_scale", "skipped") or of the last
 * evaluation ("eval_loss", "eval_accuracy"). ZC_NOT_FOUND where there is none,
 * and *value stays as it is. */
ZC_API zc_status zc_metric(zc_session *session, const char *name,
                           double *value);
/* Those that there are. Names live until the next step or evaluation. */
ZC_API size_t zc_metric_count(const zc_session *session);
ZC_API const char *zc_metric_name(const zc_session *session, size_t index);

/* --- States --------------------------------------------------------------- */

/* Parameters, statistics and the optimizer's states, whole, by their ONNX names
 * ("fc.weight", "state.fc.weight.exp_avg"); tied parameters by any of theirs.
 */
ZC_API size_t zc_state_count(const zc_session *session);
ZC_API zc_status zc_state_info(zc_session *session, size_t index,
                               zc_tensor_info *info);
ZC_API zc_status zc_find_state(zc_session *session, const char *name,
                               zc_tensor_info *info);

/* Copies a state out or in, row-major. `bytes` must be its size: a check
 * against mistakes. Values that are set must be finite. */
ZC_API zc_status zc_get_state(zc_session *session, const char *name, void *data,
                              size_t bytes);
ZC_API zc_status zc_set_state(zc_session *session, const char *name,
                              const void *data, size_t bytes);

/* --- Files ---------------------------------------------------------------- */

/* Writes the checkpoint DIR/step-N, as `zc run --checkpoint DIR` does; it is
 * complete or not there. `keep`: only the newest so many stay, 0: all. A folder
 * that holds another run's checkpoints is refused. Later checkpoints than the
 * one that zc_resume took from it become DIR/replaced-step-N. The session keeps
 * the folder locked until it saves elsewhere or ends. */
ZC_API zc_status zc_save(zc_session *session, const char *dir, int64_t keep);

/* Goes on from a checkpoint of this library or of `zc run`: DIR (its latest) or
 * DIR/step-N. States, steps and seed are the checkpoint's. After a failure in
 * the midst of it, states may be of both; resume or close. */
ZC_API zc_status zc_resume(zc_session *session, const char *path);

/* Takes weights by their names, as `zc run --init-from`: of a checkpoint or a
 * .safetensors file. What does not match stays, and the log says so. Fails if
 * nothing does, and for other values of what the artifact freezes. */
ZC_API zc_status zc_load_weights(zc_session *session, const char *path);

/* Writes parameters and statistics to a .safetensors file, as `zc export
 * --safetensors` does. `zc export` makes an ONNX file of a checkpoint. */
ZC_API zc_status zc_export_weights(zc_session *session, const char *path);

#ifdef __cplusplus
}
#endif

#include <zc_samples.h>

#endif /* ZC_RUNTIME_API_ZC_H */
