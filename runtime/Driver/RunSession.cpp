#include "runtime/Driver/RunSession.h"

namespace zc {

static StatusCode codeOf(zc_status status) {
  switch (status) {
  case ZC_OK:
    return StatusCode::Ok;
  case ZC_INVALID_ARGUMENT:
  case ZC_NOT_FINITE:
    return StatusCode::InvalidArgument;
  case ZC_NOT_FOUND:
    return StatusCode::NotFound;
  case ZC_CORRUPT:
    return StatusCode::Corrupt;
  case ZC_UNSUPPORTED:
    return StatusCode::Unsupported;
  case ZC_RESOURCE_EXHAUSTED:
    return StatusCode::ResourceExhausted;
  case ZC_IO_ERROR:
    return StatusCode::IoError;
  case ZC_DEADLINE_EXCEEDED:
    return StatusCode::DeadlineExceeded;
  case ZC_CANCELLED:
  case ZC_STOPPED:
    return StatusCode::Cancelled;
  case ZC_INTERNAL:
  case ZC_BUSY:
    return StatusCode::Internal;
  }
  return StatusCode::Internal;
}

Result<RunSession> RunSession::open(const std::string &artifact,
                                    ApiOptions options, ApiRun run) {
  zc_session *made = nullptr;
  const zc_status status =
      openRun(artifact, std::move(options), std::move(run), &made);
  RunSession session(made);
  ZC_RETURN_IF_ERROR(session.check(status));
  return session;
}

Status RunSession::check(zc_status status) const {
  return status == ZC_OK ? Status()
                         : Status(codeOf(status), zc_last_error(*this));
}

EvaluationRecord RunSession::evaluation() const {
  const std::string prefix = "eval_";
  EvaluationRecord record;
  record.step = zc_steps_done(*this);
  for (size_t i = 0; i < zc_metric_count(*this); ++i) {
    const std::string name = zc_metric_name(*this, i);
    if (name.rfind(prefix, 0) != 0)
      continue;
    double value = 0;
    zc_metric(*this, name.c_str(), &value);
    const std::string metric = name.substr(prefix.size());
    if (metric == "loss")
      record.loss = value;
    else if (metric == "accuracy")
      record.accuracy = value;
    else
      record.metrics.emplace_back(metric, value);
  }
  return record;
}

} // namespace zc
