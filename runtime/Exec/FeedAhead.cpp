#include "runtime/Exec/FeedAhead.h"
#include "runtime/Exec/Streams.h"
#include "runtime/Plan/Feed.h"
#include "runtime/Plan/Types.h"

namespace zc {

Result<std::unique_ptr<FeedAhead>>
FeedAhead::create(Device &device, const plan::Program &program,
                  const AddressMap &map, char *place) {
  std::unique_ptr<FeedAhead> feed(new FeedAhead(device, program, place));
  for (int i = 0; i < program.inputs_size(); ++i)
    ZC_RETURN_IF_ERROR(feed->addInput(i, map));
  ZC_ASSIGN_OR_RETURN(feed->written, device.createEvent());
  ZC_ASSIGN_OR_RETURN(feed->taken, device.createEvent());
  return feed;
}

void *FeedAhead::placeOf(int input) const {
  return place + fedAheadOffset(*theProgram, input);
}

Status FeedAhead::addInput(int index, const AddressMap &map) {
  const uint32_t buffer = theProgram->inputs(index).buffer();
  CopyLaunch copy = {placeOf(index), map.address(buffer),
                     *byteCount(map.buffer(buffer).type())};
  ZC_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                      device.prepare(copy));
  copies.push_back(std::move(executable));
  return Status();
}

Status FeedAhead::write(int input, const void *bytes) {
  const plan::Buffer &buffer =
      theProgram->buffers(int(theProgram->inputs(input).buffer()));
  // What was written before must have been taken from there.
  if (wasTaken)
    ZC_RETURN_IF_ERROR(device.wait(taken, kCopyStream));
  wasTaken = false;
  return device.copyIn(placeOf(input), bytes, *byteCount(buffer.type()),
                       kCopyStream);
}

Status FeedAhead::take() {
  ZC_RETURN_IF_ERROR(device.record(written, kCopyStream));
  ZC_RETURN_IF_ERROR(device.wait(written, kMainStream));
  for (std::unique_ptr<Executable> &copy : copies)
    ZC_RETURN_IF_ERROR(device.launch(*copy, kMainStream));
  ZC_RETURN_IF_ERROR(device.record(taken, kMainStream));
  wasTaken = true;
  return Status();
}

} // namespace zc
