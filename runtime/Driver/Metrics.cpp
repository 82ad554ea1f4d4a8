#include "runtime/Driver/Metrics.h"
#include "runtime/Io/RunLog.h"

namespace zc {

Result<std::optional<Metric>> readMetric(Executor &executor,
                                         const plan::Program &program,
                                         std::string_view name) {
  for (const plan::Output &output : program.outputs()) {
    if (output.kind() != plan::METRIC || output.name() != name)
      continue;
    if (program.buffers(output.buffer()).type().dtype() == plan::F32) {
      float value = 0;
      ZC_RETURN_IF_ERROR(executor.read(program, output.buffer(), &value));
      return std::optional(Metric{value, exactDecimal(value)});
    }
    double value = 0;
    ZC_RETURN_IF_ERROR(executor.read(program, output.buffer(), &value));
    return std::optional(Metric{value, exactDecimal(value)});
  }
  return std::optional<Metric>();
}

} // namespace zc
