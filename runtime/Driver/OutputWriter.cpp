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

OutputWriter::OutputWriter(const EvaluationProgram &holder,
                           const plan::Output &output, std::string path,
                           const Mesh &mesh, uint32_t microBatches,
                           int64_t samples)
    : program(holder.program), output(&output), thePath(std::move(path)),
      samples(samples),
      division(output, holder.program->buffers(output.buffer()).type(), mesh,
               holder.role) {
  const plan::TensorType &type = program->buffers(output.buffer()).type();
  inner = elementBytes(type.dtype());
  const std::vector<int64_t> &dims = division.wholeDims();
  for (int i = 0; i < int(dims.size()); ++i)
    if (i != output.batch_dim())
      (i < output.batch_dim() ? outer : inner) *= uint64_t(dims[size_t(i)]);
  const size_t bytes = *byteCount(type);
  mine.assign(microBatches, std::string(bytes, '\0'));
  isJoined = division.ranks().size() > 1 || division.ranks().front() != 0;
  if (isJoined) {
    parts.assign(bytes * size_t(mesh.ranks()), '\0');
    batch.assign(bytes * division.ranks().size(), '\0');
  }
}

Status OutputWriter::openFile() {
  const plan::TensorType &type = program->buffers(output->buffer()).type();
  std::vector<int64_t> dims = division.wholeDims();
  if (output->batch_dim() >= 0)
    dims[output->batch_dim()] = samples;
  if (output->batch_dim() > 0)
    whole.assign(outer * uint64_t(samples) * inner, '\0');
  ZC_ASSIGN_OR_RETURN(AtomicFile opened, AtomicFile::create(thePath));
  file.emplace(std::move(opened));
  std::string header = makeNpyHeader(fileType(type.dtype()), dims);
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
    OutputWriter writer(holder, output, folder + "/" + name + ".npy", mesh,
                        microBatches, samples);
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

Status OutputWriter::read(Executor &executor, const plan::Call &call) {
  if (&executor.role().programs(int(call.program())) != program)
    return Status();
  return executor.read(*program, output->buffer(),
                       mine[call.micro_batch()].data(),
                       slotsOf(*program, call.slots()));
}

/// Puts the micro-batch together, whose `part` is this rank's.
Status OutputWriter::joinBatch(World &world, std::string &part) {
  if (!isJoined) {
    batch.swap(part);
    part.resize(batch.size());
    return Status();
  }
  ZC_RETURN_IF_ERROR(
      world.all().allGather(part.data(), parts.data(), part.size()));
  for (size_t i = 0; i < division.ranks().size(); ++i)
    division.place(i, parts.data() + size_t(division.ranks()[i]) * part.size(),
                   batch.data());
  return Status();
}

Status OutputWriter::append(World &world, int64_t count, int64_t each) {
  for (std::string &part : mine) {
    const int64_t taken = std::min(each, count);
    if (taken == 0) // behind the last sample
      break;
    count -= taken;
    ZC_RETURN_IF_ERROR(joinBatch(world, part));
    if (file)
      ZC_RETURN_IF_ERROR(appendBatch(taken));
  }
  return Status();
}

Status OutputWriter::appendBatch(int64_t count) {
  int batchDim = output->batch_dim();
  bool first = done == 0;
  int64_t before = done;
  done += count;
  if (batchDim < 0) { // belongs to no sample: the first one speaks for all
    isOfBatch |= !first && batch != whole;
    if (!first)
      return Status();
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
  plan::DataType type = program->buffers(output->buffer()).type().dtype();
  if (type != plan::BF16)
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
