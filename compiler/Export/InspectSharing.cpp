//===- InspectSharing.cpp - memory by how much tensors share it -----------===//
#include "compiler/Export/InspectSharing.h"
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/BufferUse.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <list>

namespace zc {
namespace {

/// A transient buffer: its bytes, and the instructions that it lives for, both
/// ends included.
struct Tensor {
  uint64_t begin, end;
  uint32_t first, last;
};

/// The bytes of one tensor and of all that is written in its place.
struct Storage {
  uint64_t begin, end;
  uint32_t last;
};

std::vector<bool> findWritten(const plan::Program &program) {
  std::vector<bool> written(size_t(program.buffers_size()));
  for (const plan::Instruction &instruction : program.instructions()) {
    const BufferUse use = useOf(instruction);
    for (const auto &indices : {use.writes, use.alters, use.workspaces})
      for (uint32_t index : indices)
        written[index] = true;
  }
  for (const plan::Input &input : program.inputs())
    written[input.buffer()] = true;
  return written;
}

std::vector<Tensor> findTensors(const plan::Program &program,
                                const std::vector<bool> &written) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < program.buffers_size(); ++i) {
    const plan::Buffer &buffer = program.buffers(i);
    Result<uint64_t> bytes = byteCount(buffer.type());
    if (written[size_t(i)] && buffer.space() == plan::TRANSIENT && bytes.ok())
      tensors.push_back({buffer.offset(), buffer.offset() + *bytes,
                         buffer.first_use(), buffer.last_use()});
  }
  return tensors;
}

/// Offsets keep tensors apart that live at once: those that overlap are one in
/// the other's place.
uint64_t addStorages(std::vector<Tensor> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor &a, const Tensor &b) { return a.first < b.first; });
  std::list<Storage> living;
  uint64_t bytes = 0;
  for (const Tensor &tensor : tensors) {
    Storage joined{tensor.begin, tensor.end, tensor.last};
    for (auto each = living.begin(); each != living.end();) {
      const bool isOver = each->last < tensor.first;
      const bool isSame =
          !isOver && each->begin < tensor.end && tensor.begin < each->end;
      if (isOver)
        bytes += each->end - each->begin;
      if (isSame)
        joined = {std::min(joined.begin, each->begin),
                  std::max(joined.end, each->end),
                  std::max(joined.last, each->last)};
      each = isOver || isSame ? living.erase(each) : std::next(each);
    }
    living.push_back(joined);
  }
  for (const Storage &each : living)
    bytes += each.end - each.begin;
  return bytes;
}

} // namespace

SharingReport measureSharing(const plan::Program &program) {
  const std::vector<Tensor> tensors =
      findTensors(program, findWritten(program));
  SharingReport report;
  for (const Tensor &tensor : tensors)
    report.apart += tensor.end - tensor.begin;
  report.inPlace = addStorages(tensors);
  report.shared = program.transient_bytes();
  return report;
}

std::string printSharing(const SharingReport &report) {
  return strCat("  tensors beside the states: ", printSize(report.shared),
                "; without sharing by those of different times ",
                printSize(report.inPlace), ", without work in place either ",
                printSize(report.apart), "\n");
}

} // namespace zc
