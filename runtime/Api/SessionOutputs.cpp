#include "runtime/Api/SessionOutputs.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstring>

namespace zc {

SessionOutputs::SessionOutputs(const plan::Role &role, const plan::Order &order)
    : role(role) {
  for (const plan::Program *program : programsOf(role, order))
    for (const plan::Output &output : program->outputs()) {
      if (output.kind() != plan::OUTPUT)
        continue;
      const plan::TensorType &type = program->buffers(output.buffer()).type();
      NamedTensor tensor;
      tensor.name = output.name();
      tensor.type = type.dtype();
      tensor.dims.assign(type.dims().begin(), type.dims().end());
      tensor.batchDim = output.batch_dim();
      Source source;
      source.program = program;
      source.output = &output;
      source.inner = elementBytes(type.dtype());
      for (int i = 0; i < type.dims_size(); ++i)
        if (i != output.batch_dim())
          (i < output.batch_dim() ? source.outer : source.inner) *=
              uint64_t(type.dims(i));
      if (output.batch_dim() >= 0) {
        source.batch = type.dims(output.batch_dim());
        tensor.dims[size_t(output.batch_dim())] = 0;
      }
      source.part.assign(*byteCount(type), '\0');
      tensors.push_back(std::move(tensor));
      sources.push_back(std::move(source));
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
    source.whole.assign(
        source.outer * source.inner * (counts ? uint64_t(count) : 1), '\0');
  }
}

Status SessionOutputs::take(Executor &executor, const plan::Call &call,
                            int64_t first) {
  const plan::Program *program = &role.programs(int(call.program()));
  for (Source &source : sources) {
    const bool counts = source.output->batch_dim() >= 0;
    if (source.program != program || (!counts && source.isTaken))
      continue;
    source.isTaken = true;
    ZC_RETURN_IF_ERROR(executor.read(*program, source.output->buffer(),
                                     source.part.data(),
                                     slotsOf(*program, call.slots())));
    if (!counts) {
      source.whole = source.part;
      continue;
    }
    const int64_t count = std::min(source.batch, samples - first);
    for (uint64_t o = 0; count > 0 && o < source.outer; ++o)
      std::memcpy(source.whole.data() +
                      (o * uint64_t(samples) + uint64_t(first)) * source.inner,
                  source.part.data() +
                      o * uint64_t(source.batch) * source.inner,
                  uint64_t(count) * source.inner);
  }
  return Status();
}

} // namespace zc
