#include "runtime/Device/Cuda/Advice.h"

namespace zc::cuda {

Status adviseOnLack(const Status &status, const std::string &library,
                    const std::string &what, const std::string &call) {
  if (status.code() != StatusCode::Unsupported)
    return status;
  return makeError(status.code(), library, " does not compute ", what, ": ",
                   status.message(),
                   "; generated kernels do if the model is compiled with "
                   "--libraries=-",
                   call);
}

} // namespace zc::cuda
