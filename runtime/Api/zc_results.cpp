// The C interface over ApiSession: what evaluations and steps come to, states
// and files.
#include "runtime/Api/Calls.h"
#include "runtime/Base/FileLimit.h"

using namespace zc;

namespace {

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

Status fillFrom(zc_tensor_info *info, const SessionStates::Entry &entry) {
  return fill(info,
              {sizeof(zc_tensor_info), entry.name.c_str(), entry.dims.data(),
               int32_t(entry.dims.size()), zc_type(int(entry.type().dtype())),
               kindOf(entry.kind), -1});
}

} // namespace

// --- Evaluation
// ------------------------------------------------------------------------

/// An evaluation that may be stopped.
static zc_status evaluate(zc_session *session, Status (ApiSession::*body)()) {
  bool isStopped = false;
  zc_status status = call(session, [&](ApiSession &session) -> Status {
    ZC_RETURN_IF_ERROR((session.*body)());
    isStopped = session.stoppedBy() != 0;
    return isStopped ? Status(StatusCode::Cancelled,
                              "the evaluation was stopped, as was wished")
                     : Status();
  });
  return isStopped ? ZC_STOPPED : status;
}

zc_status zc_eval(zc_session *session) {
  return evaluate(session, &ApiSession::evaluate);
}

zc_status zc_eval_data(zc_session *session) {
  return evaluate(session, &ApiSession::evaluateData);
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
  return session && session->body && session->body->isPrepared()
             ? session->body->states().all().size()
             : 0;
}

zc_status zc_state_info(zc_session *session, size_t index,
                        zc_tensor_info *info) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(body.checkPrepared());
    ZC_ASSIGN_OR_RETURN(const SessionStates::Entry *entry,
                        at(body.states().all(), index));
    return fillFrom(info, *entry);
  });
}

zc_status zc_find_state(zc_session *session, const char *name,
                        zc_tensor_info *info) {
  return call(session, [&](ApiSession &body) -> Status {
    ZC_RETURN_IF_ERROR(checkGiven(name, "name"));
    ZC_RETURN_IF_ERROR(body.checkPrepared());
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
    FileLimitHeld held;
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
    FileLimitHeld held;
    return body.exportWeights(path);
  });
}
