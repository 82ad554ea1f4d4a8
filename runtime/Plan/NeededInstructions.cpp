#include "runtime/Plan/NeededInstructions.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/BufferUse.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <map>

namespace zc {
namespace {

/// Bytes of the transient region.
class Bytes {
public:
  void add(uint64_t begin, uint64_t end) {
    auto at = parts.lower_bound(begin);
    if (at != parts.begin() && std::prev(at)->second >= begin)
      --at;
    while (at != parts.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = parts.erase(at);
    }
    if (begin < end)
      parts[begin] = end;
  }

  void remove(uint64_t begin, uint64_t end) {
    auto at = parts.lower_bound(begin);
    if (at != parts.begin() && std::prev(at)->second > begin)
      --at;
    while (at != parts.end() && at->first < end) {
      auto [first, last] = *at;
      at = parts.erase(at);
      if (first < begin)
        parts[first] = begin;
      if (last > end)
        parts[end] = last;
    }
  }

  bool meets(uint64_t begin, uint64_t end) const {
    auto at = parts.lower_bound(end);
    return at != parts.begin() && std::prev(at)->second > begin;
  }

private:
  std::map<uint64_t, uint64_t> parts; // begin to end; apart from one another
};

/// Other roles take part, whatever they need themselves.
bool isAmongRoles(const plan::Instruction &instruction) {
  const auto &axes = instruction.collective().axes();
  return instruction.has_collective() &&
         std::find(axes.begin(), axes.end(), axes::kRole) != axes.end();
}

/// From the last instruction to the first: which bytes somebody will read.
class Walk {
public:
  explicit Walk(const plan::Program &program) : program(program) {}

  void want(uint32_t buffer) { change(buffer, &Bytes::add); }

  /// Whether the instruction is needed; then what it reads is.
  bool visit(const plan::Instruction &instruction) {
    const BufferUse use = useOf(instruction);
    auto isWanted = [&](uint32_t buffer) { return isRead(buffer); };
    if (!isAmongRoles(instruction) &&
        std::none_of(use.writes.begin(), use.writes.end(), isWanted) &&
        std::none_of(use.alters.begin(), use.alters.end(), isWanted))
      return false;
    for (uint32_t buffer : use.writes)
      change(buffer, &Bytes::remove);
    for (uint32_t buffer : use.reads)
      want(buffer);
    for (uint32_t buffer : use.alters)
      want(buffer);
    return true;
  }

private:
  /// Buffers outside of the program's own memory have other readers.
  bool isRead(uint32_t index) const {
    const plan::Buffer &buffer = program.buffers(int(index));
    return buffer.space() != plan::TRANSIENT ||
           wanted.meets(buffer.offset(), endOf(buffer));
  }
  static uint64_t endOf(const plan::Buffer &buffer) {
    return buffer.offset() + *byteCount(buffer.type());
  }
  void change(uint32_t index, void (Bytes::*how)(uint64_t, uint64_t)) {
    const plan::Buffer &buffer = program.buffers(int(index));
    if (buffer.space() == plan::TRANSIENT)
      (wanted.*how)(buffer.offset(), endOf(buffer));
  }

  const plan::Program &program;
  Bytes wanted;
};

} // namespace

std::vector<bool> neededInstructions(const plan::Program &program,
                                     const std::set<std::string> &outputs) {
  Walk walk(program);
  for (const plan::Output &output : program.outputs())
    if (output.kind() != plan::OUTPUT || outputs.count(output.name()))
      walk.want(output.buffer());
  std::vector<bool> needed(size_t(program.instructions_size()));
  for (size_t i = needed.size(); i > 0; --i)
    needed[i - 1] = walk.visit(program.instructions(int(i - 1)));
  return needed;
}

} // namespace zc
