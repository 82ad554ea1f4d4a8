#include "runtime/Driver/Metrics.h"
#include "runtime/Io/RunLog.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <iterator>

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

double ExpertTokens::balance() const {
  double sum = 0;
  const auto layers = int64_t(rows.size()) / std::max<int64_t>(1, experts);
  for (int64_t layer = 0; layer < layers; ++layer) {
    const double *first = rows.data() + layer * experts;
    double all = 0;
    for (int64_t expert = 0; expert < experts; ++expert)
      all += first[expert];
    double most = *std::max_element(first, first + experts);
    sum += all > 0 ? most * double(experts) / all : 1;
  }
  return layers > 0 ? sum / double(layers) : 1;
}

Result<std::optional<ExpertTokens>>
readExpertTokens(Executor &executor, const plan::Program &program) {
  for (const plan::Output &output : program.outputs()) {
    if (output.kind() != plan::METRIC || output.name() != "moe_tokens")
      continue;
    const plan::TensorType &type = program.buffers(output.buffer()).type();
    if (type.dims_size() != 2 || type.dtype() != plan::F32)
      continue;
    ZC_ASSIGN_OR_RETURN(uint64_t count, elementCount(type));
    std::vector<float> numbers(count);
    ZC_RETURN_IF_ERROR(executor.read(program, output.buffer(), numbers.data()));
    ExpertTokens tokens;
    tokens.experts = type.dims(1);
    tokens.rows.assign(numbers.begin(), numbers.end());
    ZC_ASSIGN_OR_RETURN(std::optional<Metric> overflow,
                        readMetric(executor, program, "moe_overflow"));
    if (overflow)
      tokens.overflow = overflow->value;
    return std::optional(std::move(tokens));
  }
  return std::optional<ExpertTokens>();
}

Result<std::vector<double>> readGradientCounts(Executor &executor,
                                               const plan::Program &program) {
  std::vector<double> counts;
  for (const plan::Output &output : program.outputs()) {
    if (output.kind() != plan::METRIC || output.name() != "gradient_counts")
      continue;
    const plan::TensorType &type = program.buffers(output.buffer()).type();
    if (type.dims_size() != 1 || type.dtype() != plan::F32 ||
        type.dims(0) != int64_t(std::size(kGradientEdges)) + 2)
      continue;
    std::vector<float> numbers(size_t(type.dims(0)));
    ZC_RETURN_IF_ERROR(executor.read(program, output.buffer(), numbers.data()));
    counts.assign(numbers.begin(), numbers.end());
  }
  return counts;
}

} // namespace zc
