#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

Result<const plan::Buffer *> anyBufferAt(const plan::Program &program,
                                         uint32_t index) {
  if (index >= uint32_t(program.buffers_size()))
    return bad("there is no buffer ", index);
  return &program.buffers(index);
}

/// One that the device reaches.
Result<const plan::Buffer *> bufferAt(const plan::Program &program,
                                      uint32_t index) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer, anyBufferAt(program, index));
  if (isOffloaded(*buffer))
    return bad("buffer ", index, " is offloaded");
  return buffer;
}

/// One of the second memory, which the host reaches.
Status verifyOfHost(const plan::Program &program, uint32_t index) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer, anyBufferAt(program, index));
  if (buffer->space() != plan::OFFLOADED)
    return bad("buffer ", index, " is not offloaded");
  return Status();
}

Status verifyKernel(const plan::Program &program, const plan::KernelCall &call,
                    bool onHost) {
  auto inSymbol = [](char c) {
    return c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const std::string &symbol = call.symbol();
  if (symbol.empty() || !std::all_of(symbol.begin(), symbol.end(), inSymbol))
    return bad("'", symbol, "' is no symbol");
  if (call.num_inputs() > uint32_t(call.buffers_size()))
    return bad("it has ", call.num_inputs(), " inputs among ",
               call.buffers_size(), " buffers");
  if (call.grid() <= 0)
    return bad("its grid is ", call.grid());
  for (uint32_t index : call.buffers())
    ZC_RETURN_IF_ERROR(onHost ? verifyOfHost(program, index)
                              : bufferAt(program, index).status());
  return Status();
}

Status verifyCopy(const plan::Program &program, const plan::CopyCall &call) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *source,
                      anyBufferAt(program, call.source()));
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *destination,
                      anyBufferAt(program, call.destination()));
  if (isOffloaded(*source) && isOffloaded(*destination))
    return bad("it copies what is offloaded to where that is");
  if (*byteCount(source->type()) != *byteCount(destination->type()))
    return bad("it copies ", printType(source->type()), " to ",
               printType(destination->type()));
  return Status();
}

/// Kernels belong to the one team of threads.
bool mayBeOnStream(const plan::Instruction &instruction) {
  switch (instruction.stream()) {
  case streams::kMain:
    return true;
  case streams::kCollectives:
    return instruction.has_collective();
  case streams::kFetches:
  case streams::kStores:
    return instruction.has_copy();
  case streams::kHost:
    return instruction.has_kernel();
  default:
    return false;
  }
}

} // namespace

Status verifyInstruction(const plan::Program &program,
                         const plan::Instruction &instruction,
                         const Mesh &mesh) {
  if (!mayBeOnStream(instruction))
    return bad("it is on stream ", instruction.stream());
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return verifyKernel(program, instruction.kernel(), isOnHost(instruction));
  case plan::Instruction::kLibrary:
    return verifyLibraryCall(program, instruction.library());
  case plan::Instruction::kCopy:
    return verifyCopy(program, instruction.copy());
  case plan::Instruction::kCollective:
    return verifyCollective(program, instruction.collective(), mesh);
  case plan::Instruction::KIND_NOT_SET:
    break;
  }
  return bad("it is of a kind that this version does not know");
}

} // namespace zc
