// The C interface over ApiSession: sessions, inputs, samples and training.
#include "runtime/Api/Calls.h"
#include "runtime/Api/DlPack.h"

#include <cstring>

using namespace zc;

static_assert(int(ZC_FLOAT32) == int(plan::F32) &&
                  int(ZC_BFLOAT16) == int(plan::BF16) &&
                  int(ZC_BOOL) == int(plan::BOOL) &&
                  int(ZC_UINT64) == int(plan::U64),
              "types are numbered as in the schema");

Status zc::fill(zc_tensor_info *info, const zc_tensor_info &full) {
  ZC_RETURN_IF_ERROR(checkGiven(info, "info"));
  const size_t size = info->size;
  // The first version's.
  if (size < offsetof(zc_tensor_info, batch_dim) + sizeof(int32_t))
    return makeError(StatusCode::InvalidArgument, "info->size is ", size,
                     "; begin with ZC_TENSOR_INFO_INIT");
  std::memcpy(info, &full, std::min(size, sizeof(full)));
  info->size = size;
  return Status();
}

Status zc::fillFrom(zc_tensor_info *info, const NamedTensor &tensor,
                    zc_tensor_kind kind) {
  return fill(info, {sizeof(zc_tensor_info), tensor.name.c_str(),
                     tensor.dims.data(), int32_t(tensor.dims.size()),
                     zc_type(int(tensor.type)), kind, tensor.batchDim});
}

namespace {

Result<GivenTensor> describeGiven(const zc_type &named, int32_t rank,
                                  const int64_t *dims, const void *data) {
  // C callers may give any number; as an enumerator C++ must not read it.
  static_assert(sizeof(named) == sizeof(int), "as C has enumerators");
  int type = 0;
  std::memcpy(&type, &named, sizeof(type));
  if (type < int(ZC_FLOAT32) || type > int(ZC_UINT64))
    return makeError(StatusCode::InvalidArgument, "there is no type ", type);
  if (rank < 0 || (rank > 0 && !dims))
    return makeError(StatusCode::InvalidArgument, "a rank of ", rank,
                     " without dims");
  GivenTensor tensor;
  tensor.type = plan::DataType(type);
  tensor.dims.assign(dims, dims + rank);
  tensor.data = static_cast<const char *>(data);
  return tensor;
}

Status checkTokenBits(int32_t bits) {
  return bits == 0 || bits == 16 || bits == 32
             ? Status()
             : makeError(StatusCode::InvalidArgument, "token_bits ", bits,
                         ": expected 16, 32, or 0 where the files say so");
}

/// At commas.
std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

template <typename Managed>
Status setManaged(ApiSession &session, const char *name, Managed *tensor) {
  ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
  ZC_RETURN_IF_ERROR(checkGiven(tensor, "tensor"));
  ZC_ASSIGN_OR_RETURN(GivenTensor given, fromDlPack(tensor->dl_tensor));
  // A failure leaves the tensor with its owner.
  auto isTaken = std::make_shared<bool>(false);
  given.owner = std::shared_ptr<const void>(tensor, [isTaken](Managed *mine) {
    if (*isTaken && mine->deleter)
      mine->deleter(mine);
  });
  Status status = session.inputs().set(name, std::move(given));
  *isTaken = status.ok();
  return status;
}

ApiOptions optionsFrom(const zc_open_options *given) {
  zc_open_options all = ZC_OPEN_OPTIONS_INIT;
  if (given)
    std::memcpy(&all, given, std::min(given->size, sizeof(all)));
  ApiOptions options;
  options.seed = all.seed;
  options.threads = all.threads;
  options.offloadFolder = all.offload_dir ? all.offload_dir : "";
  if (all.tune)
    options.tuningFile = all.tune;
  options.byLauncher = all.launcher != 0;
  options.later = all.later != 0;
  if (all.progress)
    options.progress = [progress = all.progress,
                        context = all.progress_context](
                           zc_phase phase, int64_t done, int64_t total) {
      return progress(context, phase, done, total);
    };
  if (all.timeout != 0)
    options.timeout = all.timeout;
  if (all.transport) {
    zc_transport &transport = options.transport.emplace();
    std::memset(&transport, 0, sizeof(transport));
    std::memcpy(&transport, all.transport,
                std::min(all.transport->size, sizeof(transport)));
  }
  if (all.log)
    options.log = [log = all.log, context = all.log_context](
                      bool isWarning, const std::string &text) {
      log(context, isWarning ? ZC_LOG_WARNING : ZC_LOG_NOTE, text.c_str());
    };
  return options;
}

} // namespace

