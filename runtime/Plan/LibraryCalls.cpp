#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <utility>

namespace zc {
namespace {

using Element = kernels::ElementType;

constexpr std::pair<plan::DataType, Element> kTypes[] = {
    {plan::F32, Element::F32},   {plan::F64, Element::F64},
    {plan::F16, Element::F16},   {plan::BF16, Element::BF16},
    {plan::BOOL, Element::Bool}, {plan::I8, Element::I8},
    {plan::U8, Element::U8},     {plan::I16, Element::I16},
    {plan::U16, Element::U16},   {plan::I32, Element::I32},
    {plan::U32, Element::U32},   {plan::I64, Element::I64},
    {plan::U64, Element::U64}};

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

kernels::CallTensor describe(const plan::Program &program, uint32_t index) {
  const plan::Buffer &buffer = program.buffers(int(index));
  const uint64_t space = uint64_t(buffer.space()) << 1 | buffer.versioned();
  const uint64_t slot =
      uint64_t(buffer.ring()) << 32 | uint64_t(uint32_t(buffer.age()));
  return {elementType(buffer.type().dtype()),
          {buffer.type().dims().begin(), buffer.type().dims().end()},
          {space, slot, buffer.offset()}};
}

Status verifyBuffer(const plan::Program &program, uint32_t index) {
  if (index >= uint32_t(program.buffers_size()))
    return bad("there is no buffer ", index);
  const plan::Buffer &buffer = program.buffers(int(index));
  if (isOffloaded(buffer))
    return bad("buffer ", index, " is offloaded");
  for (int64_t dim : buffer.type().dims())
    if (dim < 1 || dim > kernels::kMostOfDim)
      return bad("buffer ", index, " is ", printType(buffer.type()));
  return Status();
}

Status verifyWorkspace(const plan::Program &program, uint32_t index) {
  ZC_RETURN_IF_ERROR(verifyBuffer(program, index));
  const plan::Buffer &buffer = program.buffers(int(index));
  if (buffer.type().dtype() != plan::U8 || buffer.type().dims_size() != 1)
    return bad("its workspace is ", printType(buffer.type()));
  if (buffer.offset() % kBufferAlignment != 0)
    return bad("its workspace begins at ", buffer.offset());
  return Status();
}

} // namespace

Element elementType(plan::DataType type) {
  for (auto [ours, theirs] : kTypes)
    if (ours == type)
      return theirs;
  return Element::F32;
}

plan::DataType dataType(Element type) {
  for (auto [ours, theirs] : kTypes)
    if (theirs == type)
      return ours;
  return plan::DATA_TYPE_UNSPECIFIED;
}

kernels::LibraryCall describeCall(const plan::Program &program,
                                  const plan::LibraryCall &call) {
  kernels::LibraryCall result;
  result.op = call.op();
  for (uint32_t index : call.inputs())
    result.inputs.push_back(describe(program, index));
  for (uint32_t index : call.outputs())
    result.outputs.push_back(describe(program, index));
  for (const plan::CallAttribute &each : call.attributes())
    result.attributes.push_back(
        {each.name(),
         {each.integers().begin(), each.integers().end()},
         each.number(),
         each.text()});
  result.hasWorkspace = call.has_workspace();
  return result;
}

kernels::CallWork workOf(const plan::Program &program,
                         const plan::Instruction &instruction) {
  const kernels::CallKind *kind =
      kernels::findCallKind(instruction.library().op());
  return kind ? kind->workOf(describeCall(program, instruction.library()))
              : kernels::CallWork();
}

Status verifyLibraryCall(const plan::Program &program,
                         const plan::LibraryCall &call) {
  const kernels::CallKind *kind = kernels::findCallKind(call.op());
  if (!kind)
    return bad("this version has no library call for '", call.op(), "'");
  for (uint32_t index : call.inputs())
    ZC_RETURN_IF_ERROR(verifyBuffer(program, index));
  for (uint32_t index : call.outputs())
    ZC_RETURN_IF_ERROR(verifyBuffer(program, index));
  if (call.has_workspace())
    ZC_RETURN_IF_ERROR(verifyWorkspace(program, call.workspace()));
  const kernels::LibraryCall described = describeCall(program, call);
  std::string error = kernels::checkAttributes(*kind, described);
  if (!error.empty()) // of another version of zc, perhaps
    return bad(error, "; compile the model again");
  error = kind->check(described);
  return error.empty() ? Status() : bad(error);
}

} // namespace zc
