// The C interface over ApiSession: handles, statuses and texts. Nothing is
// thrown beyond these functions.
#include "runtime/Api/zc.h"
#include "runtime/Api/ApiSession.h"
#include "runtime/Api/DlPack.h"

#include <atomic>
#include <cstring>
#include <new>

using namespace zc;

struct zc_session {
  std::unique_ptr<ApiSession> body; // null: it could not be opened
  std::string error;
  std::atomic<bool> busy{false};
};

static_assert(int(ZC_FLOAT32) == int(plan::F32) &&
                  int(ZC_BFLOAT16) == int(plan::BF16) &&
                  int(ZC_BOOL) == int(plan::BOOL) &&
                  int(ZC_UINT64) == int(plan::U64),
              "types are numbered as in the schema");

static constexpr const char *kNoSession = "there is no session";
static constexpr const char *kNotOpen = "the session was not opened";

namespace {

zc_status toC(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return ZC_OK;
  case StatusCode::InvalidArgument:
    return ZC_INVALID_ARGUMENT;
  case StatusCode::NotFound:
    return ZC_NOT_FOUND;
  case StatusCode::Corrupt:
    return ZC_CORRUPT;
  case StatusCode::Unsupported:
    return ZC_UNSUPPORTED;
  case StatusCode::ResourceExhausted:
    return ZC_RESOURCE_EXHAUSTED;
  case StatusCode::IoError:
    return ZC_IO_ERROR;
  case StatusCode::DeadlineExceeded:
    return ZC_DEADLINE_EXCEEDED;
  case StatusCode::Cancelled:
    return ZC_CANCELLED;
  case StatusCode::Internal:
    return ZC_INTERNAL;
  }
  return ZC_INTERNAL;
}

/// Keeps other calls out of a session while one is under way.
class HandleTurn {
public:
  explicit HandleTurn(zc_session &session)
      : session(session), isMine(!session.busy.exchange(true)) {}
  ~HandleTurn() {
    if (isMine)
      session.busy = false;
  }
  HandleTurn(const HandleTurn &) = delete;
  bool isTaken() const { return !isMine; }

private:
  zc_session &session;
  const bool isMine;
};

/// What is thrown becomes a status; `text` gets what a Status says.
template <typename Body>
zc_status contain(std::string &text, const Body &body) noexcept {
  try {
    try {
      Status status = body();
      if (!status.ok())
        text = status.message();
      return toC(status.code());
    } catch (const std::bad_alloc &) {
      text = "out of memory";
      return ZC_RESOURCE_EXHAUSTED;
    } catch (const std::exception &error) {
      text = std::string("internal error: ") + error.what();
      return ZC_INTERNAL;
    }
  } catch (...) { // of something else, or no memory for the text
    return ZC_INTERNAL;
  }
}

/// Runs `body` on what the handle stands for.
template <typename Body>
zc_status call(zc_session *session, const Body &body) noexcept {
  if (!session)
    return ZC_INVALID_ARGUMENT;
  HandleTurn turn(*session);
  if (turn.isTaken())
    return ZC_BUSY;
  return contain(session->error, [&]() -> Status {
    if (!session->body)
      return Status(StatusCode::InvalidArgument, kNotOpen);
    return body(*session->body);
  });
}

Status checkGiven(const void *pointer, const char *what) {
  return pointer ? Status()
                 : makeError(StatusCode::InvalidArgument, what, " is NULL");
}

zc_tensor_kind kindOf(plan::StateKind kind) {
  switch (kind) {
  case plan::PARAMETER:
    return ZC_PARAMETER;
  case plan::STATISTIC:
    return ZC_STATISTIC;
  case plan::OPTIMIZER:
    return ZC_OPTIMIZER_STATE;
  default:
    return ZC_OTHER_STATE;
  }
}

/// Writes the fields that the caller's version has.
Status fill(zc_tensor_info *info, const zc_tensor_info &full) {
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

Status fillFrom(zc_tensor_info *info, const NamedTensor &tensor,
                zc_tensor_kind kind) {
  return fill(info, {sizeof(zc_tensor_info), tensor.name.c_str(),
                     tensor.dims.data(), int32_t(tensor.dims.size()),
                     zc_type(int(tensor.type)), kind, tensor.batchDim});
}

Status fillFrom(zc_tensor_info *info, const SessionStates::Entry &entry) {
  return fill(info,
              {sizeof(zc_tensor_info), entry.name.c_str(), entry.dims.data(),
               int32_t(entry.dims.size()), zc_type(int(entry.type().dtype())),
               kindOf(entry.kind), -1});
}

/// The list's element; fails where it has not so many.
template <typename List>
Result<const typename List::value_type *> at(const List &list, size_t index) {
  if (index >= list.size())
    return makeError(StatusCode::NotFound, "there is no number ", index,
                     "; there are ", list.size());
  return &list[index];
}

Result<GivenTensor> describeGiven(zc_type type, int32_t rank,
                                  const int64_t *dims, const void *data) {
  if (type < ZC_FLOAT32 || type > ZC_UINT64)
    return makeError(StatusCode::InvalidArgument, "there is no type ",
                     int(type));
  if (rank < 0 || (rank > 0 && !dims))
    return makeError(StatusCode::InvalidArgument, "a rank of ", rank,
                     " without dims");
  GivenTensor tensor;
  tensor.type = plan::DataType(int(type));
  tensor.dims.assign(dims, dims + rank);
  tensor.data = static_cast<const char *>(data);
  return tensor;
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
  options.byLauncher = all.launcher != 0;
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
#undef ZC_NAME
  }
  return "unknown";
}