// --- Status
// --------------------------------------------------------------------

const char *zc_status_name(zc_status status) {
  switch (status) {
#define ZC_NAME(name)                                                          \
  case name:                                                                   \
    return #name;
    ZC_NAME(ZC_OK)
    ZC_NAME(ZC_INVALID_ARGUMENT)
    ZC_NAME(ZC_NOT_FOUND)
    ZC_NAME(ZC_CORRUPT)
    ZC_NAME(ZC_UNSUPPORTED)
    ZC_NAME(ZC_RESOURCE_EXHAUSTED)
    ZC_NAME(ZC_IO_ERROR)
    ZC_NAME(ZC_DEADLINE_EXCEEDED)
    ZC_NAME(ZC_CANCELLED)
    ZC_NAME(ZC_INTERNAL)
    ZC_NAME(ZC_NOT_FINITE)
    ZC_NAME(ZC_BUSY)
    ZC_NAME(ZC_STOPPED)
#undef ZC_NAME
  }
  return "unknown";
}

uint32_t zc_api_version(void) { return ZC_API_MAJOR * 65536 + ZC_API_MINOR; }

const char *zc_version(void) { return ZC_VERSION; }

// --- Sessions
// ---------------------------------------------------------------------

/// A handle, of what `open` makes.
template <typename Open>
static zc_status make(zc_session **session, const Open &open) {
  if (!session)
    return ZC_INVALID_ARGUMENT;
  *session = new (std::nothrow) zc_session;
  if (!*session)
    return ZC_RESOURCE_EXHAUSTED;
  zc_session &made = **session;
  HandleTurn turn(made); // for those who call from the log
  return contain(made.error, [&] { return open(made); });
}

zc_status zc::openRun(const std::string &artifact, ApiOptions options,
                      ApiRun run, zc_session **session) {
  return make(session, [&](zc_session &made) -> Status {
    ZC_ASSIGN_OR_RETURN(
        made.body,
        ApiSession::openRun(artifact, std::move(options), std::move(run)));
    return Status();
  });
}

zc_status zc_open(const char *artifact, const zc_open_options *options,
                  zc_session **session) {
  return make(session, [&](zc_session &made) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(artifact, "artifact"));
    if (options && options->size < sizeof(size_t) + sizeof(uint64_t))
      return makeError(StatusCode::InvalidArgument, "options->size is ",
                       options->size, "; begin with ZC_OPEN_OPTIONS_INIT");
    ZC_ASSIGN_OR_RETURN(made.body,
                        ApiSession::open(artifact, optionsFrom(options)));
    return Status();
  });
}

zc_status zc_prepare(zc_session *session) {
  return call(session, [](ApiSession &body) { return body.prepare(); });
}

uint64_t zc_memory_bytes(const zc_session *session) {
  return session && session->body ? session->body->memoryBytes() : 0;
}

uint64_t zc_sent_bytes(const zc_session *session) {
  return session && session->body ? session->body->sentBytes() : 0;
}

zc_status zc_close(zc_session **session) {
  if (!session || !*session)
    return ZC_OK;
  if ((*session)->busy.exchange(true))
    return ZC_BUSY;
  std::string ignored;
  zc_status status = contain(ignored, [&]() -> Status {
    delete *session;
    return Status();
  });
  *session = nullptr;
  return status;
}

const char *zc_last_error(const zc_session *session) {
  return session ? session->error.c_str() : kNoSession;
}

int32_t zc_rank(const zc_session *session) {
  return session && session->body ? session->body->rank() : 0;
}

int32_t zc_ranks(const zc_session *session) {
  return session && session->body ? session->body->ranks() : 0;
}

// --- Inputs
// ------------------------------------------------------------------------

size_t zc_input_count(const zc_session *session) {
  return session && session->body ? session->body->inputs().all().size() : 0;
}

zc_status zc_input_info(zc_session *session, size_t index,
                        zc_tensor_info *info) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_ASSIGN_OR_RETURN(const NamedTensor *input,
                        at(body.inputs().all(), index));
    return fillFrom(info, *input, input->isLabel ? ZC_LABEL : ZC_INPUT);
  });
}

