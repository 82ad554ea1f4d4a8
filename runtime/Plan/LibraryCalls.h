// Library calls of plans, as the rooms of their kinds (kernels/Calls) see them.
#ifndef ZC_RUNTIME_PLAN_LIBRARYCALLS_H
#define ZC_RUNTIME_PLAN_LIBRARYCALLS_H

#include "kernels/Calls/Calls.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// The schema's element type as kernels know it, and back.
kernels::ElementType elementType(plan::DataType type);
plan::DataType dataType(kernels::ElementType type);

/// The call with its tensors. Its buffers are some of the program's.
kernels::LibraryCall describeCall(const plan::Program &program,
                                  const plan::LibraryCall &call);

/// Whether the instruction is a library call of the room's kind:
/// `isCall<kernels::MatmulCall>`.
template <typename Room> bool isCall(const plan::Instruction &instruction) {
  const kernels::CallKind *kind =
      kernels::findCallKind(instruction.library().op());
  return kind && kind->name == std::string_view(Room::kName);
}

/// The rate and the type by which an instruction of a verified program works.
kernels::CallWork workOf(const plan::Program &program,
                         const plan::Instruction &instruction);

/// A call of a program whose buffers are sound.
Status verifyLibraryCall(const plan::Program &program,
                         const plan::LibraryCall &call);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_LIBRARYCALLS_H
