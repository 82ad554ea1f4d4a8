#include "runtime/Driver/OutputBatch.h"
#include "runtime/Plan/Types.h"

namespace zc {

OutputBatch::OutputBatch(const EvaluationProgram &holder,
                         const plan::Output &output, const Mesh &mesh,
                         uint32_t microBatches, For whom)
    : program(holder.program), theOutput(&output),
      division(output, holder.program->buffers(output.buffer()).type(), mesh,
               holder.role),
      isJoined(division.ranks().size() > 1 || division.ranks().front() != 0) {
  // Ranks of other roles have nothing of it.
  for (int64_t rank = 0; whom == For::All && rank < mesh.ranks(); ++rank)
    isJoined |= mesh.role(rank) != holder.role;
  theInner = elementBytes(type().dtype());
  for (int i = 0; i < int(dims().size()); ++i)
    if (i != output.batch_dim())
      (i < output.batch_dim() ? theOuter : theInner) *=
          uint64_t(dims()[size_t(i)]);
  const size_t bytes = *byteCount(type());
  mine.assign(microBatches, std::string(bytes, '\0'));
  if (isJoined) {
    parts.assign(bytes * size_t(mesh.ranks()), '\0');
    whole.assign(bytes * division.ranks().size(), '\0');
  }
}

Status OutputBatch::read(Executor &executor, const plan::Call &call) {
  if (&executor.role().programs(int(call.program())) != program)
    return Status();
  return executor.read(*program, theOutput->buffer(),
                       mine[call.micro_batch()].data(),
                       slotsOf(*program, call.slots()));
}

Result<const std::string *> OutputBatch::join(World &world, size_t microBatch) {
  const std::string &part = mine[microBatch];
  if (!isJoined)
    return &part;
  ZC_RETURN_IF_ERROR(
      world.all().allGather(part.data(), parts.data(), part.size()));
  for (size_t i = 0; i < division.ranks().size(); ++i)
    division.place(i, parts.data() + size_t(division.ranks()[i]) * part.size(),
                   whole.data());
  return &whole;
}

} // namespace zc