int64_t zc_batch(const zc_session *session) {
  return session && session->body ? session->body->inputs().batch() : 0;
}

int64_t zc_rank_batch(const zc_session *session) {
  return session && session->body ? session->body->inputs().ownBatch() : 0;
}

zc_status zc_set_input(zc_session *session, const char *name, zc_type type,
                       int32_t rank, const int64_t *dims, const void *data) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    ZC_ASSIGN_OR_RETURN(GivenTensor tensor,
                        describeGiven(type, rank, dims, data));
    return body.inputs().set(name, std::move(tensor));
  });
}

zc_status zc_copy_input(zc_session *session, const char *name, zc_type type,
                        int32_t rank, const int64_t *dims, const void *data) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    ZC_ASSIGN_OR_RETURN(GivenTensor tensor,
                        describeGiven(type, rank, dims, data));
    // A tensor that is refused for its shape must not be read.
    ZC_RETURN_IF_ERROR(body.inputs().check(name, tensor));
    ZC_ASSIGN_OR_RETURN(auto copy, copyElements(tensor));
    tensor.data = copy->data();
    tensor.owner = copy;
    return body.inputs().set(name, std::move(tensor));
  });
}

zc_status zc_set_input_dlpack(zc_session *session, const char *name,
                              DLManagedTensor *tensor) {
  return call(session,
              [&](ApiSession &body) { return setManaged(body, name, tensor); });
}

zc_status zc_set_input_dlpack_versioned(zc_session *session, const char *name,
                                        DLManagedTensorVersioned *tensor) {
  return call(session, [&](ApiSession &body) -> Status {
    if (tensor && tensor->version.major != 1)
      return makeError(StatusCode::Unsupported, "DLPack ",
                       tensor->version.major, ".", tensor->version.minor,
                       " is not known here; version 1 is");
    return setManaged(body, name, tensor);
  });
}

zc_status zc_clear_input(zc_session *session, const char *name) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    return body.inputs().clear(name);
  });
}

// --- Samples
// -----------------------------------------------------------------------

zc_status zc_set_data(zc_session *session, const char *path,
                      int32_t token_bits) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkTokenBits(token_bits));
    return body.setData(path ? path : "", token_bits);
  });
}

int64_t zc_sample_count(const zc_session *session) {
  return session && session->body ? session->body->samples() : 0;
}

zc_status zc_select(zc_session *session, const int64_t *samples, size_t count) {
  return call(session, [&](ApiSession &body) -> Status {
    if (count > 0)
      ZC_RETURN_IF_ERROR(checkGiven(samples, "samples"));
    return body.select(samples, count);
  });
}

zc_status zc_read_samples(zc_session *session) {
  return call(session, [](ApiSession &body) { return body.readSamples(); });
}

zc_status zc_set_eval_data(zc_session *session, const char *path,
                           int32_t token_bits, const char *metrics) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(path, "path"));
    ZC_RETURN_IF_ERROR(checkTokenBits(token_bits));
    return body.setEvalData(path, token_bits, split(metrics ? metrics : ""));
  });
}

// --- Training
// ------------------------------------------------------------------------

zc_status zc_step(zc_session *session) {
  StepEnd end = StepEnd::Done;
  zc_status status =
      call(session, [&](ApiSession &body) { return body.step(end); });
  switch (end) {
  case StepEnd::Done:
    return status;
  case StepEnd::NotFinite:
    return ZC_NOT_FINITE;
  case StepEnd::Stopped:
    return ZC_STOPPED;
  }
  return status;
}

int32_t zc_stopped_by(const zc_session *session) {
  return session && session->body ? session->body->stoppedBy() : 0;
}

int64_t zc_steps_done(const zc_session *session) {
  return session && session->body ? session->body->stepsDone() : 0;
}

zc_status zc_set_learning_rate(zc_session *session, double rate) {
  return call(session,
              [&](ApiSession &body) { return body.setLearningRate(rate); });
}

double zc_learning_rate(const zc_session *session) {
  return session && session->body ? double(session->body->learningRate()) : 0;
}

zc_status zc_set_setting(zc_session *session, const char *name, double value) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    return body.setSetting(name, value);
  });
}

zc_status zc_set_seed(zc_session *session, uint64_t seed) {
  return call(session, [&](ApiSession &body) { return body.setSeed(seed); });
}
