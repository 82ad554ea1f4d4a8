#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <set>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

/// Bytes of the region that the buffer's offset is in; in a ring, of a slot.
Result<uint64_t> regionBytes(const plan::Buffer &buffer,
                             const plan::Program &program,
                             const plan::Role &role) {
  switch (buffer.space()) {
  case plan::PERSISTENT:
    return role.persistent_bytes();
  case plan::OFFLOADED:
    return role.offloaded_bytes();
  case plan::FLIGHT:
    if (buffer.ring() >= uint32_t(role.rings_size()))
      return bad("it is in ring ", buffer.ring(), " of ", role.rings_size());
    return role.rings(int(buffer.ring())).slot_bytes();
  default:
    return program.transient_bytes();
  }
}

Status verifyBuffer(const plan::Buffer &buffer, const plan::Program &program,
                    const plan::Role &role) {
  if (!plan::Space_IsValid(buffer.space()))
    return bad("it is in no region");
  if (!plan::MemoryClass_IsValid(buffer.memory_class()))
    return bad("it is of no memory class");
  ZC_ASSIGN_OR_RETURN(uint64_t bytes, byteCount(buffer.type()));
  ZC_ASSIGN_OR_RETURN(uint64_t region, regionBytes(buffer, program, role));
  if (buffer.offset() > region || bytes > region - buffer.offset())
    return bad("bytes ", buffer.offset(), " to ", buffer.offset(), " + ", bytes,
               " lie outside of the region's ", region);
  if (buffer.offset() % elementBytes(buffer.type().dtype()) != 0)
    return bad("its offset ", buffer.offset(),
               " is not aligned for its elements");
  if (buffer.offloaded() && buffer.space() != plan::FLIGHT)
    return bad("it is in the second memory, but in no ring there");
  if (buffer.first_use() > buffer.last_use())
    return bad("it is last used before it is first used");
  return Status();
}

Status verifyBatchDim(int32_t batchDim, const plan::Buffer &buffer) {
  if (batchDim < -1 || batchDim >= buffer.type().dims_size())
    return bad("its batch dim is ", batchDim, " of ",
               printDims(buffer.type().dims()));
  return Status();
}

Status verifyInput(const plan::Program &program, const plan::Input &input,
                   const Mesh &mesh) {
  if (input.buffer() >= uint32_t(program.buffers_size()))
    return bad("it is buffer ", input.buffer());
  const plan::Buffer &buffer = program.buffers(input.buffer());
  if (isOffloaded(buffer))
    return bad("it is offloaded");
  ZC_RETURN_IF_ERROR(verifyBatchDim(input.batch_dim(), buffer));
  ZC_RETURN_IF_ERROR(verifyInputSharding(input, buffer.type(), mesh));
  if (input.has_range() && !isInteger(buffer.type().dtype()))
    return bad("it has a range but is ", printType(buffer.type()));
  if (input.has_range() && input.range().min() > input.range().max())
    return bad("its range is empty");
  if (input.is_sample_weight() &&
      (buffer.type().dtype() != plan::F32 || buffer.type().dims_size() != 1 ||
       input.batch_dim() != 0))
    return bad("the samples' weights are ", printType(buffer.type()));
  return Status();
}

/// Returns how many samples the inputs have, or -1 when none counts samples.
Result<int64_t> verifyInputs(const plan::Program &program, const Mesh &mesh) {
  std::set<std::string> names;
  const plan::Input *first = nullptr; // that counts samples
  int64_t batch = -1;
  for (const plan::Input &input : program.inputs()) {
    if (input.name().empty() || !names.insert(input.name()).second)
      return bad("an input is unnamed or there are two '", input.name(), "'");
    if (Status status = verifyInput(program, input, mesh); !status.ok())
      return status.withContext("input '" + input.name() + "'");
    if (input.batch_dim() < 0)
      continue;
    int64_t size =
        program.buffers(input.buffer()).type().dims(input.batch_dim());
    if (size < 1 || (batch >= 0 && size != batch))
      return bad("input '", input.name(), "' has ", size,
                 " samples, another input ", batch);
    if (first &&
        !std::equal(input.batch_axes().begin(), input.batch_axes().end(),
                    first->batch_axes().begin(), first->batch_axes().end()))
      return bad("inputs '", input.name(), "' and '", first->name(),
                 "' divide their samples differently");
    first = &input;
    batch = size;
  }
  return batch;
}

