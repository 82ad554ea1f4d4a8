//===- InspectUse.cpp - how long tensors live, what is copied, multiplied -===//
#include "compiler/Export/InspectUse.h"
#include "compiler/Export/InspectSharing.h"
#include "compiler/Export/TrainedStates.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace zc {
namespace {

/// Numbers of the update wait longest of all: a tensor so many times smaller
/// than the largest is not named.
constexpr uint64_t kSmallest = 64;

bool isActivation(const plan::Buffer &buffer) {
  return buffer.memory_class() == plan::ACTIVATIONS &&
         (buffer.space() == plan::TRANSIENT || buffer.space() == plan::FLIGHT);
}

std::string labelAt(const plan::Program &program, uint32_t instruction) {
  return int(instruction) < program.instructions_size()
             ? program.instructions(int(instruction)).label()
             : "";
}

bool isAway(const plan::Buffer &buffer) {
  return buffer.space() == plan::OFFLOADED ||
         (buffer.space() == plan::FLIGHT && buffer.offloaded());
}

} // namespace

Lifetimes measureLifetimes(const plan::Program &program) {
  Lifetimes lifetimes;
  uint64_t largest = 0;
  for (const plan::Buffer &buffer : program.buffers())
    if (Result<uint64_t> bytes = byteCount(buffer.type());
        isActivation(buffer) && bytes.ok())
      largest = std::max(largest, *bytes);
  const double length = std::max(1, program.instructions_size());
  for (const plan::Buffer &buffer : program.buffers()) {
    Result<uint64_t> bytes = byteCount(buffer.type());
    if (!isActivation(buffer) || !bytes.ok() || *bytes == 0)
      continue;
    const uint32_t span = buffer.last_use() - buffer.first_use();
    const size_t tenth =
        std::min<size_t>(size_t(10 * double(span) / length), 9);
    lifetimes.bytesByTenth[tenth] += *bytes;
    ++lifetimes.countByTenth[tenth];
    const bool isSmall = *bytes * kSmallest < largest;
    if (isSmall || (lifetimes.longest > 0 && span <= lifetimes.longest))
      continue;
    lifetimes.longest = span;
    lifetimes.longestFrom = labelAt(program, buffer.first_use());
    lifetimes.longestTo = labelAt(program, buffer.last_use());
  }
  return lifetimes;
}

CopyTraffic measureCopies(const plan::Manifest &manifest, int index) {
  CopyTraffic traffic;
  const plan::Role &role = manifest.roles(index);
  const RunCounts times = countRuns(manifest, index, /*isLate=*/false);
  for (int i = 0; i < role.programs_size(); ++i)
    for (const plan::Instruction &instruction :
         role.programs(i).instructions()) {
      if (!instruction.has_copy())
        continue;
      const plan::Buffer &from =
          role.programs(i).buffers(int(instruction.copy().source()));
      const plan::Buffer &to =
          role.programs(i).buffers(int(instruction.copy().destination()));
      Result<uint64_t> size = byteCount(from.type());
      const uint64_t bytes = size.ok() ? *size * times.programs[size_t(i)] : 0;
      if (isAway(to) && !isAway(from))
        traffic.away += bytes;
      else if (isAway(from) && !isAway(to))
        traffic.back += bytes;
    }
  return traffic;
}

ProductReport measureProducts(const plan::Manifest &manifest) {
  ProductReport report;
  for (const plan::Role &role : manifest.roles())
    for (const plan::Program &program : role.programs())
      for (const plan::Instruction &instruction : program.instructions()) {
        const auto product = workOf(program, instruction).product;
        if (!product || isEvaluation(program))
          continue;
        const std::array<int64_t, 3> dims = {product->m, product->n,
                                             product->k};
        ++report.count;
        report.inTiles +=
            std::all_of(dims.begin(), dims.end(),
                        [](int64_t dim) { return dim % 16 == 0; });
        const int64_t least = *std::min_element(dims.begin(), dims.end());
        if (report.count > 1 &&
            least >= *std::min_element(report.smallest.begin(),
                                       report.smallest.end()))
          continue;
        report.smallest = dims;
        report.label = instruction.label();
      }
  return report;
}

/// Only the program that has the most is told of.
std::string printUse(const plan::Manifest &manifest, int role) {
  std::string text;
  Lifetimes longest;
  uint64_t most = 0;
  SharingReport sharing;
  for (const plan::Program &program : manifest.roles(role).programs()) {
    Lifetimes found = measureLifetimes(program);
    const uint64_t bytes = std::accumulate(
        found.bytesByTenth.begin(), found.bytesByTenth.end(), uint64_t(0));
    if (bytes > most) {
      most = bytes;
      longest = found;
      sharing = measureSharing(program);
    }
  }
  if (most > 0)
    text += printSharing(sharing);
  if (longest.longest > 0) {
    text += "  activations by how long they live, in tenths of the program:";
    for (uint64_t bytes : longest.bytesByTenth)
      text += " " + printSize(bytes);
    text += strCat("\n  longest, ", longest.longest, " instructions: from ",
                   longest.longestFrom, " to ", longest.longestTo, "\n");
  }
  const CopyTraffic copies = measureCopies(manifest, role);
  if (copies.away + copies.back > 0)
    text +=
        strCat("  copied in a step: ", printSize(copies.away),
               " to the second memory, ", printSize(copies.back), " back\n");
  return text;
}

/// "48 of bfloat16, 96 of float8 E5M2 by float8 E4M3".
static std::string printProductTypes(const plan::Manifest &manifest) {
  std::map<std::string, int> counts;
  for (const plan::Role &role : manifest.roles())
    for (const plan::Program &program : role.programs())
      for (const plan::Instruction &instruction : program.instructions()) {
        if (!isCall<kernels::MatmulCall>(instruction) || isEvaluation(program))
          continue;
        const kernels::MatmulSpec spec = kernels::MatmulCall::specOf(
            describeCall(program, instruction.library()));
        const std::string a = kernels::nameOfFactor(spec.a.type),
                          b = kernels::nameOfFactor(spec.b.type);
        const bool hasBlocks = spec.aScale != kernels::MatmulScale::Whole;
        ++counts[strCat(a == b ? a : strCat(a, " by ", b),
                        hasBlocks ? " with scales of blocks" : "")];
      }
  std::string text;
  for (const auto &[types, count] : counts)
    text += strCat(text.empty() ? "" : ", ", count, " of ", types);
  return text;
}

std::string printProducts(const plan::Manifest &manifest) {
  const ProductReport report = measureProducts(manifest);
  if (report.count == 0)
    return "";
  return strCat("  ", report.inTiles, " of ", report.count,
                " products have only dims of multiples of 16; the smallest is ",
                report.smallest[0], " x ", report.smallest[1], " x ",
                report.smallest[2], " (", report.label, "); ",
                printProductTypes(manifest), "\n");
}

} // namespace zc
