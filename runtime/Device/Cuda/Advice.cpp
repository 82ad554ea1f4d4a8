#include "runtime/Device/Cuda/Advice.h"

namespace zc::cuda {

const char *printType(kernels::ElementType type) {
  switch (type) {
  case kernels::ElementType::BF16:
    return "bfloat16";
  case kernels::ElementType::F16:
    return "float16";
  default:
    return "float32";
  }
}

std::string printDims(const std::vector<int64_t> &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += strCat(i ? ", " : "", dims[i]);
  return text + "]";
}

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