uint32_t zc_api_version(void) { return ZC_API_MAJOR * 65536 + ZC_API_MINOR; }

const char *zc_version(void) { return ZC_VERSION; }

// --- Sessions
// ---------------------------------------------------------------------

zc_status zc_open(const char *artifact, const zc_open_options *options,
                  zc_session **session) {
  if (!session)
    return ZC_INVALID_ARGUMENT;
  *session = new (std::nothrow) zc_session;
  if (!*session)
    return ZC_RESOURCE_EXHAUSTED;
  zc_session &made = **session;
  HandleTurn turn(made); // for those who call from the log
  return contain(made.error, [&]() -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(artifact, "artifact"));
    if (options && options->size < sizeof(size_t) + sizeof(uint64_t))
      return makeError(StatusCode::InvalidArgument, "options->size is ",
                       options->size, "; begin with ZC_OPEN_OPTIONS_INIT");
    ZC_ASSIGN_OR_RETURN(made.body,
                        ApiSession::open(artifact, optionsFrom(options)));
    return Status();
  });
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
    // What is refused for its shape must not be read.
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

// --- Training
// ------------------------------------------------------------------------

zc_status zc_step(zc_session *session) {
  bool isFinite = true;
  zc_status status =
      call(session, [&](ApiSession &body) { return body.step(isFinite); });
  return isFinite ? status : ZC_NOT_FINITE;
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

// --- Evaluation
// ------------------------------------------------------------------------

zc_status zc_eval(zc_session *session) {
  return call(session, [](ApiSession &body) { return body.evaluate(); });
}

size_t zc_output_count(const zc_session *session) {
  return session && session->body ? session->body->outputs().all().size() : 0;
}

zc_status zc_output_info(zc_session *session, size_t index,
                         zc_tensor_info *info) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_ASSIGN_OR_RETURN(const NamedTensor *output,
                        at(body.outputs().all(), index));
    return fillFrom(info, *output, ZC_OUTPUT);
  });
}

const void *zc_output_data(zc_session *session, const char *name) {
  const void *data = nullptr;
  call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    data = body.outputs().data(name);
    return data ? Status()
                : makeError(StatusCode::NotFound, "there is no output '", name,
                            "', or no evaluation was done");
  });
  return data;
}

// --- Metrics
// ---------------------------------------------------------------------------

zc_status zc_metric(zc_session *session, const char *name, double *value) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    ZC_RETURN_IF_ERROR(checkGiven(value, "value"));
    for (const auto &[each, number] : body.metrics())
      if (each == name) {
        *value = number;
        return Status();
      }
    return makeError(StatusCode::NotFound, "there is no metric '", name,
                     "' of what was done so far");
  });
}

size_t zc_metric_count(const zc_session *session) {
  return session && session->body ? session->body->metrics().size() : 0;
}

const char *zc_metric_name(const zc_session *session, size_t index) {
  return index < zc_metric_count(session)
             ? session->body->metrics()[index].first.c_str()
             : nullptr;
}

// --- States
// ------------------------------------------------------------------------------

size_t zc_state_count(const zc_session *session) {
  return session && session->body ? session->body->states().all().size() : 0;
}

zc_status zc_state_info(zc_session *session, size_t index,
                        zc_tensor_info *info) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_ASSIGN_OR_RETURN(const SessionStates::Entry *entry,
                        at(body.states().all(), index));
    return fillFrom(info, *entry);
  });
}

zc_status zc_find_state(zc_session *session, const char *name,
                        zc_tensor_info *info) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    ZC_ASSIGN_OR_RETURN(const SessionStates::Entry *entry,
                        body.states().find(name));
    return fillFrom(info, *entry);
  });
}

zc_status zc_get_state(zc_session *session, const char *name, void *data,
                       size_t bytes) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    ZC_RETURN_IF_ERROR(checkGiven(data, "data"));
    return body.readState(name, data, bytes);
  });
}

zc_status zc_set_state(zc_session *session, const char *name, const void *data,
                       size_t bytes) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    ZC_RETURN_IF_ERROR(checkGiven(data, "data"));
    return body.writeState(name, data, bytes);
  });
}

// --- Files
// -------------------------------------------------------------------------------

zc_status zc_save(zc_session *session, const char *dir, int64_t keep) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(dir, "dir"));
    return body.save(dir, keep);
  });
}

zc_status zc_resume(zc_session *session, const char *path) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(path, "path"));
    return body.resume(path);
  });
}

zc_status zc_load_weights(zc_session *session, const char *path) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(path, "path"));
    return body.loadWeights(path);
  });
}

zc_status zc_export_weights(zc_session *session, const char *path) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(path, "path"));
    return body.exportWeights(path);
  });
}
