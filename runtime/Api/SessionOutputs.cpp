#include "runtime/Api/SessionOutputs.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstring>

namespace zc {

SessionOutputs::SessionOutputs(const Artifact &artifact, const Mesh &mesh) {
  const uint32_t microBatches = ordersOf(artifact).evaluated;
  for (const EvaluationProgram &holder : evaluationOf(artifact))
    for (const plan::Output &output : holder.program->outputs()) {
      if (output.kind() != plan::OUTPUT)
        continue;
      sources.push_back({OutputBatch(holder, output, mesh, microBatches,
                                     OutputBatch::For::All),
                         ""});
      NamedTensor tensor;
      tensor.name = output.name();
      tensor.type = sources.back().batches.type().dtype();
      tensor.dims = sources.back().batches.dims();
      tensor.batchDim = output.batch_dim();
      if (output.batch_dim() >= 0)
        tensor.dims[size_t(output.batch_dim())] = 0;
      tensors.push_back(std::move(tensor));
    }
}

const char *SessionOutputs::data(const std::string &name) const {
  for (size_t i = 0; isDone && i < tensors.size(); ++i)
    if (tensors[i].name == name)
      return sources[i].whole.data();
  return nullptr;
}

void SessionOutputs::begin(int64_t count) {
  samples = count;
  isDone = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Source &source = sources[i];
    source.isTaken = false;
    const bool counts = tensors[i].batchDim >= 0;
    if (counts)
      tensors[i].dims[size_t(tensors[i].batchDim)] = count;
    source.whole.assign(source.batches.outer() * source.batches.inner() *
                            (counts ? uint64_t(count) : 1),
                        '\0');
  }
}

Status SessionOutputs::take(Executor &executor, const plan::Call &call) {
  for (Source &source : sources)
    ZC_RETURN_IF_ERROR(source.batches.read(executor, call));
  return Status();
}

Status SessionOutputs::append(World &world, int64_t first, int64_t each) {
  for (Source &source : sources)
    for (size_t part = 0; part < source.batches.microBatches(); ++part) {
      const int64_t begin = first + int64_t(part) * each;
      if (begin >= samples)
        break;
      ZC_ASSIGN_OR_RETURN(const std::string *batch,
                          source.batches.join(world, part));
      place(source, *batch, begin);
    }
  return Status();
}

void SessionOutputs::place(Source &source, const std::string &batch,
                           int64_t first) {
  const int batchDim = source.batches.output().batch_dim();
  if (batchDim < 0) { // the first one speaks for all
    if (!source.isTaken)
      source.whole = batch;
    source.isTaken = true;
    return;
  }
  const auto size = uint64_t(source.batches.dims()[size_t(batchDim)]);
  const uint64_t inner = source.batches.inner();
  const uint64_t count = std::min(size, uint64_t(samples - first));
  for (uint64_t o = 0; o < source.batches.outer(); ++o)
    std::memcpy(source.whole.data() +
                    (o * uint64_t(samples) + uint64_t(first)) * inner,
                batch.data() + o * size * inner, count * inner);
}

} // namespace zc
