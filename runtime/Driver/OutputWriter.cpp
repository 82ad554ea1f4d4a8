#include "runtime/Driver/OutputWriter.h"
#include "runtime/Driver/Evaluator.h"
#include "runtime/Plan/Npy.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace zc {

std::string sanitizeName(const std::string &name) {
  std::string safe = name;
  for (char &c : safe) {
    bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                 (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain)
      c = '_';
  }
  return safe;
}

/// The type in the file: NumPy has no bfloat16.
static plan::DataType fileType(plan::DataType type) {
  return type == plan::BF16 ? plan::F32 : type;
}

Status OutputWriter::openFile() {
  std::vector<int64_t> dims = batches.dims();
  const int batchDim = batches.output().batch_dim();
  if (batchDim >= 0)
    dims[size_t(batchDim)] = samples;
  if (batchDim > 0)
    whole.assign(batches.outer() * uint64_t(samples) * batches.inner(), '\0');
  ZC_ASSIGN_OR_RETURN(AtomicFile opened, AtomicFile::create(thePath));
  file.emplace(std::move(opened));
  std::string header = makeNpyHeader(fileType(batches.type().dtype()), dims);
  return file->write(header.data(), header.size());
}

Result<std::vector<OutputWriter>>
OutputWriter::createAll(const Artifact &artifact, const std::string &folder,
                        int64_t samples, const Mesh &mesh, bool isFirst) {
  std::vector<OutputWriter> writers;
  std::set<std::string> names;
  const uint32_t microBatches = ordersOf(artifact).evaluated;
  auto add = [&](const EvaluationProgram &holder,
                 const plan::Output &output) -> Status {
    std::string name = sanitizeName(output.name());
    if (!names.insert(name).second)
      return makeError(StatusCode::InvalidArgument,
                       "two outputs of the model would be written to '", name,
                       ".npy'");
    OutputWriter writer(OutputBatch(holder, output, mesh, microBatches,
                                    OutputBatch::For::First),
                        folder + "/" + name + ".npy", samples);
    if (isFirst)
      ZC_RETURN_IF_ERROR(writer.openFile());
    writers.push_back(std::move(writer));
    return Status();
  };
  for (const EvaluationProgram &holder : evaluationOf(artifact))
    for (const plan::Output &output : holder.program->outputs())
      if (output.kind() == plan::OUTPUT)
        ZC_RETURN_IF_ERROR(add(holder, output));
  return writers;
}

Status OutputWriter::append(World &world, int64_t count, int64_t each) {
  for (size_t part = 0; part < batches.microBatches(); ++part) {
    const int64_t taken = std::min(each, count);
    if (taken == 0) // behind the last sample
      break;
    count -= taken;
    ZC_ASSIGN_OR_RETURN(const std::string *batch, batches.join(world, part));
    if (file)
      ZC_RETURN_IF_ERROR(appendBatch(*batch, taken));
  }
  return Status();
}

Status OutputWriter::appendBatch(const std::string &batch, int64_t count) {
  const int batchDim = batches.output().batch_dim();
  const uint64_t outer = batches.outer(), inner = batches.inner();
  bool first = done == 0;
  int64_t before = done;
  done += count;
  if (batchDim < 0) { // belongs to no sample: the first one speaks for all
    isOfBatch |= !first && batch != whole;
    if (first)
      whole = batch;
    return Status();
  }
  if (batchDim == 0)
    return writeElements(batch.data(), uint64_t(count) * inner);
  if (batch.empty())
    return Status();
  uint64_t batchSize = batch.size() / (outer * inner);
  for (uint64_t o = 0; o < outer; ++o)
    std::memcpy(whole.data() + (o * uint64_t(samples) + before) * inner,
                batch.data() + o * batchSize * inner, uint64_t(count) * inner);
  return Status();
}

Status OutputWriter::writeElements(const char *data, uint64_t bytes) {
  if (batches.type().dtype() != plan::BF16)
    return file->write(data, bytes);
  std::string widened(2 * bytes, '\0'); // a bfloat16 is a float's upper half
  for (uint64_t i = 0; i < bytes; i += 2)
    std::memcpy(widened.data() + 2 * i + 2, data + i, 2);
  return file->write(widened.data(), widened.size());
}

Status OutputWriter::finish() {
  if (!file)
    return Status();
  if (!whole.empty())
    ZC_RETURN_IF_ERROR(writeElements(whole.data(), whole.size()));
  return file->commit();
}

} // namespace zc
