// The inputs of a program's next run on their way to the device while it works
// on this one: the host fills pinned memory, the copy stream brings it to a
// place of its own, and from there the device copies it to the inputs between
// two runs.
#ifndef ZC_RUNTIME_EXEC_FEEDAHEAD_H
#define ZC_RUNTIME_EXEC_FEEDAHEAD_H

#include "runtime/Device/Device.h"
#include "runtime/Exec/Instructions.h"

#include <memory>
#include <vector>

namespace zc {

class FeedAhead {
public:
  /// For `theProgram`, whose buffers lie as `map` says; what is on its way lies
  /// from `place` on, as fedAheadOffset() says.
  static Result<std::unique_ptr<FeedAhead>>
  create(Device &device, const plan::Program &theProgram, const AddressMap &map,
         char *place);

  const plan::Program *program() const { return theProgram; }

  Status write(int input, const void *bytes);
  Status take();

private:
  FeedAhead(Device &device, const plan::Program &program, char *place)
      : device(device), theProgram(&program), place(place) {}
  Status addInput(int index, const AddressMap &map);
  void *placeOf(int input) const;

  Device &device;
  const plan::Program *theProgram;
  char *const place;
  std::vector<std::unique_ptr<Executable>> copies; // to the inputs
  EventId written = 0, taken = 0;                  // all inputs
  bool wasTaken = false;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_FEEDAHEAD_H