/// The most elements of a metric that is no scalar.
constexpr uint64_t kMostNumbers = 1 << 20;

Status verifyOutput(const plan::Program &program, const plan::Output &output,
                    int64_t batch, const Mesh &mesh) {
  if (output.buffer() >= uint32_t(program.buffers_size()))
    return bad("it is buffer ", output.buffer());
  if (!plan::OutputKind_IsValid(output.kind()))
    return bad("it is of no kind");
  const plan::Buffer &buffer = program.buffers(output.buffer());
  if (isOffloaded(buffer))
    return bad("it is offloaded");
  ZC_RETURN_IF_ERROR(verifyBatchDim(output.batch_dim(), buffer));
  ZC_RETURN_IF_ERROR(verifyOutputSharding(output, buffer.type(), mesh));
  // Readers take as many samples out of it as were fed.
  int64_t samples =
      output.batch_dim() < 0 ? -1 : buffer.type().dims(output.batch_dim());
  if (samples >= 0 && samples != batch)
    return bad("it has ", samples, " samples, the inputs ",
               batch < 0 ? std::string("count none") : strCat("have ", batch));
  if (output.kind() == plan::METRIC) {
    // These metrics have a number for each expert of each layer, or for each
    // class of magnitudes of gradients.
    const bool isList =
        output.name() == "moe_tokens" || output.name() == "gradient_counts";
    uint64_t most = isList ? kMostNumbers : 1;
    uint64_t count = *elementCount(buffer.type());
    bool scalar = count >= 1 && count <= most;
    bool real = buffer.type().dtype() == plan::F32 ||
                buffer.type().dtype() == plan::F64;
    if (!scalar || !real)
      return bad("a metric is ", printType(buffer.type()));
  }
  return Status();
}

Status verifyOutputs(const plan::Program &program, int64_t batch,
                     const Mesh &mesh) {
  // A metric may be named like an output of the model.
  std::set<std::pair<int, std::string>> names;
  for (const plan::Output &output : program.outputs()) {
    if (output.name().empty() ||
        !names.insert({output.kind(), output.name()}).second)
      return bad("an output is unnamed or there are two '", output.name(), "'");
    if (Status status = verifyOutput(program, output, batch, mesh);
        !status.ok())
      return status.withContext("output '" + output.name() + "'");
  }
  return Status();
}

/// An instruction waits for earlier ones of other streams.
Status verifyWaits(const plan::Program &program, int index) {
  const plan::Instruction &instruction = program.instructions(index);
  for (uint32_t other : instruction.waits())
    if (other >= uint32_t(index) ||
        program.instructions(int(other)).stream() == instruction.stream())
      return bad("it waits for instruction ", other);
  return Status();
}

} // namespace

Status verifyProgram(const plan::Program &program, const plan::Role &role,
                     const Mesh &mesh) {
  for (int i = 0; i < program.buffers_size(); ++i)
    if (Status status = verifyBuffer(program.buffers(i), program, role);
        !status.ok())
      return status.withContext(strCat("buffer ", i));
  ZC_ASSIGN_OR_RETURN(int64_t batch, verifyInputs(program, mesh));
  ZC_RETURN_IF_ERROR(verifyOutputs(program, batch, mesh));
  for (int i = 0; i < program.instructions_size(); ++i) {
    const plan::Instruction &instruction = program.instructions(i);
    Status status = verifyInstruction(program, instruction, mesh);
    if (status.ok())
      status = verifyWaits(program, i);
    if (!status.ok())
      return status.withContext(
          strCat("instruction ", i, " (", instruction.label(), ")"));
  }
  return Status();
}

} // namespace zc
