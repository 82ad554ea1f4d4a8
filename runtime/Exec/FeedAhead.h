// The inputs of a program's next run on their way to the device while it works
// on this one: the host fills pinned memory, the stream of fetches (they go the
// same way) brings it to a place of its own, and from there the device copies
// it to the inputs between two runs.
#ifndef ZC_RUNTIME_EXEC_FEEDAHEAD_H
#define ZC_RUNTIME_EXEC_FEEDAHEAD_H

#include "runtime/Device/Device.h"
#include "runtime/Exec/Instructions.h"
#include "runtime/Exec/Orders.h"

#include <map>
#include <memory>
#include <vector>

namespace zc {

class FeedAhead {
public:
  /// For `program`; inputs in transit lie from `place` on, as fedAheadOffset()
  /// says.
  static Result<std::unique_ptr<FeedAhead>>
  create(Device &device, const plan::Program &program, char *place);
  /// Makes take() ready for calls with these slots, whose buffers lie as `map`
  /// says; those of rings without inputs do not matter.
  Status addSlots(const Slots &slots, const AddressMap &map);

  const plan::Program *program() const { return theProgram; }

  Status write(int input, const void *bytes);
  Status take(const Slots &slots);

private:
  FeedAhead(Device &device, const plan::Program &program, char *place)
      : device(device), theProgram(&program), place(place),
        rings(ringsOfInputs(program)) {}
  void *placeOf(int input) const;

  Device &device;
  const plan::Program *theProgram;
  char *const place;
  const std::vector<uint32_t> rings; // that have inputs
  /// To the inputs, by the slots of their rings.
  std::map<Slots, std::vector<std::unique_ptr<Executable>>> copies;
  EventId written = 0, taken = 0; // all inputs
  bool wasTaken = false;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_FEEDAHEAD_H
